#!/bin/sh
# A command that was refused something on the network is told so with its result: what, and by which rule.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules"
printf '%s\n' 'deny 151.101.0.0/16 port 80' 'deny evil.example' >"$D/rules"
boxd_start
session s
hint() { box exec s -o json -t 50 "$@" 2>/dev/null | field hint; }

# ---- what it says ----
like "$(hint -c 'curl -s http://151.101.0.223/')" '^network: refused by a rule: the connection to 151.101.0.223 port 80: deny 151.101.0.0/16 port 80$' "an address"
like "$(hint -c 'curl -s http://other.example/')" 'other.example \(151.101.0.223\) port 80: deny 151.101.0.0/16 port 80$' "with the name it was told for"
like "$(hint -c 'curl -s http://evil.example/')" 'evil.example.*: deny evil.example$' "a name"
like "$(hint -c 'curl -s http://10.20.30.40/')" '10.20.30.40 port 80: built-in: private 10.0.0.0/8$' "a private address"
like "$(hint -c 'curl -s http://169.254.169.254/')" '169.254.169.254 port 80: built-in: link-local and metadata 169.254.0.0/16$' "metadata"
like "$(hint -c 'curl -s http://[fd00:ec2::254]/')" 'fd00:ec2::254 port 80: built-in: unique local and metadata fc00::/7$' "by IPv6"
like "$(hint -c 'curl -s http://lan.example/')" 'lan.example.*built-in: (private|unique local)' "a name that leads to a private address"
like "$(hint -c 'curl -s http://185.199.108.10:8080/')" "185.199.108.10 port 8080: built-in: this host's own address\$" "the host"
like "$(hint -- "$PYTHON" -c 'import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("93.184.216.34", 443))
except OSError: pass')" '93.184.216.34 port 443' "UDP"
like "$(hint -c 'for i in 1 2 3 4 5; do curl -s http://10.20.30.$i/; done')" '^network: refused by a rule 5 times, at last the connection to 10.20.30.5 port 80' "how many, and the last"

# ---- when, and when not ----
is "$(hint -c 'curl -s http://93.184.216.34/')" "" "nothing was refused: no hint"
is "$(hint -- true)" "" "one of before is not told again"
is "$(hint -c 'curl -s http://93.184.216.34:7007/')" "" "who is not there was not refused by a rule"
is "$(hint -c 'curl -s http://nothing.example/')" "" "nor a name that is none"
is "$(hint -c 'curl -s http://127.0.0.1:9/')" "" "nor its own loopback"
box create --name off --memory 64 >/dev/null
is "$(box exec off -o json -c 'curl -s http://10.20.30.40/' | field hint)" "" "a session without a network has none"

# ---- it is beside the result, not in it ----
box exec s -c 'curl -s http://10.20.30.40/; echo out; echo err >&2; exit 7' >"$D/out" 2>"$D/err"
is "$? $(cat "$D/out")" "7 out" "exit code and output are the command's"
is "$(head -n 1 "$D/err")" err "its errors too"
like "$(sed -n 2p "$D/err")" '^boxctl: network: refused by a rule: the connection to 10.20.30.40 port 80' "boxctl tells it on a line of its own"
is "$(wc -l <"$D/err")" 2 "and nothing else"
is "$(box exec s -o json -c 'curl -s http://10.20.30.40/; echo out' | field stdout)" 'out\n' "in JSON it is a field of its own"
like "$(box run --network on -- curl -s http://10.20.30.40/ 2>&1)" '^boxctl: network: refused by a rule: the connection to 10.20.30.40 port 80' "boxctl run too"

# ---- and where else it is told ----
box net s >/dev/null # what it counted until now is known to boxd then
told=$(box inspect s | sed -n '/^net:/,/^[a-z]/p' | sed -n '/denials:/,$p' | tr -s ' \n' ' ')
like "$told" '1: kind: tcp name: - address: 10.20.30.40 port: 80 rule: built-in: private 10.0.0.0/8' "inspect tells the last: address, port and rule"
box inspect s -o json >"$D/json"
like "$(tr -d ' \n' <"$D/json")" '"denials":\[\{"kind":"tcp","name":"","address":"10.20.30.40","port":80,"rule":"built-in:private10.0.0.0/8"' "session info too"
like "$(grep 'network denied' "$D/log")" 'address=10.20.30.40 port=80 rule="built-in: private 10.0.0.0/8"' "and the log"

# ---- two at once ----
later "$D/json" exec s -o json -t 50 -c 'echo began >/tmp/began; until [ -e /tmp/go ]; do sleep 0.05; done; echo waited'
eventually box exec s -- test -e /tmp/began
like "$(hint -c 'curl -s http://10.20.30.40/')" '10.20.30.40' "a command beside another"
box exec s -- touch /tmp/go
wait $LATER
is "$(field stdout <"$D/json")" 'waited\n' "the other has its own result"

# ---- agents and LangBot ----
printf '%s\n' '[network_basic]' 'deny 93.184.216.34' >>"$D/rules" && box net --reload >/dev/null
box agent exec --profile network_basic -o json -c 'curl -s http://10.20.30.40/; echo err >&2; exit 3' >"$D/json"
is "$(field exit_code <"$D/json")" 3 "an agent's exit code is its own"
like "$(field stderr <"$D/json")" '^err\\n.*network: refused by a rule: the connection to 10.20.30.40 port 80' "and the hint is its last line of stderr"
is "$(box agent exec --profile network_basic -o json -c 'echo err >&2' | field stderr)" err "without one there is none"
context='"context": {"instance": "inst-1", "workspace": "ws-1", "generation": 1}'
box call box_exec "{$context, \"spec\": {\"session_id\": \"l\", \"network\": \"on\", \"cmd\": \"curl -s http://10.20.30.40/; echo err >&2\"}}" -o json >"$D/json" 2>"$D/err"
like "$(field notice <"$D/json")" '^boxd: network: refused by a rule: the connection to 10.20.30.40 port 80' "LangBot's result has it as the notice that is put behind stderr" || diag "$(cat "$D/json" "$D/err")"

# ---- switched off ----
boxd_stop
boxd_config 'network.hint = no'
boxd_start
session s
is "$(hint -c 'curl -s http://10.20.30.40/')" "" "network.hint = no: no hint"
isnt "$(net s denied)" 0 "though it is counted"
done_testing
