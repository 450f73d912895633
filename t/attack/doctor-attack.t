#!/bin/sh
# boxctl doctor --attack: its table, its JSON and its exit status follow what the attacks tell; its sessions never stay.
. t/lib/sh/boxd.sh
mkdir "$D/bin"
cp "$BUILD/boxctl" "$D/bin/" # box-attack is looked for beside it
doctor() { timeout -k 5 120 "$D/bin/boxctl" --socket "$D/run/boxd.sock" doctor --attack "$@"; }

is "$(doctor 2>"$D/err"; echo $?)" 125 "no box-attack: exit 125"
like "$(cat "$D/err")" 'box-attack is neither in' "and it says where it looked"
printf '#!/bin/sh\n' >"$D/bin/box-attack"
is "$(doctor 2>"$D/err"; echo $?)" 125 "no boxd: exit 125"
like "$(cat "$D/err")" 'is boxd running' "and a remedy"
boxd_start

# fake LIST-LINE... -- OUTPUT-LINE...: a box-attack that says this
fake() {
	{
		echo '#!/bin/sh'
		echo 'case " $* " in *" --list "*) cat <<"X"'
		while [ "$1" != -- ]; do printf '%b\n' "$1"; shift; done
		shift
		printf 'X\nexit;;\nesac\n'
		printf '%s\n' "$@"
	} >"$D/bin/box-attack"
}
said() { doctor "$@" >"$D/out" 2>"$D/err"; echo $?; }

fake 'inside\ta.one\tsomething bad' 'inside\ta.two\tsomething worse' -- 'printf "held\ta.one\tmount: EPERM\nskipped\ta.two\tno such thing\nend\t2\n"'
is "$(said)" 0 "all held, one skipped: exit 0"
like "$(cat "$D/out")" '^ATTACK +RESULT +DETAIL$' "a table"
like "$(cat "$D/out")" '^a.one +held +mount: EPERM$' "with a row"
like "$(cat "$D/out")" '^a.two +skipped +no such thing$' "and what was skipped"
like "$(cat "$D/out")" '^7 attacks: 6 held, 0 open, 1 skipped$' "and a sum, boxctl's own five among them"
unlike "$(cat "$D/out" "$D/err")" "$(printf '\033')" "no colour and no progress off a terminal"

fake 'inside\ta.one\tsomething bad' -- 'printf "open\ta.one\tmount: worked\nend\t1\n"; exit 1'
is "$(said)" 1 "one open: exit 1"
like "$(cat "$D/out")" '^a.one +open +mount: worked$' "its row"
like "$(cat "$D/out")" '^open: a.one: something bad$' "and what it means"
is "$(said -o json)" 1 "as JSON: exit 1"
is "$(perl -MJSON::PP -e 'local $/; my $j = decode_json(<STDIN>); my ($r) = grep { $_->{name} eq "a.one" } @{$j->{attacks}}; print join "|", @$r{qw(result detail means)}, $j->{open}, $j->{isolation}{tier} ne ""' <"$D/out")" \
	'open|mount: worked|something bad|1|1' "every field"

# a suite that does not come to its end is no success
fake 'inside\ta.one\tbad' -- 'printf "held\ta.one\tx\nend\t7\n"'
is "$(said)" 1 "fewer rows than it tells: exit 1"
like "$(cat "$D/out")" '^suite +open +box-attack exited with 0 and reported 1 of 7' "and why"
fake 'inside\ta.one\tbad' -- 'printf "held\ta.one\tx\n"; kill -9 $$'
is "$(said)" 1 "a suite that is killed: exit 1"
like "$(cat "$D/out")" '^suite +open ' "and a row for it"
fake 'inside\ta.one\tbad' -- 'echo what is this; printf "held\ta.one\t\033[31mred\033[0m\nend\t1\n"'
is "$(said)" 0 "lines that are no rows are passed over"
unlike "$(cat "$D/out")" "$(printf '\033')" "and what is not for a terminal is escaped"

# alone, bombs, and the neighbour
fake 'alone\tb.alone\tbad' 'bomb\tb.bomb\tbad' 'share\tb.share\tbad' -- 'case "$*" in *b.share*) printf "held\tb.share\tall\nend\t1\n" ;; *b.alone*) printf "held\tb.alone\tx\nend\t1\n" ;; *b.bomb*) sleep 0.3 ;; *) printf "end\t0\n" ;; esac'
is "$(said)" 0 "one alone and one bomb: exit 0"
like "$(cat "$D/out")" '^b.alone +held' "the one that runs alone"
like "$(cat "$D/out")" '^b.bomb +held +the neighbour answered [1-9]' "the bomb, and how often the neighbour answered"
fake 'bomb\tb.bomb\tbad' 'share\tb.share\tbad' -- 'case "$*" in *b.share*) printf "open\tb.share\tno inotify\nend\t1\n"; exit 1 ;; *b.bomb*) sleep 0.3 ;; *) printf "end\t0\n" ;; esac'
is "$(said)" 1 "a neighbour that has less: exit 1"
like "$(cat "$D/out")" '^b.bomb +open +the neighbour has less: b.share.*no inotify' "and what it lacks"
is "$(boxctl ps --names)" "" "no session is left by any of these"

