#!/bin/sh
# A digest-addressed mount is what its digest says: a verified copy, made once for its workspace; everything else is refused in LangBot's words.
. t/lib/sh/boxd.sh
. t/lib/sh/artifacts.sh
boxd_config 'spare_sandboxes = 0'
boxd_start
refused="boxctl: Immutable artifact preparation failed: "

# ---- what is mounted ----
package a
printf 'x' >"$D/src/a/h$(printf '\303\274').txt"
sealed a
a=$digits
echo secret >"$D/src/a/unlisted"
mounts=$(with_mounts "$(mount_of a "$a")")
like "$(create ws-1 1 s "$mounts")" '"session_id": "s"' "a session with an artifact"
is "$(says ws-1 1 s "cd $(at "$a"); cat SKILL.md; scripts/run.sh; find . -type f | sort | tr '\\\\n' ' '" "$mounts")" \
	"# Hi\\nhi from a\\n./SKILL.md ./h$(printf '\303\274').txt ./scripts/run.sh " "has the files that are listed, and no other"
is "$(says ws-1 1 s "cd $(at "$a"); stat -c %a SKILL.md scripts/run.sh scripts ." "$mounts")" '444\n555\n755\n755\n' "modes"
like "$(run ws-1 1 s "touch $(at "$a")/new; rm -f $(at "$a")/SKILL.md; chmod 777 $(at "$a")/SKILL.md" "$mounts" | field stderr)" 'touch.*Read-only.*rm.*Read-only.*chmod.*Read-only' "read-only"
is "$(find "$D/state/artifacts" -not -user "$(id -u)" | wc -l)" 0 "the copy is boxd's own"

# ---- the source is read once ----
printf '# Ho\n' >"$D/src/a/SKILL.md"
is "$(says ws-1 1 s "cat $(at "$a")/SKILL.md" "$mounts")" '# Hi\n' "a source that changes changes nothing inside"
is "$(says ws-1 1 s2 "cat $(at "$a")/SKILL.md" "$mounts")" '# Hi\n' "nor in the next session"
rm -r "$D/src/a" "$D/src/a.json"
is "$(says ws-1 1 s3 "cat $(at "$a")/SKILL.md" "$mounts")" '# Hi\n' "nor when it is gone, with its manifest"
package a
sealed a
is "$(run ws-2 1 s true "$mounts")" "${refused}Artifact manifest does not match content_digest" "another workspace has no part in the copy"
is "$(copies | wc -l)" 1 "there is one copy"
package b
sealed b
b=$digits
both=$(with_mounts "$(mount_of a "$a")" "$(mount_of b "$b")")
is "$(says ws-1 1 two "cat $(at "$a")/SKILL.md; $(at "$b")/scripts/run.sh" "$both")" '# Hi\nhi from b\n' "two at once"
for i in 1 2 3 4; do
	create ws-3 1 "p$i" "$(with_mounts "$(mount_of b "$b")")" >"$D/p$i" &
	pids="$pids $!"
done
wait $pids
is "$(cat "$D"/p? | grep -c '"backend_session_id"')" 4 "four sessions that want the same at one time"
is "$(grep -ac "artifact=$(copies | grep "/$b" | grep -v "$(copies | grep "/$a" | cut -d/ -f1)") copied" "$D/log")" 1 "get one copy"

# ---- manifests that are refused ----
package m
no() { # text perl
	sealed m "$2"
	is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of m "$digits")")")" "$refused$1" "$1: $2"
}
no 'Artifact manifest is invalid JSON' '$m = "{"'
no 'Artifact manifest is invalid JSON' '$m = "{\"algorithm\": \"\xff\"}"'
no 'Artifact manifest has an invalid shape' '$m->{more} = 1'
no 'Artifact manifest has an invalid shape' 'delete $m->{files}'
no 'Artifact manifest has an invalid shape' '$m = [$m]'
no 'Artifact manifest uses an unsupported algorithm' '$m->{algorithm} = "sha256"'
no 'Artifact manifest contains too many files' '$m->{files} = {}'
no 'Artifact manifest contains too many files' '$m->{files} = [map { { %{$m->{files}[0]}, path => "f$_" } } 1 .. 2049]'
no 'Artifact manifest contains an invalid file entry' '$m->{files}[0]{mode} = 5'
for path in '' /a a/../b .. . a//b 'a\\\\b' a/ ../x 'a\0b' scripts/run.sh; do
	no 'Artifact manifest contains an unsafe path' "\$m->{files}[0]{path} = \"$path\""
done
no 'Artifact manifest contains an invalid file size' '$m->{files}[0]{size} = JSON::PP::true'
no 'Artifact manifest contains an invalid file size' '$m->{files}[0]{size} = -1'
no 'Artifact manifest contains an invalid file digest' '$m->{files}[0]{sha256} = uc $m->{files}[0]{sha256}'
no 'Artifact manifest contains an invalid file digest' 'chop $m->{files}[0]{sha256}'
no 'Artifact manifest contains an invalid file mode' '$m->{files}[0]{executable} = 1'
no 'Artifact manifest contains an invalid total size' '$m->{total_bytes}++'
no 'Artifact manifest contains an invalid total size' '$m->{files}[0]{size} = 268435456; $m->{total_bytes} = 268435456 + $m->{files}[1]{size}'
sealed m '$m = " " x 4194304 . JSON::PP->new->encode($m)'
is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of m "$digits")")")" "${refused}Artifact manifest is too large" "Artifact manifest is too large"
sealed m
wrong=$(echo "$digits" | tr '0-9a-f' '1-9a-f0')
is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of m "$wrong")")")" "${refused}Artifact manifest does not match content_digest" "the digest of another"
is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of none "$wrong")")")" "${refused}[Errno 2] No such file or directory: '$D/src/none.json'" "no manifest"
mkdir "$D/src/dir.json"
is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of dir "$wrong")")")" "${refused}[Errno 21] Is a directory: '$D/src/dir.json'" "a directory for a manifest"

