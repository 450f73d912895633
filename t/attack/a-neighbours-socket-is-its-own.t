#!/bin/sh
# A session without a network reaches no socket of another one.  If a client gives both the same writable directory, descriptors
# can be passed there, which no kernel of today can refuse; then a connection stays the giver's: its rules, its numbers, its end.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules" "mounts.allow = $D/shared"
echo 'deny 151.101.0.223' >"$D/rules"
mkdir -m 777 "$D/shared"
boxd_start
BOX_SEC=150
session giver --host-path "$D/shared"
session private
box create --name taker --host-path "$D/shared" >/dev/null
box create --name reader --host-path "$D/shared:ro" >/dev/null
box create --name apart >/dev/null
later "$D/giver" exec giver -t 140 -- "$PYTHON" -c "$(cat t/lib/py/attack_pass.py)" give /workspace/pass.sock
giver=$LATER
later "$D/private" exec private -t 140 -- "$PYTHON" -c "$(cat t/lib/py/attack_pass.py)" give /workspace/pass.sock
private=$LATER
eventually grep -q ready "$D/giver"
eventually grep -q ready "$D/private"
run() { _s=$1 && shift && box exec "$_s" -t 100 -i -- "$PYTHON" - "$@" <t/lib/py/attack_pass.py 2>&1; }

# ---- nothing shared: nothing reached ----
init=$(box inspect private -o json | field init_pid)
[ -S "$D/shared/pass.sock" ] && [ -S "/proc/$init/root/workspace/pass.sock" ]
ok "both sockets are there"
is "$(run apart reach /workspace/pass.sock "$D/shared/pass.sock" "/proc/$init/root/workspace/pass.sock" @pass | grep reached)" "" \
	"who shares no directory reaches none of them, by path, by /proc or by an abstract name"
is "$(run taker reach @pass | grep reached)" "" "an abstract name never leads to a neighbour"

# ---- a shared directory ----
later "$D/taker" exec taker -t 140 -- "$PYTHON" -c "$(cat t/lib/py/attack_pass.py)" take /workspace/pass.sock 10.20.30.40 80
taker=$LATER
: >>"$D/taker"
eventually grep -qE '^own:|Error' "$D/taker"
said() { sed -n "s/^$1: //p" "$D/taker"; }
like "$(said own)" '^(OSError|ConnectionRefusedError)$' "a socket of its own has no network"
if [ -n "$(said passed)" ]; then
	like "$(run reader reach /workspace/pass.sock)" reached "a read-only mount does not keep from connecting"
	is "$(said passed)" echo "a connection can be handed over"
	is "$(said allowed)" reached "and a socket: it reaches what its giver may reach"
	like "$(said denied)" 'Connection(Refused|Reset)Error' "and not what the giver may not"
	is "$(came tcp 10.20.30.40)" 0 "no packet came there"
	is "$(net taker mode)" off "the taker still has no network"
	[ "$(net giver total)" -ge 2 ] && [ "$(net giver denied)" -ge 1 ]
	ok "all of it is counted as the giver's" || diag "$(net giver total) $(net giver denied)"
	was=$(came tcp 93.184.216.34)
	box rm giver >/dev/null
	eventually grep -q '^late:' "$D/taker"
	like "$(said then)" '^the end' "when the giver is deleted its connections end, whoever holds them"
	like "$(said late)" '(Connection(Refused|Reset)|Timeout|OS)Error' "and its sockets lead nowhere"
	is "$(came tcp 93.184.216.34)" "$was" "nothing more left for it"
else
	like "$(tail -n 1 "$D/taker")" 'PermissionError' "this kernel refuses the neighbour's socket"
fi
for p in $giver $private $taker; do
	kill "$p" 2>/dev/null
	wait "$p" 2>/dev/null
done
done_testing
