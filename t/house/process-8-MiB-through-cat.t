#!/bin/sh
# 8 MiB through cat arrive whole, and nobody on the way holds more than a window of it.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --memory 256 >/dev/null
number() { boxctl inspect s -o json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
head -c 8388608 /dev/urandom >"$D/eight"

sanitized() { grep -qa __asan_init "$BUILD/boxctl"; }

# the most each of them ever had, in kB: init, worker, gateway, supervisor
gateway=$(pgrep -P "$BOXD_PID" -x box-gateway)
peaks() { for p in "$(number init_pid)" "$(number worker_pid)" "$gateway" "$BOXD_PID"; do awk '/VmHWM/ { print $2 }' "/proc/$p/status"; done | tr '\n' ' '; }
grown() { # before after: the largest growth of one
	set -- $1 $2
	_most=0
	for _i in 1 2 3 4; do
		eval "_d=\$(( \$$((_i + 4)) - \$$_i ))"
		[ "$_d" -le "$_most" ] || _most=$_d
	done
	echo "$_most"
}

boxctl process start s warm -- cat >/dev/null
head -c 2097152 "$D/eight" | timeout -k 5 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" process write s warm --eof
boxctl process start s cat -- cat >/dev/null
before=$(peaks)
timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s cat >"$D/out" & reader=$!
attached() { [ "$(field cat attached)" = true ]; }
eventually attached
timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" process write s cat --eof <"$D/eight"
is $? 0 "8 MiB are written"
wait $reader
is $? 0 "the reader sees its end"
cmp -s "$D/eight" "$D/out"
ok "every byte of them arrived"
is "$(field cat stdout_dropped)" 0 "nothing was dropped"

# a reader that sleeps meanwhile: the process waits
boxctl process start s slow -- cat >/dev/null
mkfifo "$D/pipe"
timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s slow >"$D/pipe" & reader=$!
exec 9<"$D/pipe"
attached() { [ "$(field slow attached)" = true ]; }
eventually attached
timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" process write s slow --eof <"$D/eight" & writer=$!
n=-1
still() { was=$n; sleep 0.3; n=$(field slow stdout_bytes); [ "$n" -gt 100000 ] && [ "$n" = "$was" ]; }
eventually still
[ "$n" -lt 8388608 ]
ok "a reader that sleeps lets cat wait ($n bytes in)"
cmp -s - "$D/eight" <&9
ok "and has every byte when it wakes"
exec 9<&-
wait $reader $writer
after=$(peaks)
most=$(grown "$before" "$after")
if sanitized; then
	skip 1 "a sanitizer does not give freed memory back"
else
	[ "$most" -lt 6144 ]
	ok "nobody on the way held 8 MiB (at most $most kB more; $before-> $after)"
fi
done_testing
