#!/bin/sh
# box-egress dies, and all others: open connections are reset, the next work, and the rules hold without a gap.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules" 'worker_restarts = 9' 'network.connections = 2000'
printf '%s\n' 'deny 151.101.0.223' '[names]' 'allow good.example' 'deny all' >"$D/rules"
boxd_start
BOX_SEC=300
session s
session narrow --network-rule 'allow good.example' --network-rule 'deny all'
session names --network-set names
egress() { pgrep -P "$BOXD_PID" -x box-egress; }
another() { [ -n "$(egress)" ] && [ "$(egress)" != "$was" ]; }
fetch s http://good.example/bytes/100000 >/dev/null
fetch narrow http://good.example/ >/dev/null
counted() { [ "$(net s received_bytes)" -ge 100000 ]; }
eventually counted

# ends NAME: a connection inside, that says how it ended
ends() {
	later "$D/$1" exec s -t 280 -- "$PYTHON" -c '
import socket, sys
s = socket.create_connection(("93.184.216.34", 7005)); s.sendall(b"x"); print("open", flush=True)
try: print("EOF" if s.recv(1) == b"" else "data")
except OSError as e: print(type(e).__name__)'
	eventually grep -q open "$D/$1"
}

# ---- it is killed ----
ends first
first=$LATER
was=$(egress)
vanish "$was"
wait $first
like "$(cat "$D/first")" 'ConnectionResetError' "an open connection is reset"
eventually another
ok "there is a new one"
like "$(fetch s http://good.example/)" '^served' "the next connection works"
like "$(fetch names http://good.example/)" '^served' "names too"
[ "$(net s received_bytes)" -ge 100000 ]
ok "what was counted is not forgotten"
grep -q "egress=$was gone signal=9" "$D/log" || grep -q "egress=$was gone" "$D/log"
ok "and the log tells"
was=$(egress)
vanish "$was"
like "$(fetch s http://93.184.216.34/)" '^served' "a connection that comes in between waits, and works"
like "$(inside s dns A good.example)" 'NOERROR|SERVFAIL' "so does a question"

# ---- no gap ----
before=$(visited 93.184.216.34 80)
later "$D/hammer" exec s -t 280 -- "$PYTHON" -c '
import os, socket
n, odd = 0, []
while not os.path.exists("/tmp/enough"):
    for to in ("151.101.0.223", 80), ("10.20.30.40", 80), ("169.254.169.254", 80), ("185.199.108.10", 8080):
        s = socket.socket(); s.settimeout(60)
        try:
            s.connect(to); s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            r = s.recv(999)
            if r: odd.append((to, r))
        except ConnectionError: pass
        except OSError as e: odd.append((to, repr(e)))
        s.close(); n += 1
print(n, odd)'
hammer=$LATER
later "$D/hammer2" exec narrow -t 280 -- "$PYTHON" -c '
import os, socket
n = 0
while not os.path.exists("/tmp/enough"):
    s = socket.socket(); s.settimeout(60)
    try:
        s.connect(("8.8.8.8", 80)); s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        if s.recv(999): print("came through")
    except OSError: pass
    s.close(); n += 1
print(n)'
hammer2=$LATER
served() {
	fetch s http://93.184.216.34/ >"$D/page"
	grep '^served' "$D/page" >>"$D/served"
}
for i in 1 2 3 4 5 6; do
	was=$(egress)
	vanish "$was"
	eventually another
	eventually served # two hammers may be more connections at once than a session may begin
done
ok "killed six times under load"
is "$(grep -c '^served' "$D/served")" 6 "what is allowed works after each"
box exec s -- touch /tmp/enough 2>/dev/null
box exec narrow -- touch /tmp/enough 2>/dev/null
wait $hammer $hammer2
like "$(cat "$D/hammer")" '^[0-9]+ \[\]$' "of all that was denied meanwhile nothing came through"
like "$(cat "$D/hammer2")" '^[0-9]+$' "nor what only the client's rules deny"
is "$(visited 151.101.0.223) $(came tcp 8.8.8.8) $(came tcp 10.20.30.40) $(came tcp 169.254.169.254) $(wc -l <"$HOST/visitors")" "0 0 0 0 0" "nobody came there, not a packet"