# ---- sources that are refused ----
source() { # text command
	rm -rf "$D/src/m"
	package m
	sealed m
	(cd "$D/src/m" && eval "$2")
	is "$(run ws-1 1 bad true "$(with_mounts "$(mount_of m "$digits")")" | sed 's/directory: [0-9]*$/directory: N/')" "$refused$1" "$2"
}
source "[Errno 2] No such file or directory: '$D/src/m/SKILL.md'" 'rm SKILL.md'
source "[Errno 2] No such file or directory: '$D/src/m/SKILL.md'" 'cd .. && rm -r m'
source "[Errno 40] Too many levels of symbolic links: '$D/src/m/SKILL.md'" 'mv SKILL.md x; ln -s x SKILL.md'
source "[Errno 40] Too many levels of symbolic links: '$D/src/m/scripts/run.sh'" 'mv scripts x; ln -s x scripts'
source "Artifact source changed: SKILL.md" 'echo >>SKILL.md'
source "Artifact source changed: SKILL.md" 'printf "# Ha\n" >SKILL.md'
source "Artifact source changed: scripts/run.sh" ': >scripts/run.sh'
source "Artifact source must be a regular file" 'rm SKILL.md; mkfifo SKILL.md'
source "[Errno 21] Is a directory: N" 'rm SKILL.md; mkdir SKILL.md'
source "[Errno 20] Not a directory: '$D/src/m/scripts/run.sh'" 'rm -r scripts; echo >scripts'

is "$(listed ws-1 1)" "s s2 s3 two " "no session was made of what was refused"
is "$(copies | wc -l)" 3 "and no copy"
ok "nothing half made is left" eventually test -z "$(ls "$D/state/artifacts/.staging" "$D/state/artifacts/.trash" | grep '^[0-9]')"

# ---- whose paths may be read ----
place() { # host_path manifest_path
	with_mounts "$(mount_of m "$wrong" | sed "s|\"host_path\": \"[^\"]*\"|\"host_path\": \"$1\"|; s|\"manifest_path\": \"[^\"]*\"|\"manifest_path\": \"$2\"|")"
}
like "$(run ws-1 1 bad true "$(place "$D/src/m" /etc/passwd)")" 'extra_mounts.0.manifest_path: /etc/passwd is below /etc, which is blocked|is blocked for security' "a manifest in /etc"
like "$(run ws-1 1 bad true "$(place "$D/src/m" "$D/state/lock")")" "is boxd's own|is blocked for security" "in boxd's own directory"
ln -s /etc "$D/src/link"
like "$(run ws-1 1 bad true "$(place "$D/src/m" "$D/src/link/passwd")")" 'is below /etc, which is blocked|is blocked for security' "through a link"
like "$(run ws-1 1 bad true "$(place /etc "$D/src/m.json")")" 'is blocked' "a source in /etc"
like "$(run ws-1 1 bad true "$(place "$D/state/artifacts" "$D/src/m.json")")" "is boxd's own|is blocked" "other workspaces' copies"
like "$(run ws-1 1 bad true ", \"extra_mounts\": [{\"host_path\": \"$(ls -d "$D"/state/artifacts/*/"$a")\", \"mount_path\": \"/x\", \"mode\": \"rw\"}]")" \
	"is boxd's own|is blocked" "no other mount reaches a copy"

# ---- the same for native clients ----
native() { box call create "{\"session\": \"n\", \"spec\": {\"extra_mounts\": [$1]}}" -o json 2>&1; }
rm -rf "$D/src/m"
package m
sealed m
like "$(native "$(mount_of m "$digits")")" '"state": "ready"' "a native session"
is "$(box exec n -- "$(at "$digits")/scripts/run.sh")" "hi from m" "sees it"
box rm n >/dev/null
like "$(native "$(mount_of m "$digits" | sed 's/"ro"/"rw"/')")" 'spec.extra_mounts.0: a mount below /opt/langbot-artifacts needs mode ro' "refused: to be written"
like "$(native "$(mount_of m "$digits" | sed 's/"sha256:/"sha257:/')")" "spec.extra_mounts.0.content_digest: 'sha257:.*' is not sha256: and 64 hexadecimal digits in lower case" "another digest"
like "$(native "$(mount_of m "$digits" | sed 's|"manifest_path": "/|"manifest_path": "|')")" "spec.extra_mounts.0.manifest_path: .* is not an absolute path" "a relative path"
like "$(native "{\"host_path\": \"$D/src\", \"mount_path\": \"/opt//langbot-artifacts/./x\", \"mode\": \"ro\"}")" 'a mount below /opt/langbot-artifacts needs' "an ordinary mount there"
is "$(native "$(mount_of m "$wrong")")" "boxctl: Artifact manifest does not match content_digest" "what does not fit is told without LangBot's words"
done_testing
