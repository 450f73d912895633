#!/bin/sh
# Copies of artifacts are bounded: the one used longest ago goes first, and none that is in use.  They survive a restart.
. t/lib/sh/boxd.sh
. t/lib/sh/artifacts.sh
boxd_config 'spare_sandboxes = 0' 'artifacts.revisions = 3' 'artifacts.workspace_mb = 4' 'artifacts.total_mb = 6'
boxd_start
full="boxctl: Immutable artifact preparation failed: Immutable artifact cache limit reached; acquire a new Box"
# make NAME [KIB]: a package that has a size of its own
make() {
	package "$1"
	[ -z "$2" ] || head -c "$(($2 * 1024))" /dev/zero >"$D/src/$1/big"
	sealed "$1"
	eval "$1=$digits"
}
uses() { # workspace session name...
	_ws=$1 _s=$2
	shift 2
	_all=
	for _n; do
		eval "_digits=\$$_n"
		_all="$_all${_all:+, }$(mount_of "$_n" "$_digits")"
	done
	run "$_ws" 1 "$_s" true ", \"extra_mounts\": [$_all]"
}
uses_and_ends() {
	uses "$@"
	lb delete "$1" 1 "$(named "$2")" >/dev/null
}
names() { # the packages that are kept, of all workspaces
	for _n in a b c d e f g; do
		eval "_digits=\$$_n"
		[ -z "$_digits" ] || copies | sed -n "s|.*/$_digits\$|$_n|p"
	done | tr '\n' ' '
}
runs() { like "$1" '"exit_code": 0' "$2"; }
trash_is_empty() { [ -z "$(ls "$D/state/artifacts/.trash" "$D/state/artifacts/.staging" | grep '^[0-9]')" ]; }

for n in a b c d e; do make $n; done
runs "$(uses ws-1 held a)" "one is used, and stays so"
uses_and_ends ws-1 s b >/dev/null
uses_and_ends ws-1 s c >/dev/null
is "$(names)" "a b c " "three are kept"
uses_and_ends ws-1 s b >/dev/null
uses_and_ends ws-1 s d >/dev/null
is "$(names)" "a b d " "the fourth takes the place of the one used longest ago, and not of one in use"
ok "what was dropped is removed" eventually trash_is_empty
runs "$(uses ws-1 s2 b d)" "all three are used"
is "$(uses ws-1 s3 e)" "$full" "there is no place for another"
is "$(names)" "a b d " "and nothing was dropped for it"
is "$(says ws-1 1 held "cat $(at "$a")/SKILL.md" "$(with_mounts "$(mount_of a "$a")")")" '# Hi\n' "what is in use is whole"
runs "$(uses ws-2 s e)" "another workspace has room of its own"
lb delete ws-1 1 "$(named s2)" >/dev/null

# ---- bytes ----
make f 3000
runs "$(uses_and_ends ws-1 s f)" "3 of 4 MiB"
is "$(names)" "a d e f " "one goes because there are too many"
make g 2000
runs "$(uses_and_ends ws-1 s g)" "2 more"
is "$(names)" "a e g " "what goes is the oldest, until the rest fits"
make f 4100
is "$(uses_and_ends ws-1 s f)" "$full" "one that fits nowhere"
is "$(names)" "a e g " "takes nothing away"
make c 3000
make d 3000
runs "$(uses_and_ends ws-3 s c)" "all workspaces have 6 MiB together"
is "$(names)" "a c e g " "of which they use 5"
runs "$(uses_and_ends ws-4 s d)" "one more"
is "$(names)" "a c d e " "the oldest goes, whosever it is"

# ---- restart ----
mkdir -p "$D/state/artifacts/.staging/77/package" "$D/state/artifacts/.trash/78/package"
half=$(ls -d "$D"/state/artifacts/ws-*/"$c")
rm "$half/about"
rm -r "$D/src"
vanish "$BOXD_PID"
boxd_start
ok "what an earlier boxd was making or dropping is removed" eventually trash_is_empty
is "$(names)" "a d e " "copies that are whole survive"
runs "$(uses ws-4 s d)" "and are used, without their source"
is "$(says ws-1 1 held "cat $(at "$a")/SKILL.md" "$(with_mounts "$(mount_of a "$a")")")" '# Hi\n' "a session goes on with its own"
for n in b c; do make $n 1500; done
runs "$(uses_and_ends ws-1 s b)" "room is made"
runs "$(uses_and_ends ws-1 s c)" "again"
like "$(names)" '^a ' "but not of what that session has"
boxd_stop
boxd_start
is "$(says ws-4 1 again "cat $(at "$d")/SKILL.md" "$(with_mounts "$(mount_of d "$d")")")" '# Hi\n' "after a stop as well"
done_testing