# ---- it stands still ----
was=$(egress)
kill -STOP "$was"
is "$(box exec s -t 100 -- echo result)" result "a command's result comes while box-egress hangs"
like "$(box net s)" 'network: +egress' "and numbers of before"
kill -CONT "$was"
like "$(fetch s http://good.example/)" '^served' "it goes on when it can"

# ---- a worker is killed ----
number() { box inspect "$1" -o json | field "$2" | head -n 1; }
ends second
second=$LATER
vanish "$(number s worker_pid)"
ready() { [ "$(number s state)" = ready ] && [ "$(number s worker_restarts)" -ge 1 ]; }
eventually ready
like "$(fetch s http://good.example/)" '^served' "a new worker: the session has its network"
unlike "$(cat "$D/second")" 'Error|EOF' "and its open connections"
is "$(inside s tcp 151.101.0.223/80)" "151.101.0.223/80: ECONNRESET" "and its rules"

# ---- boxd is killed ----
vanish "$BOXD_PID"
boxd_start
standing() { [ "$(boxctl ps -o json | grep -c '"state": "ready"')" -ge 3 ]; }
eventually standing
wait $second 2>/dev/null
like "$(fetch s http://good.example/)" '^served' "a new boxd: the session has its network"
is "$(inside s tcp 151.101.0.223/80 10.20.30.40/80)" "151.101.0.223/80: ECONNRESET
10.20.30.40/80: ECONNREFUSED" "by the same rules"
like "$(fetch narrow http://good.example/)" '^served' "with those of its client"
is "$(inside narrow tcp 8.8.8.8/80)" "8.8.8.8/80: ECONNRESET" "which hold"
like "$(fetch names http://other.example/)" 'Could not resolve' "and those of its section"
is "$(pgrep -x box-egress -P "$BOXD_PID" | wc -l)" 1 "there is one box-egress"

# ---- SIGUSR2 ----
kill -USR2 "$BOXD_PID"
again() { [ "$(grep -c ' ready pid=' "$D/log")" = 3 ] && standing 2>/dev/null; }
eventually again
like "$(fetch s http://good.example/)" '^served' "executed anew: the session has its network"
is "$(inside narrow tcp 8.8.8.8/80)" "8.8.8.8/80: ECONNRESET" "by its rules"
is "$(pgrep -x box-egress -P "$BOXD_PID" | wc -l)" 1 "and one box-egress"

# ---- a session goes with a thousand connections ----
session full --pids 64
established() { on_host ss -Htn state established 'dport = :7005' | wc -l; }
closed() { [ "$(established)" = 0 ]; }
eventually closed
descriptors() { ls "/proc/$(egress)/fd" | wc -l; }
few=$(descriptors)
box exec full -t 280 -i -- "$PYTHON" - storm 1000 93.184.216.34/7005 <t/lib/py/flood.py >"$D/storm" 2>&1 &
storm=$!
open() { [ "$(established)" -ge 1000 ]; }
eventually open
ok "a session with a thousand connections"
box rm full >/dev/null
wait $storm
eventually closed
ok "is deleted, and leaves none" || diag "$(established)"
back() { [ "$(descriptors)" -le "$few" ]; }
eventually back
ok "and no descriptor" || diag "$(descriptors), $few before"

# ---- its init is killed ----
session gone
later "$D/held" exec gone -t 280 -- curl -sSN http://good.example/hold
eventually grep -q held "$D/held"
vanish "$(number gone init_pid)"
wait $LATER
none() { [ "$(on_host ss -Htn state established 'dport = :80' | wc -l)" = 0 ]; }
eventually none
ok "a sandbox whose init dies leaves no connection"
like "$(fetch s http://good.example/)" '^served' "and no other notices"
done_testing
