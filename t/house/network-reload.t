#!/bin/sh
# New rules hold at once: for the next connection, and for those that are open.  Wrong ones change nothing.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules"
echo 'deny 198.51.100.9' >"$D/rules"
boxd_start
session s
reset='reset by peer|Couldn.t connect|Recv failure|Empty reply'

# held NAME URL: a connection that stays until it is cut
held() {
	later "$D/held.$1" exec s -t 580 -- curl -sSN "$2"
	eventually grep -q held "$D/held.$1"
}
BOX_SEC=590
held good http://93.184.216.34/hold
good=$LATER
held other http://151.101.0.223/hold
other=$LATER
held six 'http://[2606:2800:220:1::34]/hold'
six=$LATER
is "$(net s open)" 3 "three connections are open"

# ---- by boxctl ----
printf '%s\n' 'deny 151.101.0.0/16' 'deny 2606:2800::/32 port 80' >"$D/rules"
like "$(fetch s http://151.101.0.223/)" '^served' "a file that was changed is not in force"
box net --reload -o json >"$D/json"
is "$? $(field rules <"$D/json") $(field sets <"$D/json") $(field file <"$D/json")" "0 2 0 $D/rules" "until it is read again"
like "$(fetch s http://151.101.0.223/)" "$reset" "the next connection meets it"
wait $other
isnt $? 0 "one that was open is cut"
like "$(cat "$D/held.other")" "$reset" "by a reset"
wait $six
isnt $? 0 "of both families"
kill -0 $good
ok "one that is still allowed stays"
is "$(net s open)" 1 "and is counted"
like "$(box net --reload)" "2 rules" "for people too"
like "$(box net s)" '151.101.0.223 .*deny 151.101.0.0/16' "what was cut is told as refused"

# ---- by SIGHUP ----
printf '%s\n' '[p]' 'deny 93.184.216.34' >"$D/rules"
kill -HUP "$BOXD_PID"
again() { fetch s http://151.101.0.223/ | grep -q '^served'; }
eventually again
ok "SIGHUP: what is no longer denied is open"
kill -0 $good
ok "a section is for those who have it"
echo 'deny 93.184.216.34' >"$D/rules"
kill -HUP "$BOXD_PID"
wait $good
isnt $? 0 "SIGHUP: an open connection is cut"
is "$(net s open)" 0 "none is left"

# ---- names that were told ----
echo 'allow all' >"$D/rules" && box net --reload >/dev/null
held any http://good.example/hold
any=$LATER
printf '%s\n' 'allow good.example' 'deny all' >"$D/rules" && box net --reload >/dev/null
like "$(fetch s http://good.example/)" '^served' "a name that was told before the rule was"
wait $any
isnt $? 0 "a connection is cut that was made when no name was looked at"
held name http://good.example/hold
name=$LATER
printf '%s\n' 'allow other.example' 'allow good.example port 80' 'deny all' >"$D/rules" && box net --reload >/dev/null
like "$(fetch s http://good.example/)" '^served' "other rules that allow the name"
kill -0 $name
ok "leave its open connection"
printf '%s\n' 'allow other.example' 'deny all' >"$D/rules" && box net --reload >/dev/null
wait $name
isnt $? 0 "a name that is not allowed any more: cut"
like "$(fetch s http://good.example/)" 'Could not resolve' "and not resolved"

# ---- wrong ones ----
echo 'deny other.exmaple port x' >>"$D/rules"
said=$(box net --reload 2>&1)
isnt $? 0 "a wrong file is refused"
like "$said" "$D/rules:3: .*port 'x'" "with its line"
like "$(fetch s http://other.example/)" '^served' "the rules of before hold"
like "$(fetch s http://good.example/)" 'Could not resolve' "all of them"
kill -HUP "$BOXD_PID"
logged() { grep -q "$D/rules:3:" "$D/log"; }
eventually logged
ok "SIGHUP: the line is in the log"
kill -0 "$BOXD_PID"
ok "and boxd goes on"
rm "$D/rules"
like "$(box net --reload 2>&1)" "$D/rules" "a file that is gone"
like "$(fetch s http://good.example/)" 'Could not resolve' "opens nothing"
like "$(box net --rules)" '^allow other.example$' "the rules in force are shown, not the file"

# ---- a private network that is opened later ----
echo 'allow 10.20.30.0/24' >"$D/rules" && box net --reload >/dev/null
session later
like "$(inside later tcp 10.20.30.40/80)" 'OK served' "a session made after it has what a rule opens"
opened() { inside s tcp 10.20.30.40/80 | grep -q 'OK served'; }
eventually opened
ok "and one from before has it too"
: >"$D/rules" && box net --reload >/dev/null
for session in s later; do
	is "$(inside $session tcp 10.20.30.40/80 | sed 's/RESET/REFUSED/')" "10.20.30.40/80: ECONNREFUSED" "what is closed again is closed at once: $session"
done

# ---- none configured ----
boxd_stop
sed -i /network.rules/d "$D/boxd.conf"
boxd_start
like "$(box net --reload 2>&1)" 'no file' "without a file there is nothing to read"
kill -HUP "$BOXD_PID"
box ping >/dev/null
ok "and SIGHUP is harmless"
done_testing
