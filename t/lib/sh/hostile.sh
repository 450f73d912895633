# LangBot's door of a private boxd, and a hostile client for it (Hostile.pm):
#
#	http_start 'max_unauthenticated = 8'
#	is "$(hostile 'print raw("\x16\x03\x01")')" 400 "TLS where there is none"
. t/lib/sh/boxd.sh

http_start() {
	mkdir -p "$D/shared"
	boxd_config 'listen = 127.0.0.1:0' "langbot_dir = $D/shared" "$@"
	boxd_start
	http_find
}

# After another boxd_start.
http_find() {
	AT=$(box status -o json | field http_address)
	TOKEN=$(cat "$D/state/keys/langbot.token")
	GATEWAY=$(pgrep -P "$BOXD_PID" -x box-gateway)
}

hostile() { # perl [argument...]
	_code=$1
	shift
	timeout -k 5 120 perl -It/lib/sh -MHostile -e "$_code" "$AT" "$TOKEN" "$@" 2>&1
}

same_gateway() { is "$(pgrep -P "$BOXD_PID" -x box-gateway)" "$GATEWAY" "the gateway has not died of it"; }
