#!/bin/sh
# Whenever box-pool dies, no file is lost, and the same request made again ends well.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
boxd_start
pool_pid() { pgrep -P "$BOXD_PID" -x box-pool; }
content() { (cd "$1" 2>/dev/null && cat a/b c 2>/dev/null | tr '\n' ' '); }
loops() { losetup -a | grep -c "$D/"; }
boxctl pool create "$D/first" --size 16M >/dev/null
lost= again= crashed=0 i=0
# on a busy machine all that early may come too early
while [ $i -lt 12 ] || { [ $crashed -eq 0 ] && [ $i -lt 60 ]; }; do
	i=$((i + 1))
	v=$D/v$i
	mkdir -p "$v/a"
	echo one >"$v/a/b"
	echo two >"$v/c"
	boxctl pool create "$v" --size 16M --take-in >/dev/null 2>"$D/err" &
	job=$!
	perl -e 'select undef, undef, undef, $ARGV[0] * 0.004' "$i"
	kill -9 "$(pool_pid)" 2>/dev/null
	wait $job || crashed=$((crashed + 1))
	case "$(content "$v")|$(content "$D/.before-volume-v$i")" in *'one two '*) ;; *) lost="$lost $i" ;; esac
	boxctl pool create "$v" --size 16M --take-in >/dev/null 2>"$D/err" || again="$again $i: $(cat "$D/err")"
	mounted "$v" && [ "$(content "$v")" = "one two " ] || again="$again $i: not whole"
done
note "$crashed of $i were cut off"
ok "some were cut off" [ $crashed -gt 0 ]
is "$lost" "" "no file was ever out of sight"
is "$again" "" "and every volume came to be, with its files"

# ---- the next start ----
v=$D/late
mkdir "$v" && echo one >"$v/c"
boxctl pool create "$v" --size 16M --take-in >/dev/null 2>&1 &
job=$!
kill -9 "$(pool_pid)"
vanish "$BOXD_PID"
wait $job
boxd_start
is "$(find "$v" "$D/.before-volume-late" -name c 2>/dev/null | head -n 1 | xargs cat)" one "both die: the file is there"
is "$(ls -A "$D/state/pool" | grep -c '^\.')" 0 "nothing half-made is left in the pool"
boxctl pool create "$v" --size 16M --take-in >/dev/null
is "$(cat "$v/c")" one "and the volume comes to be"
boxctl pool remove --force "$D/first"
boxctl pool create "$D/first" --size 16M >/dev/null
drop_volumes
none_left() { [ "$(loops)" = 0 ]; }
eventually none_left # a mount namespace that somebody copied just then holds them for a moment
ok "no loop device is left"
done_testing
