#!/bin/sh
# Network on works on a machine without the names of /etc/protocols (package netbase), and doctor tries the same rules.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
# in a mount namespace of its own, where the file is empty: the libraries of a sandbox's network find no name there
: >"$D/empty"
cat >"$D/nameless" <<'END'
#!/bin/sh
mount --bind "${0%/*}/empty" /etc/protocols && exec "$@"
END
chmod +x "$D/nameless"
[ -e /etc/protocols ] || plan skip_all "there is no /etc/protocols to hide: the other network tests show the same"
nameless="unshare -m $D/nameless"
$nameless true 2>"$D/err" || plan skip_all "nothing can be hidden here: $(cat "$D/err")"
is "$($nameless getent protocols tcp)" "" "no protocol has a name"
BOXD_WRAP="$BOXD_WRAP $nameless"
boxd_start
session s || diag "$(tail -n 3 "$D/log")"
like "$(fetch s http://good.example/)" '^served' "a session reaches the internet"
is "$(inside s tcp 10.20.30.40/80)" "10.20.30.40/80: ECONNREFUSED" "and not what is refused"
is "$(inside s udp 93.184.216.34/443)" "93.184.216.34/443: EPERM" "nor anything by UDP"

# ---- doctor ----
row() { sed -n '/^nftables /p' "$D/doctor"; }
$nameless "$BUILD/boxctl" doctor >"$D/doctor"
like "$(row)" '^nftables +works ' "doctor tried the rules there too"

# a library that is none: the reason is the one that a session gives
mkdir "$D/lib"
echo 'int unused;' | ${CC:-cc} -shared -o "$D/lib/libnftables.so.1" -x c - || plan skip_all "no compiler here"
LD_LIBRARY_PATH=$D/lib "$BUILD/boxctl" doctor >"$D/doctor"
like "$(row)" '^nftables +missing .*libnftables.so.1 has no nft_ctx_new' "doctor names what is missing"
done_testing
