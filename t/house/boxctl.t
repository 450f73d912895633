#!/bin/sh
# boxctl: help, formats, exit codes, and messages that help.
. t/lib/sh/boxd.sh
out() { "$BUILD/boxctl" "$@" >"$D/out" 2>"$D/err"; echo $?; }

is "$(out --socket "$D/none" ping)" 125 "no daemon: exit 125"
like "$(cat "$D/err")" "$D/none" "no daemon: the socket is named"
like "$(cat "$D/err")" 'is boxd running\?' "no daemon: and a remedy"
is "$(out --socket "$D/none" run -- true)" 125 "no daemon: run says so too"
is "$(out frobnicate)" 2 "unknown command: exit 2"
is "$(out ps --frobnicate)" 2 "unknown option: exit 2"
like "$(cat "$D/err")" 'help' "unknown option: points to the help"
is "$(out exec)" 2 "exec without a session: exit 2"
is "$(out --help)" 0 "--help"
for c in ping status ps create run exec inspect cp files rm doctor; do
	is "$(out "$c" --help)" 0 "$c --help"
	grep -qi 'example' "$D/out"
	ok "$c --help has an example"
done

boxd_start
boxctl create --name s >/dev/null
json() { perl -MJSON::PP -e 'local $/; decode_json(<STDIN>)'; }
for c in ping status ps 'inspect s' 'exec s -c true' 'run -c true' doctor; do
	boxctl $c -o json | json
	ok "$c -o json is JSON"
done
boxctl exec s -o json -c 'printf "\377\376"; printf "\"q\"\n\001" >&2' | json
ok "and stays so with hostile output"
unlike "$(boxctl ps; boxctl status; boxctl inspect s)" "$(printf '\033')" "no colour off a terminal"
like "$(boxctl ps)" '^s +ready' "ps shows the session"
is "$(boxctl rm s)" s "rm says what it removed"
boxctl doctor >"$D/out"
is $? 0 "doctor is content"
for p in 'user namespace' 'net' 'cgroup' 'seccomp' 'landlock' 'overlay' 'loop' 'btrfs' 'nftables'; do
	like "$(cat "$D/out")" "$p" "doctor tells of $p"
done
like "$(cat "$D/out")" 'tier' "doctor tells the tier"
done_testing
