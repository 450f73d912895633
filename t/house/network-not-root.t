#!/bin/sh
# An ordinary user's boxd has the same network: names, rules and refusals.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
# everything is the user's: programs, rules, state
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
BUILD=$D/bin
boxd_config "network.rules = $D/rules"
printf '%s\n' 'deny 151.101.0.223' '[lan]' 'allow 10.20.30.40' >"$D/rules"
chown -R 65534:65534 "$D"
user="setpriv --reuid 65534 --regid 65534 --clear-groups"
BOXD_WRAP="$BOXD_WRAP $user"
boxctl() { $user "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }
box() { timeout -k 5 "$BOX_SEC" $user "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }
boxd_start
if ! box run -- true 2>"$D/err"; then
	like "$(cat "$D/err")" 'namespace' "no sandbox for users here, and the barrier is named"
	done_testing
fi
cp "$CA" "$D/ca.pem" && chmod 644 "$D/ca.pem" && CA=$D/ca.pem
said=$(session s 2>&1)
if [ -n "$said" ]; then
	like "$said" 'network|nft|namespace' "no network for users here, and the barrier is named"
	done_testing
fi
like "$(fetch s https://good.example/)" 'host=good.example sni=good.example' "https, by name"
like "$(fetch s -6 http://six.example/)" '^served 2606:2800:220:1::34' "by IPv6"
is "$(inside s tcp 10.20.30.40/80 169.254.169.254/80 fd00:ec2::254/80 127.0.0.1/8080)" "10.20.30.40/80: ECONNREFUSED
169.254.169.254/80: ECONNREFUSED
fd00:ec2::254/80: ECONNREFUSED
127.0.0.1/8080: ECONNREFUSED" "nothing private"
is "$(inside s tcp 151.101.0.223/80 185.199.108.10/8080)" "151.101.0.223/80: ECONNRESET
185.199.108.10/8080: ECONNRESET" "nothing that a rule denies, and not the host"
is "$(inside s udp 93.184.216.34/443)" "93.184.216.34/443: EPERM" "no UDP"
session lan --network-set lan
like "$(inside lan tcp 10.20.30.40/80)" 'OK served' "a section opens what it opens"
denied() { [ "$(net s denied)" -ge 6 ]; }
eventually denied
ok "what was refused is counted"
: >"$D/rules"
box net --reload >/dev/null
like "$(inside s tcp 151.101.0.223/80)" 'OK served' "rules can be read again"
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
status=$(cat "/proc/$egress/status")
like "$status" '^Uid:[[:space:]]+65534' "box-egress is that user"
like "$status" '^CapEff:[[:space:]]+0+$' "without a capability"
like "$status" '^Seccomp:[[:space:]]+2$' "behind a filter"
vanish "$egress"
like "$(fetch s http://good.example/)" '^served' "and is started again when it dies"
is "$(cat "$HOST/visitors")" "" "nobody came to the host"
done_testing
