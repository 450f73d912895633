#!/bin/sh
# However a command hides its processes, and however it is ended, none of them is left, and they were counted.
. t/lib/sh/boxd.sh
boxd_config 'log_level = debug' # it tells the end of each command
boxd_start
number() { boxctl inspect "$1" -o json | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }

# Each makes its processes, says "ready" when they are there, and waits.  24680 is how they are found.  The last forks
# 30 all the time, of which a list never has all.
cat >"$D/tricks" <<'EOF'
plain|2|sleep 24680 & echo ready; wait
ignores|3|trap "" TERM INT HUP QUIT; sleep 24680 & sleep 24680 & echo ready; wait
daemons|4|setsid sh -c "setsid sleep 24680 & setsid sleep 24680 & setsid sleep 24680 &" >/dev/null 2>&1 </dev/null; echo ready; while :; do sleep 1; done
stopped|3|sleep 24680 & kill -STOP $!; sh -c "kill -STOP \$\$" & echo ready; wait
deep|41|f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))); else echo ready; sleep 24680; fi; }; f 39; :
vfork|3|perl -e '$| = 1; for (1, 2) { if (fork == 0) { require "sys/syscall.ph"; print "ready\n" if $_ == 2; if (syscall(SYS_vfork()) == 0) { sleep 24680 } exit } } sleep 24680'
closed|3|exec 2>&-; (exec >&- 2>&- <&-; sleep 24680) & (exec >&- 2>&- <&-; sleep 24680) & echo ready; exec >&- <&-; wait
held|2|sleep 24680 & echo ready; exec sleep 24680
forks|10|perl -e '$| = 1; for (1 .. 30) { last if fork == 0 } setpgrp; $SIG{TERM} = "IGNORE"; print "ready\n"; while (1) { my $p = fork; exit if $p; select undef, undef, undef, 0.01 }' ; sleep 24680
EOF

alive() { # session: its processes but init
	_init=$(number "$1" init_pid)
	[ -n "$_init" ] && [ "$_init" != 0 ] || return 0
	_tree "$_init" | wc -l | tr -d ' '
}
last_end() { grep -a ' ended cause=' "$D/log" | tail -n 1; }

# start NAME COMMAND: in session s, and its processes are there when this returns
start() {
	: >"$D/out"
	"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s $3 -c "$2" >"$D/out" 2>"$D/err" </dev/null &
	client=$!
	eventually grep -q ready "$D/out" || diag "$1 does not start: $(cat "$D/err")"
}
enough() { [ "$(alive s)" -ge "$1" ]; }

while IFS='|' read -r name n command; do
	boxctl create --name s --pids 120 >/dev/null
	start "$name" "$command" '-t 600'
	eventually enough "$n"
	ok "$name: its $n processes are there"
	kill -TERM $client
	wait $client
	idle() { [ "$(number s running)" = 0 ]; }
	eventually idle
	like "$(last_end)" 'cause=cancelled' "$name: cancelled"
	killed=$(last_end | sed 's/.*killed=\([0-9]*\).*/\1/')
	ok "$name: its dead were counted" [ "$killed" -ge $((n > 2 ? n - 2 : 1)) ]
	is "$(alive s)" 0 "$name: nobody is left of it"
	is "$(box exec s -- echo alive)" alive "$name: and the session lives"

	start "$name" "$command" '-t 600'
	eventually enough "$n"
	tree=$(_tree "$(number s init_pid)")
	init=$(number s init_pid)
	box rm s >"$D/rm" 2>&1
	ok "$name: the session is deleted"
	wait $client
	left=0
	for p in $tree; do ! _same_process "$p" || left=$((left + 1)); done
	is $left 0 "$name: nobody outlives it"
	ok "$name: nor does init" _ended "$init"
	like "$(grep -a 'name=s gone' "$D/log" | tail -n 1)" 'killed=[1-9]' "$name: they were counted"
done <"$D/tricks"

# crash: of init, whose children the kernel kills, and of the daemon, whose next self decides
boxctl create --name s --pids 120 >/dev/null
start crash 'setsid sh -c "setsid sleep 24680 & sleep 24680 &"; trap "" TERM; echo ready; sleep 24680' '-t 600'
eventually enough 3
tree=$(_tree "$(number s init_pid)")
vanish "$(number s init_pid)"
wait $client
like "$(cat "$D/err")" 'init died' "init crashes: the client is told"
nobody() {
	for p in $tree; do ! _same_process "$p" || return 1; done
}
eventually nobody
ok "init crashes: nobody outlives it"
done_testing
