#!/bin/sh
# A command has three descriptors, and none of them leads out of its sandbox.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null

# One line per open descriptor: number, kind, name.  Asked by fcntl, not by /proc, which might hide some.
cat >"$D/fds.pl" <<'EOF'
use POSIX ();
for my $n (0 .. 4096) {
	open(my $h, "<&=", $n) or next;
	my @st = stat($h) or next;
	my $kind = POSIX::S_ISDIR($st[2]) ? "directory" : ($st[2] & 0170000) == 0140000 ? "socket" :
		POSIX::S_ISFIFO($st[2]) ? "pipe" : POSIX::S_ISCHR($st[2]) ? "device" : "file";
	print "$n $kind ", readlink("/proc/self/fd/$n") // "?", "\n";
	POSIX::dup2($n, $n);
	$keep{$n} = $h; # closing would hide the next
}
EOF
fds=$(cat "$D/fds.pl")
is "$(perl -e "$fds" 7</ 8>/dev/null | grep -cE '^(7 directory /|8 device /dev/null)$')" 2 "the probe finds descriptors on the host"

for how in "" --no-stream; do
	got=$(in_box $how -- perl -e "$fds")
	is "$(printf '%s\n' "$got" | cut -d' ' -f1 | tr '\n' ' ')" "0 1 2 " "0, 1 and 2 and no other${how:+, $how}"
	unlike "$got" ' (directory|socket|file) ' "no directory, socket or file among them${how:+, $how}"
done
got=$(echo | in_box -i -- perl -e "$fds")
is "$(printf '%s\n' "$got" | cut -d' ' -f1 | tr '\n' ' ')" "0 1 2 " "0, 1 and 2 with an input too"
unlike "$got" ' (directory|socket) ' "no directory or socket among them"
unlike "$got" ' /[^ ]*boxd' "no file of boxd's by its name"
like "$(echo original | in_box -i -c 'exec 2>/dev/null; echo forged 1<>/proc/self/fd/0; echo forged >/proc/self/fd/0; cat /proc/self/fd/0')" \
	'^original$' "the input is sealed: reopened for writing it stays what it was"

# with others at work in the same session, as a pipe of theirs might be inherited
in_box -t 15 -c 'sleep 10' >/dev/null &
is "$(in_box -- perl -e "$fds" | wc -l | tr -d ' ')" 3 "nor beside another command"

# the numbers may be seen: /proc/1 belongs to root of the namespace that init was started in
is "$(in_box -- perl -e 'for (glob "/proc/1/fd/*") { print "$_ " if defined readlink($_) || stat($_) }')" "" "what init's descriptors are is not told"
for n in 0 3 4 5 6; do
	like "$(in_box -c "cat </proc/1/fd/$n")" 'denied|No such' "init's descriptor $n is not opened"
done
for f in cwd root exe; do
	like "$(in_box -c "ls /proc/1/$f/")" 'denied' "/proc/1/$f leads nowhere"
done
like "$(in_box -c 'cat /proc/1/fdinfo/4')" 'denied|No such' "nor is anything told about them"
is "$(in_box -c "for p in /../../../../..$PWD /proc/self/root/..$PWD /proc/self/cwd/../../..$PWD; do [ ! -e \$p ] || echo \$p; done")" "" \
	"dots do not lead out"
done_testing
