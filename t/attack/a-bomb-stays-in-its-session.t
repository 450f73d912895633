#!/bin/sh
# Whatever a command uses up, the session beside it goes on answering; its own is usable after it, or says why not.
. t/lib/sh/boxd.sh
BOX_SEC=40
boxd_start
limited=$(boxctl status -o json)
boxctl create --name b --pids 60 --memory 96 >/dev/null
has_memory_limit() { printf '%s' "$limited" | grep -q 'memory by cgroup'; }

# bomb NAME COMMAND: in a session of its own, while the neighbour is asked all the time
bomb() {
	boxctl create --name a --pids 60 --memory 96 --workspace-size 16 >/dev/null
	box exec a -t 2 -c "$2" >"$D/out" 2>"$D/err" &
	_bomb=$! _slowest=0 _asked=0 _wrong=0
	while ! _ended $_bomb; do
		_t=$(date +%s%N)
		[ "$(box exec b -t 10 -- echo alive 2>&1)" = alive ] || _wrong=$((_wrong + 1))
		_t=$((($(date +%s%N) - _t) / 1000000))
		_asked=$((_asked + 1))
		[ $_t -le $_slowest ] || _slowest=$_t
		sleep 0.05
	done
	wait $_bomb
	_code=$?
	note "$1: exit $_code, the neighbour answered $_asked times, in $_slowest ms at most: $(head -c 200 "$D/err" | tr '\n' ' ')"
	is $_wrong 0 "$1: the neighbour answers, each time before its own 10 seconds are over"
	_after=$(box exec a -t 10 -- echo alive 2>&1)
	like "$_after" '^alive$|memory|pids limit|died|no session|not found|ended' "$1: its own session is usable, or says why not"
	box rm a >/dev/null 2>&1
	unlike "$(boxctl ps --names)" '^a$' "$1: and can be deleted"
}

bomb "processes" 'perl -e "while (1) { fork }"'
bomb "threads of shells" 'f() { f | f & }; f; sleep 5'
if has_memory_limit; then
	bomb "memory" 'perl -e "my @x; while (1) { push @x, chr(65) x (1 << 20) }"'
	bomb "memory in many processes" 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do perl -e "my @x; while (1) { push @x, chr(65) x (1 << 18) }" & done; wait'
	bomb "memory in files and shared memory" 'head -c 60000000 /dev/zero >/dev/shm/f; head -c 60000000 /dev/zero >/tmp/f; head -c 60000000 /dev/zero >/home/f; echo end'
	bomb "pipes" 'perl -e "my @p; for (1 .. 9000) { pipe(my \$r, my \$w) or last; fcntl(\$w, 1031, 1 << 20); \$w->blocking(0) if 0; use Fcntl; fcntl(\$w, F_SETFL, O_NONBLOCK); syswrite(\$w, chr(65) x (1 << 20)); push @p, \$r, \$w } sleep 1"'
	bomb "sockets" 'perl -MSocket -e "my @p; use Fcntl; for (1 .. 9000) { socketpair(my \$r, my \$w, AF_UNIX, SOCK_DGRAM, 0) or last; fcntl(\$w, F_SETFL, O_NONBLOCK); 1 while syswrite(\$w, chr(65) x 60000); push @p, \$r, \$w } sleep 1"'
else
	skip 15 "no memory controller here to bound them"
fi
bomb "files" 'cd /tmp; perl -e "for (1 .. 40000) { open(my \$f, chr(62), qq(f\$_)) or die \$! }"'
bomb "descriptors" 'ulimit -n $(ulimit -Hn); for i in 1 2 3 4 5 6 7 8; do perl -e "my @x; while (@x < 20000 && open(my \$f, chr(60), q(/dev/null))) { push @x, \$f } sleep 1" & done; wait'
bomb "directories as deep as can be" 'cd /tmp; perl -e "for (1 .. 5000) { mkdir q(d) or last; chdir q(d) or last }"'
bomb "output" 'yes | head -c 200000000'
bomb "output to both" 'yes | head -c 100000000 & yes | head -c 100000000 >&2; wait'
bomb "processor" 'for i in 1 2 3 4 5 6 7 8; do perl -e "1 while 1" & done; wait'
bomb "signals to itself" 'perl -e "\$SIG{USR1} = q(IGNORE); \$SIG{CONT} = q(IGNORE); for (1 .. 20) { fork or last } while (1) { kill USR1 => 0; kill CONT => -1 }"'
bomb "orphans" 'perl -e "\$SIG{CHLD} = q(IGNORE); while (1) { my \$p = fork; next if !defined \$p || \$p; fork; select undef, undef, undef, 0.02; exit }"'
is "$(box exec b -- echo alive)" alive "the neighbour lives on"
is "$(boxctl inspect b -o json | sed -n 's/.*"worker_restarts": \([0-9]*\).*/\1/p')" 0 "and its worker never fell"
done_testing
