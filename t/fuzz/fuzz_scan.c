/*
 * The scanner on any bytes, in any pieces: pieces and whole agree, and what is
 * whole msgpack-c takes at the same length.  The first byte chooses the pieces.
 */
#include "fuzz.h"
#include "wire/mp.h"

/* A copy that ends where the bytes end, so that a look behind them is seen. */
static enum mp_verdict
scan_copy(struct mp_scan *s, const uint8_t *p, size_t n, size_t most)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);

	if (n > 0)
		memcpy(copy, p, n);
	enum mp_verdict v = mp_scan(s, copy, n, most);
	free(copy);
	return v;
}

static void
same_for_msgpack(const uint8_t *p, size_t n, size_t len)
{
	msgpack_unpacked u;
	size_t           off = 0;

	msgpack_unpacked_init(&u);
	must(msgpack_unpack_next(&u, (const char *)p, n, &off) == MSGPACK_UNPACK_SUCCESS);
	must(off == len);
	msgpack_unpacked_destroy(&u);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct mp_scan  whole = { 0 }, pieces = { 0 };
	enum mp_verdict v = MP_MORE;

	if (n < 2)
		return 0;
	size_t step = 1 + p[0] % 16, most = p[0] & 0x80 ? n - 1 : 1 << 20;
	p++, n--;
	enum mp_verdict at_once = scan_copy(&whole, p, n, most);
	for (size_t i = 0; v == MP_MORE; i = i + step < n ? i + step : n) {
		v = scan_copy(&pieces, p, i, most);
		if (i == n)
			break;
	}
	must(v == at_once && (v != MP_WHOLE || pieces.pos == whole.pos));
	must(whole.pos <= n && whole.depth <= LIM_DEPTH);
	if (at_once == MP_BAD || at_once == MP_HUGE)
		must(scan_copy(&whole, p, n, most) == at_once);
	if (at_once == MP_WHOLE)
		same_for_msgpack(p, n, whole.pos);
	return 0;
}
