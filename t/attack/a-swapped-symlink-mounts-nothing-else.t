#!/bin/sh
# Somebody turns a symlink, and renames directories, while sessions are created on that path: no session ever sees the secret.
. t/lib/sh/boxd.sh
mkdir -p "$D/secret/dir" "$D/open/dir" "$D/play"
boxd_config "mounts.block = $D/secret" 'spare_sandboxes = 0'
boxd_start
echo hidden >"$D/secret/dir/f"
echo fine >"$D/open/dir/f"
chmod 755 "$D/secret" "$D/secret/dir"
ln -s "$D/open" "$D/play/link"

# by exchange, so that the name is there at every moment
perl -e '
	my ($d) = @ARGV;
	symlink "$d/secret", "$d/play/other";
	mkdir "$d/play/real"; mkdir "$d/play/real/dir"; open my $f, ">", "$d/play/real/dir/f"; print $f "fine\n"; close $f;
	my $exchange = sub { my ($a, $b) = @_; syscall(316, -100, $a, -100, $b, 2) };
	$SIG{ALRM} = sub { exit 0 };
	alarm 300;
	open my $m, ">", "$d/flipping"; close $m;
	for (my $i = 0; ; $i++) {
		$exchange->("$d/play/link", "$d/play/other");
		$exchange->("$d/play/link", "$d/play/real") if $i % 7 == 0;
	}' "$D" & flipper=$!
[ "$(uname -m)" = x86_64 ] || { kill $flipper; plan skip_all "the number of renameat2 is that of x86_64"; }
eventually test -e "$D/flipping"

made=0 refused=0 odd=0 leaked=0 i=0
while [ $i -lt 60 ]; do
	i=$((i + 1))
	case $((i % 3)) in
	0) set -- --host-path "$D/play/link/dir:ro" -- cat f ;;
	1) set -- --mount "$D/play/link/dir:/x:ro" -- cat /x/f ;;
	2) set -- --host-path "$D/play/../play/link/dir" -- cat f ;;
	esac
	got=$(timeout -k 5 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" run -t 20 "$@" 2>&1)
	case $got in
	fine) made=$((made + 1)); note "$i made" ;;
	hidden) leaked=$((leaked + 1)) ;;
	*'which is blocked by mounts.block'* | *'was moved while it was looked at'* | *'does not exist'*) refused=$((refused + 1)) ;;
	*) odd=$((odd + 1)); diag "$got" ;;
	esac
done
kill $flipper; wait $flipper 2>/dev/null
note "made $made, refused $refused"
is $leaked 0 "no session saw what is blocked"
is $odd 0 "each create was answered by a mount or a refusal"
ok "some were made" test $made -gt 0
ok "some were refused" test $refused -gt 0
is "$(ls "$D/secret/dir")" f "nothing was made there"

# The mount is of what was checked: what the path means later does not matter.
rm -f "$D/play/link" "$D/play/other"; rm -rf "$D/play/real"
ln -s "$D/open" "$D/play/link"
boxctl create --name s --host-path "$D/play/link/dir" >/dev/null
ln -sfn "$D/secret" "$D/play/link"
is "$(boxctl exec s -- cat f)" fine "a link turned later changes nothing"
mv "$D/open" "$D/open2"; mv "$D/secret" "$D/open"
is "$(boxctl exec s -- cat f)" fine "nor does a directory put in its place"

# A link that commands leave in their workspace leads a later mount point nowhere else.
mkdir "$D/ws" "$D/skill"
ln -s "$D/outside" "$D/ws/.skills"
ln -s /etc "$D/ws/etc"
mkdir "$D/outside"
boxctl create --name t --host-path "$D/ws" --mount "$D/skill:/workspace/.skills/a" >/dev/null 2>&1
boxctl create --name u --host-path "$D/ws" --mount "$D/skill:/workspace/etc/boxd-t" >/dev/null 2>&1
is "$(ls -A "$D/outside")" "" "a mount point is never made through a link of the workspace on the host"
ok "nor in the host's /etc" test ! -e /etc/boxd-t
done_testing
