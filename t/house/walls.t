#!/bin/sh
# What a command sees of the machine, and what it may do: as little as it needs.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null

for ns in user pid mnt net ipc uts cgroup; do
	isnt "$(in_box -- readlink /proc/self/ns/$ns)" "$(readlink /proc/self/ns/$ns)" "$ns namespace of its own"
done
is "$(in_box -c 'grep -h "^Cap" /proc/self/status | grep -vc 0000000000000000')" 0 "no capabilities at all"
like "$(in_box -- grep NoNewPrivs /proc/self/status)" '1$' "no_new_privs"
like "$(in_box -- grep '^Seccomp:' /proc/self/status)" '2$' "a seccomp filter"
if boxctl status | grep -Eq 'kill: +cgroup v2'; then
	like "$(in_box -- grep '^CapEff' /proc/1/status)" '[[:space:]]0000000000000000$' "init has none either"
else # SYS_ADMIN, SYS_PTRACE and KILL in the sandbox's own user namespace, to mark commands and find them
	like "$(in_box -- grep '^CapEff' /proc/1/status)" '[[:space:]]0000000000280020$' "init has what marking needs"
fi
is "$(in_box -- ps -eo pid= | wc -l | tr -d ' ')" 2 "no process of the host: init, and ps"
is "$(in_box -c 'cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "')" lo "no network but loopback"
in_box -- perl -MSocket -e 'socket(my $s, PF_INET, SOCK_STREAM, 0); bind($s, sockaddr_in(0, inet_aton("127.0.0.1"))) or die; listen($s, 1); connect(my $c, getsockname($s)) if 0; socket($c, PF_INET, SOCK_STREAM, 0); connect($c, getsockname($s)) or die'
ok "loopback is up"
like "$(in_box -- perl -MSocket -e 'socket(my $s, PF_INET, SOCK_STREAM, 0); connect($s, sockaddr_in(80, inet_aton("192.0.2.1"))) or print "$!"')" 'unreachable' "nothing else is reachable"
is "$(in_box -- hostname)" box "a host name of its own"

for f in / /usr /etc /bin /proc/sys/kernel /dev /run; do
	like "$(in_box -c "touch $f/x")" 'Read-only|denied|No such' "$f is not writable"
done
for f in /etc/shadow /etc/ssh /root/.ssh /var/lib /sys/kernel "$PWD"; do
	is "$(in_box -c "[ -e $f ] && echo there")" "" "$f is not there"
done
is "$(in_box -c 'echo x >/dev/null && head -c1 /dev/zero | wc -c' | tr -d ' ')" 1 "/dev/null and /dev/zero work"
like "$(in_box -c 'mknod /tmp/d c 1 3')" 'not permitted|denied' "no device nodes"
for c in 'unshare -U true' 'unshare -n true' 'mount -t tmpfs x /tmp' 'umount /proc' 'chroot / true' 'hostname x'; do
	like "$(in_box -c "$c")" 'not permitted|denied|must be (superuser|root)|Function not implemented' "refused: $c"
done
clone=220 # of every newer architecture
[ "$(uname -m)" != x86_64 ] || clone=56
like "$(in_box -- perl -e 'syscall(435, 0, 0); print "$!"')" 'not implemented' "refused: clone3, which no filter can look into"
like "$(in_box -- perl -e 'syscall('"$clone"', 0x10000000 | 17, 0, 0, 0, 0) == -1 and print "$!"')" 'not permitted' "refused: clone with a new user namespace"
like "$(in_box -- perl -e 'socket(S, 40, 1, 0) or print "$!"')" 'not supported' "refused: a vsock socket"
like "$(in_box -- perl -e 'syscall(425, 1, 0) == -1 and print "$!"')" 'not implemented' "refused: io_uring"
in_box -c "kill -9 1; kill -TERM 1; kill -STOP 1" >/dev/null
is "$(in_box -- echo alive)" alive "init cannot be killed from inside"
like "$(in_box -c 'cat /proc/1/environ /proc/1/maps')" 'denied' "init's memory is not readable"
is "$(in_box -c 'ls -l /proc/self/fd | tail -n +2 | wc -l' | tr -d ' ')" 4 "three descriptors, and the one of ls"

like "$(in_box -c 'ulimit -c 0; ulimit -c unlimited; grep "core file" /proc/self/limits' | tr -s ' ')" 'size 1 1 bytes' \
	"a core limit that starts no core handler of the host, and stays"
in_box -- perl -e 'setpriority(2, 0, 15); setpriority(0, 1, 15)' >/dev/null
is "$(in_box -- ps -o ni= -p 1 | tr -d ' ')" 0 "init's priority is not theirs to change"
is "$(stat -c %a "$D/run/boxd.sock")" 660 "the control socket is for its owner and group"
gateway=/proc/$(pgrep -P "$BOXD_PID" -x box-gateway)
like "$(grep '^Seccomp:' $gateway/status)" '2$' "the gateway has a filter of its own"
is "$(grep -h '^Cap[EPBA]' $gateway/status | grep -vc 0000000000000000)" "$([ "$(id -u)" = 0 ] && echo 0 || echo 1)" \
	"and no capabilities" # an ordinary user cannot empty the bounding set, and needs not
if [ "$(id -u)" = 0 ]; then
	like "$(grep '^Uid:' $gateway/status)" '524287.524287.524287.524287' "a uid of its own"
	is "$(readlink $gateway/root)" "$D/run/empty" "and an empty root"
else
	skip 2 "one uid is all an ordinary user has"
fi
if [ "$(id -u)" = 0 ]; then
	uid_map() { awk '{ print $2 }' "/proc/$(boxctl inspect "$1" -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')/uid_map"; }
	isnt "$(uid_map s)" "$(uid_map other)" "each session has uids of its own on the host"
	isnt "$(uid_map s)" 0 "and root inside is not root outside"
else
	skip 2 "one uid is all an ordinary user has"
fi
done_testing
