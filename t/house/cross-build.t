#!/bin/sh
# boxd builds for arm64 without a warning, and its filter of system calls decides there as it should.
. t/lib/sh/boxd.sh
CROSS=aarch64-linux-gnu
command -v "$CROSS-gcc" >/dev/null || plan skip_all "$CROSS-gcc is not installed: make deps-cross CROSS=$CROSS"
unset MAKEFLAGS MFLAGS MAKEOVERRIDES SAN T PROVE_FLAGS
out=$BUILD/cross
opt='-O2 -D_FORTIFY_SOURCE=2' # without -g, which only takes time
cross() { make --no-print-directory "CROSS=$CROSS" "O=$out" OPT="$opt" OPT_STATIC="$opt" "$@" >"$D/log" 2>&1; }

cross all
built=$?
why=$(sed -n 's/^boxd cannot be built here: //p' "$D/log")
[ -z "$why" ] || plan skip_all "$why"
ok "it builds" test "$built" = 0 || tail -20 "$D/log" >&2

for p in boxd boxctl box-gateway box-session box-store box-pool box-artifact box-egress box-init box-files box-attack; do
	like "$(readelf -h "$out/$p")" 'Machine: *AArch64' "$p is a program for that machine"
done
for p in box-init box-files box-attack; do
	unlike "$(readelf -l "$out/$p" 2>&1)" 'INTERP|Error' "$p needs no library"
done

if command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null; then
	cross "$out/t/unit/filter.t"
	sh t/lib/sh/emulated.sh "$CROSS" "$(ls -d sysroot-$CROSS 2>/dev/null || echo /)" "$out/t/unit/filter.t" >"$D/log" 2>&1
	is $? 0 "the test of the filter passes under qemu"
	like "$(cat "$D/log")" '^1\.\.[1-9]' "and was not skipped"
else
	skip 2 "qemu-aarch64 is not installed"
fi
done_testing
