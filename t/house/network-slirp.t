#!/bin/sh
# network_on = slirp: UDP as well, through slirp4netns; the same ranges stay closed.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
command -v slirp4netns >/dev/null || plan skip_all "slirp4netns is not installed"
[ -c /dev/net/tun ] || plan skip_all "there is no /dev/net/tun here"
printf 'allow 10.20.30.40 port 80\n' >"$D/rules"
boxd_config 'network_on = slirp' "network.rules = $D/rules" 'spare_sandboxes = 1'
boxd_start
session s
ok "a session is made"
is "$(net s mode)" slirp "boxctl net tells how"
like "$(inside s tcp 93.184.216.34/80)" 'OK served' "TCP goes out"
like "$(inside s dns @9.9.9.9 A good.example)" '93.184.216.34' "and UDP, to any name server"
is "$(box exec s -- cat /etc/resolv.conf)" "nameserver 10.0.2.3" "names are asked of slirp4netns"
is "$(inside s tcp 192.168.77.7/80 169.254.169.254/80 127.0.0.1/80 10.0.2.2/80 100.64.1.1/80)" "192.168.77.7/80: ECONNREFUSED
169.254.169.254/80: ECONNREFUSED
127.0.0.1/80: ECONNREFUSED
10.0.2.2/80: ECONNREFUSED
100.64.1.1/80: ECONNREFUSED" "ranges that are denied are denied here too, the gateway among them"
like "$(inside s udp 192.168.77.7/7)" 'EPERM|EHOSTUNREACH|ECONNREFUSED' "by UDP too"
is "$(came tcp 192.168.77.7) $(came udp 192.168.77.7) $(came tcp 169.254.169.254)" "0 0 0" "nothing came there"
unlike "$(inside s tcp 185.199.108.10/8080)" 'OK' "nor to the host by its own address"
is "$(grep -c . "$HOST/visitors")" 0 "which nobody visited"
like "$(inside s tcp 10.20.30.40/80)" 'OK served' "what the operator's rules open by address is open"
like "$(box create --name n --network on --network-rule 'deny all' 2>&1)" 'spec.network_rules: not with network_on = slirp' "a client's rules are refused, not forgotten"
kill -9 "$(box inspect s -o json | field worker_pid)"
again() { inside s tcp 93.184.216.34/80 | grep -q 'OK served'; }
eventually again
ok "it outlives its worker"
of_session() { pgrep -f "slirp4netns .* $(box inspect s -o json | field init_pid) tap0" | head -n 1; }
its=$(of_session)
isnt "$its" "" "there is a slirp4netns for it"
id=$(box inspect s -o json | field id)
for controller in memory pids cpu; do
	place=$(sed -n "s/^[0-9]*:$controller://p" "/proc/$its/cgroup")
	[ -n "$place" ] || place=$(sed -n 's/^0:://p' "/proc/$its/cgroup")
	like "$place" "/s$id(/init)?\$" "it is charged to the session's $controller cgroup"
done
box rm s >/dev/null
gone() { ! kill -0 "$its" 2>/dev/null; }
eventually gone
ok "which ends with it"
boxd_stop

# where it is not installed
if [ "$(command -v slirp4netns)" = /usr/bin/slirp4netns ]; then
	printf '#!/bin/sh\nmount --bind /dev/null /usr/bin/slirp4netns\nexec "$@"\n' >"$D/hide"
	chmod 755 "$D/hide"
	BOXD_WRAP="$BOXD_WRAP unshare --mount --propagation slave $D/hide"
	boxd_start
	like "$(box create --name s --network on 2>&1)" 'slirp4netns, which is not installed; remedy: apt-get install slirp4netns' \
		"without the program it is refused, and said what to do"
	is "$(box run -- echo fine)" fine "and others are served"
fi
done_testing
