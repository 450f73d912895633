#!/bin/sh
# The operator chooses what a session gets that asks for a network: egress, loopback alone, or a refusal.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start

boxd_config 'network_on = refuse'
boxd_start
said=$(box create --name s --network on 2>&1)
isnt $? 0 "refuse: it is refused"
like "$said" "spec.network: 'on' is refused here" "and said by which option"
like "$(box agent exec --profile network_basic -c true 2>&1)" "spec.network" "agents too"
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "" "there is no box-egress"
boxd_stop

boxd_config 'network_on = loopback'
boxd_start
session s
is "$(net s mode)" loopback "loopback: told as what it is"
is "$(inside s tcp 93.184.216.34/80)" "93.184.216.34/80: ENETUNREACH" "nothing is reached"
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "" "there is no box-egress"
grep -q 'name=s asked for network: on, and has loopback only' "$D/log"
ok "and the log tells"
boxd_stop

boxd_config 'network_on = egress'
boxd_start
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "" "egress: none while nobody needs one"
box create --name off --memory 64 >/dev/null
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "" "nor for sessions without a network"
session s
like "$(inside s tcp 93.184.216.34/80)" 'OK served' "egress: the internet"
like "$(box create --name s --memory 256 --network off 2>&1)" 'already exists with network=on' "a session keeps what it has"
boxd_stop

for wrong in 'network_on = maybe' 'network.connections = 0' 'network.resolvers = good.example' 'network.resolvers = 9.9.9.9:x' 'network.dns_kb = x' 'network.hint = perhaps'; do
	cp "$D/boxd.conf" "$D/wrong.conf"
	echo "$wrong" >>"$D/wrong.conf"
	said=$(timeout -k 5 50 "$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/wrong.conf" 2>&1 </dev/null)
	is $? 2 "boxd does not start with $wrong"
	like "$said" "wrong.conf:$(wc -l <"$D/wrong.conf"):" "and names the line"
done
done_testing