# rows come one by one, and a suite that takes long is no failure: longer than boxd waits for a first request, and
# until the neighbour, which would end as idle, was used
slow='case "$*" in *b.share*) printf "held\tb.share\tall\nend\t1\n" ;; *b.bomb*) sleep 0.3 ;;
*) n=1; printf "held\ta.one\tfirst\n"
until [ -e /tmp/go ]; do sleep 0.5; printf "held\ta.two\tagain\n"; n=$((n + 1)); done; printf "end\t$n\n" ;; esac'
fake 'inside\ta.one\tbad' 'inside\ta.two\tbad' 'bomb\tb.bomb\tbad' 'share\tb.share\tbad' -- "$slow"
"$D/bin/boxctl" --socket "$D/run/boxd.sock" doctor --attack >"$D/out" 2>"$D/err" &
pid=$!
eventually grep -qE '^a.one +held +first$' "$D/out"
ok "a row is there while the attacks go on"
execs() { boxctl call get "{\"session\": \"$(boxctl ps --names | grep neighbour)\"}" -o json | sed -n 's/.*"execs": *\([0-9]*\).*/\1/p'; }
was_used() { [ "$(execs)" -gt 1 ]; } # one command has put box-attack there
eventually was_used
ok "the neighbour is used before it is idle for too long"
boxctl exec "$(boxctl ps --names | grep -vE 'neighbour|bomb')" -- touch /tmp/go
wait $pid
is "$? $(cat "$D/err")" "0 " "a slow suite comes to its end"
like "$(cat "$D/out")" '^b.bomb +held' "and so do the bombs after it"

# one that does not answer
fake 'inside\ta.one\tbad' 'inside\ta.two\tbad' 'inside\ta.three\tbad' 'alone\ta.four\tbad' -- 'case "$*" in
*a.two* | *a.four*) sleep 1000 ;; *a.three*) printf "held\ta.three\tx\nend\t1\n" ;; *) printf "held\ta.one\tx\n"; sleep 1000 ;; esac'
is "$(said -t 0.5)" 1 "an attack that does not answer: exit 1"
like "$(cat "$D/out")" '^a.two +open +no answer within 1 s$' "and its row"
like "$(cat "$D/out")" '^a.three +held' "what comes after it is tried all the same"
like "$(cat "$D/out")" '^a.four +open +no answer within 1 s$' "one that runs alone has a deadline, too"
like "$(cat "$D/out")" '^9 attacks: 7 held, 2 open, 0 skipped$' "and nothing else is open"
is "$("$D/bin/boxctl" doctor -t 1 2>&1; echo $?)" "boxctl: doctor: --timeout is for --attack
Try 'boxctl doctor --help'.
2" "a deadline without attacks: exit 2"

# nobody reads the rows
before=$(attack_things)
fake 'inside\ta.one\tbad' -- 'n=0; while :; do printf "held\ta.$n\tx\n"; n=$((n + 1)); done'
is "$( { doctor 2>"$D/err"; echo $? >"$D/status"; } | head -n 1 | cut -c 1-6; cat "$D/status" "$D/err")" "ATTACK
141" "a reader that leaves ends it"
doctor >&- 2>"$D/err"
is "$? $(cat "$D/err")" "1 boxctl: write standard output: Bad file descriptor" "so does a closed standard output"
is "$(boxctl ps --names)$(attack_things)" "$before" "and nothing is left"

# a signal
before=$(attack_things)
fake 'inside\ta.one\tbad' -- 'sleep 60'
"$D/bin/boxctl" --socket "$D/run/boxd.sock" doctor --attack >"$D/out" 2>"$D/err" &
pid=$!
attacking() { boxctl ps | grep -qE '^attack-[0-9a-f]{16} +ready +[^ ]+ +[^ ]+ +1 '; }
eventually attacking
kill -TERM $pid # once: a second one would end the clearing up
wait $pid
is $? 143 "SIGTERM: 128 and its number"
is "$(boxctl ps --names)" "" "and its sessions are gone"
is "$(attack_things)" "$before" "and its shared memory"
done_testing
