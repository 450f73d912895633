#!/bin/sh
# boxd may be started with standard streams closed and with files open that are none of its business.  It serves all the
# same; no file takes a stream's place, and what was left open reaches neither boxd nor a worker nor a command.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"

# start.pl [FD | FD=FILE]... -- COMMAND...: executes it with these closed, and with these files open
cat >"$D/start.pl" <<'X'
use POSIX ();
for ($^F = 1000; ($_ = shift) ne "--";) {
	if (!/=/) { POSIX::close($_); next }
	my ($to, $file) = split /=/, $_, 2;
	my $fd = POSIX::open($file, POSIX::O_RDONLY()) // die "$file: $!";
	POSIX::dup2($fd, $to) and POSIX::close($fd);
}
exec @ARGV or die;
X
# worker.pl PROGRAM DIR: starts it as boxd would, but with 0, 1 and 2 closed and with DIR open too; prints its pid and
# ends it at the end of standard input
cat >"$D/worker.pl" <<'X'
use POSIX (); use Socket;
$^F = 1000;
socketpair(my $ours, my $theirs, AF_UNIX, SOCK_SEQPACKET, 0) or die;
my $dir = POSIX::open($ARGV[1], POSIX::O_RDONLY());
my $pid = fork;
if ($pid == 0) {
	# high numbers first: 3 may be any of these
	POSIX::dup2(fileno $theirs, 40) and POSIX::dup2($dir, 41) and POSIX::dup2(40, 3);
	POSIX::close($_) for 0 .. 2;
	exec $ARGV[0];
	POSIX::_exit(127);
}
$| = 1;
print "$pid\n";
close STDOUT;
1 while <STDIN>;
kill KILL => $pid;
waitpid $pid, 0;
X
mkdir "$D/secrets"
echo secret >"$D/secrets/file"
left="9=$D/secrets/file 17=$D/secrets 251=$D/secrets"

all() { echo "$BOXD_PID"; _tree "$BOXD_PID" | cut -d: -f1; }
# What any process of this boxd has as 0, 1 or 2 that no stream should be.
bad_streams() {
	for p in $(all); do
		for fd in 0 1 2; do
			at=$(readlink "/proc/$p/fd/$fd")
			case $at in /dev/null | "$D/log" | 'pipe:'*) ;; *) echo "$(cat "/proc/$p/comm") $fd: $at" ;; esac
		done
	done
}
# Which of them has a file that was left open.
holders() { for p in $(all); do ls -l "/proc/$p/fd" 2>/dev/null | grep -q "$D/secrets" && cat "/proc/$p/comm"; done | sort -u; }
ctl() { timeout -k 5 60 $user "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }
boxctl() { ctl "$@"; }

# try CLOSED...
try() {
	BOXD_WRAP="$user perl $D/start.pl $* $left --"
	boxd_start
	ctl create --name s >/dev/null
	is "$(ctl exec s -- echo fine)" fine "$who: boxd without '$*' serves"
	is "$(bad_streams)" "" "$who: boxd without '$*': every stream is /dev/null, the log or a pipe"
	for fd in $*; do
		is "$(readlink "/proc/$BOXD_PID/fd/$fd")" /dev/null "$who: boxd without '$*': its own $fd is /dev/null"
	done
	is "$(holders)" "" "$who: boxd without '$*': nobody has what was left open"
	is "$(ctl exec s -c 'ls /proc/self/fd | tr "\n" " "')" "0 1 2 3 " "$who: boxd without '$*': nor does a command (3 is the directory that ls reads)"
	echo text | ctl cp - s:f
	is "$(ctl cp s:f -)" text "$who: boxd without '$*': box-files serves"
	is "$(holders)" "" "$who: boxd without '$*': and has none of it either"
}
attack() {
	for closed in "" 0 1 2 "0 1" "0 2" "1 2"; do
		try $closed
		boxd_stop
		is "$BOXD_STATUS" 0 "$who: boxd without '$closed' stops"
	done
	try 0 1 2
	# executed in place it starts once more, with what the new one should have and no more
	kill -USR2 "$BOXD_PID"
	eventually executed
	is "$(ctl exec s -- echo fine)" fine "$who: executed in place: serves"
	is "$(bad_streams)$(holders)" "" "$who: executed in place: the streams stand, and nothing was added"
	boxd_stop
	# a handover that is none
	BOXD_WRAP="$user env BOXD_DOOR=9 perl $D/start.pl $left --"
	boxd_start
	is "$(holders)" "" "$who: a file that BOXD_DOOR names is closed all the same"
	like "$(cat "$D/log")" "left for LangBot's door cannot be used" "$who: and the log says so"
	boxd_stop
}
executed() { tr '\0' '\n' <"/proc/$BOXD_PID/environ" | grep -q '^BOXD_DOOR=' && ctl ping >/dev/null 2>&1; }

# each worker by itself, since some are started only when they are needed
fds_of() { ls "/proc/$1/fd" | sort -n | tr '\n' ' '; }
let_go() { ! ls -l "/proc/$1/fd" | grep -q "$D/secrets"; }
streams_of() { for fd in 0 1 2; do readlink "/proc/$1/fd/$fd"; done | sort -u; }
for worker in gateway session store pool egress; do
	mkfifo "$D/hold"
	perl "$D/worker.pl" "$BUILD/box-$worker" "$D/secrets" <"$D/hold" >"$D/pid" 2>"$D/err" &
	holder=$!
	exec 8>"$D/hold"
	eventually test -s "$D/pid"
	pid=$(cat "$D/pid")
	eventually let_go "$pid"
	ok "box-$worker closes what it should not have"
	is "$(streams_of "$pid")" /dev/null "box-$worker started without 0, 1 and 2 has /dev/null there"
	like "$(readlink "/proc/$pid/fd/3")" '^socket:' "box-$worker keeps its channel"
	exec 8>&-
	wait $holder
	rm "$D/hold" "$D/pid"
	"$BUILD/box-$worker" 3<"$D/secrets" >"$D/out" 2>&1
	isnt $? 0 "box-$worker does not take a directory for its channel"
done

who=root user=
boxd_config 'listen = 127.0.0.1:0'
attack
who=user user="setpriv --reuid 65534 --regid 65534 --clear-groups"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
BUILD=$D/bin
rm -rf "$D/state" "$D/run"
chown -R 65534:65534 "$D"
BOXD_WRAP=$user
boxd_start
if ctl run -- true 2>"$D/err"; then
	boxd_stop
	attack
else
	like "$(cat "$D/err")" 'namespace' "no sandbox for users here, and the barrier is named"
fi
done_testing
