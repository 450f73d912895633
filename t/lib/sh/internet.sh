# A private internet for a shell test, and a boxd that has it as its network.  Sourced behind boxd.sh:
#
#	internet_start                       the test is skipped, by name, where this cannot be had
#	boxd_config "network.rules = $D/rules"
#	boxd_start                           in the namespace "host", whose only way out leads to the namespace "net"
#	like "$(on_host curl -s http://93.184.216.34/)" '^served' "reachable, if nobody stops it"
#	is "$(came tcp 192.168.77.7)" 0 "no packet came there"
#
# Every address of the internet is in "net": private ones too, so only boxd's rules keep a sandbox from them.  Nothing
# leaves this machine.  t/lib/py/internet.py tells what is served there, t/lib/py/internet_dns.py which names there are;
# what happened is written down in $NET and $HOST.
#
# The host itself is 185.199.108.10 and 2a00:1450::10, and has a server on port 8080 of all its addresses.

PYTHON=/usr/bin/python3 # as a sandbox has it: not one from a home
NET=$D/net HOST=$D/host CA=$D/net/ca.pem
_host=boxt-$$-host _net=boxt-$$-net _servers=

on_host() { nsenter --net="/run/netns/$_host" "$@"; }
on_net() { nsenter --net="/run/netns/$_net" "$@"; }

# came PROTOCOL ADDRESS [PORT]: packets that began something there.  An address may be a pattern of grep.
came() { grep -Ec "^$1 $2 ${3:-.*}\$" "$NET/wire"; }

# asked NAME: questions about it that the name server got
asked() { grep -Ec "^(udp|tcp) $1 " "$NET/questions"; }

# visited ADDRESS [PORT]: connections that were made there
visited() { grep -Ec "^tcp $1 ${2:-.*}\$" "$NET/visitors"; }

_needs() {
	[ "$(id -u)" = 0 ] || plan skip_all "a network namespace of its own needs root"
	[ -x "$PYTHON" ] || plan skip_all "no $PYTHON here, or not where a sandbox sees it"
	for _tool in ip nsenter openssl curl; do
		command -v $_tool >/dev/null || plan skip_all "$_tool is not installed"
	done
}

# Of tests that were killed before they could.
_remove_old() {
	for _f in /run/netns/boxt-*; do
		[ -e "$_f" ] || continue
		_pid=${_f#/run/netns/boxt-}
		[ -d "/proc/${_pid%%-*}" ] || ip netns del "${_f#/run/netns/}" 2>/dev/null
	done
}

_settings='set -e
for f in all default; do
	echo 0 >/proc/sys/net/ipv4/conf/$f/rp_filter
	echo 0 >/proc/sys/net/ipv6/conf/$f/accept_dad
	echo 0 >/proc/sys/net/ipv6/conf/$f/accept_ra
done
ip link set lo up'

_wire() {
	ip netns add "$_host" && ip netns add "$_net" &&
		ip link add h0 netns "$_host" type veth peer name n0 netns "$_net" || return 1
	on_host sh -c "$_settings
		ip link set h0 up
		ip addr add 185.199.108.10/24 dev h0
		ip addr add 2a00:1450::10/64 dev h0 nodad
		ip route add default via 185.199.108.1
		ip route add default via 2a00:1450::1" || return 1
	# whatever is not on the wire is here
	on_net sh -c "$_settings
		ip link set n0 up
		ip addr add 185.199.108.1/24 dev n0
		ip addr add 2a00:1450::1/64 dev n0 nodad
		ip route add local default dev lo table main
		ip -6 route add local default dev lo table main
		ip route add blackhole 93.184.216.99
		ip -6 route add blackhole 2606:2800:220:1::99"
}

# A certificate for all names that serve one, of an authority that nobody else knows.
_certificates() {
	_names=DNS:good.example,DNS:evil.example,DNS:www.good.example,DNS:other.example,DNS:six.example,DNS:cname.example,DNS:*.pkg.example
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=boxd test authority' \
		-keyout "$NET/ca.key" -out "$CA" 2>/dev/null &&
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=good.example \
			-keyout "$NET/server.key" -out "$NET/server.csr" 2>/dev/null &&
		echo "subjectAltName = $_names" >"$NET/server.ext" &&
		openssl x509 -req -in "$NET/server.csr" -CA "$CA" -CAkey "$NET/ca.key" -CAcreateserial -days 2 \
			-extfile "$NET/server.ext" -out "$NET/server.pem" 2>/dev/null
}

internet_start() {
	_needs
	_remove_old
	at_end _internet_stop
	mkdir -p "$NET/www" "$HOST"
	_wire 2>"$D/wire.log" || plan skip_all "no namespaces with a wire between them here: $(tail -n 1 "$D/wire.log")"
	_certificates || plan skip_all "openssl makes no certificates here"
	# in full, so that it is Python which the shell knows
	nsenter --net="/run/netns/$_net" "$PYTHON" -B t/lib/py/internet.py net "$NET" </dev/null >"$NET/log" 2>&1 &
	_servers=$!
	nsenter --net="/run/netns/$_host" "$PYTHON" -B t/lib/py/internet.py host "$HOST" </dev/null >"$HOST/log" 2>&1 &
	_servers="$_servers $!"
	eventually test -e "$NET/ready" && eventually test -e "$HOST/ready" ||
		{ diag "$(cat "$NET/log" "$HOST/log")" && exit 1; }
	BOXD_WRAP="nsenter --net=/run/netns/$_host"
	boxd_config 'network.resolvers = 9.9.9.9'
}

_internet_stop() {
	for _p in $_servers; do
		kill -9 "$_p" 2>/dev/null
		wait "$_p" 2>/dev/null
	done
	for _n in "$_host" "$_net"; do
		[ ! -e "/run/netns/$_n" ] || ip netns del "$_n"
	done
	[ "$_failures" -eq 0 ] || diag "the internet's last words: $(tail -n 5 "$NET/log")"
	! grep -a Traceback "$NET/log" >&2
}

# ---- from inside -------------------------------------------------------------------

# inside SESSION VERB...: t/lib/py/inside.py there, which says what became of each try; boxctl's hint is left out
inside() {
	_in=$1
	shift
	box exec "$_in" -t $((BOX_SEC - 10)) -i -- "$PYTHON" - "$@" <t/lib/py/inside.py 2>&1 | grep -v '^boxctl: network: '
}

# fetch SESSION URL [CURL OPTION...]: what is there, or curl's error.  ca.pem must be in the workspace for https.
fetch() {
	_in=$1
	shift
	box exec "$_in" -t $((BOX_SEC - 10)) -- curl -sS --cacert ca.pem "$@" 2>&1
}

# later FILE ARGUMENT...: boxctl in the background, with what it says in FILE.  LATER is its process.
later() {
	_to=$1
	shift
	timeout -k 5 "$BOX_SEC" "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@" </dev/null >"$_to" 2>&1 &
	LATER=$!
}

# net SESSION FIELD: of boxctl net
net() { box net "$1" -o json | sed -n "1,/\"denials\"/s/^ *\"$2\": \"*\([^\",]*\)\"*,*\$/\1/p" | head -n 1; }

# session NAME [OPTION...]: one with a network, and what fetch needs in it
session() {
	_new=$1
	shift
	box create --name "$_new" --network on --memory 256 "$@" >/dev/null && box cp "$CA" "$_new:ca.pem" >/dev/null
}

# What is denied comes to the counters a moment later.
denied_at_least() { [ "$(net "$1" denied)" -ge "$2" ]; }
