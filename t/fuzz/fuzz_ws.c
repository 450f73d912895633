/*
 * A WebSocket on any bytes, in any pieces, with a guest that now and then wants none and at last says goodbye.  The
 * flow and the supervisor are played here.  What the guest gets is valid, in order and the same however the bytes
 * are cut; what goes out are whole frames, and none behind a close frame.  The first byte chooses the pieces, the
 * second the guest.
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "workers/gateway/http/ws_impl.h"

static struct ev_loop *loop;

static struct played {
	struct ws *ws;
	struct buf out;
	bool       over;  /* parted or dropped */
	uint64_t   texts; /* that came */
	uint64_t   sum;   /* over what they said */
	unsigned   hold_at, finish_at;
} now;

/* ---- the flow and the link, as ws.c sees them ------------------------------------------- */

void
flow_send(struct flow *f, struct buf *b)
{
	if (!now.over)
		buf_append(&now.out, b->data, b->len);
	buf_clear(b);
}

size_t
flow_queued(const struct flow *f)
{
	return 0;
}

void
flow_hold(struct flow *f, enum flow_hold why)
{
	(void)f, (void)why;
}

void
flow_release(struct flow *f, enum flow_hold why)
{
	(void)f, (void)why;
}

bool
flow_is_read(const struct flow *f)
{
	return true;
}

void
flow_part(struct flow *f, const char *reason)
{
	(void)f, (void)reason;
	now.over = true;
}

void
flow_drop(struct flow *f, const char *reason)
{
	(void)f, (void)reason;
	now.over = true;
}

int
caller_send(struct caller *c, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	(void)c, (void)t, (void)id, (void)body, (void)e;
	return 0;
}

uint64_t
caller_id(const struct caller *c)
{
	return 1;
}

/* ---- the guest ----------------------------------------------------------------------------- */

static void
on_text(void *guest, const char *text, size_t n)
{
	struct buf same = { 0 };

	must(guest == &now && !now.over && n < LIM_WS_MESSAGE);
	must(utf8_append(&same, text, n) && same.len == n);
	now.texts++;
	for (size_t i = 0; i < n; i++)
		now.sum = now.sum * 31 + (unsigned char)text[i];
	now.sum = now.sum * 31 + 7;
	if (now.hold_at != 0 && now.texts % now.hold_at == 0)
		ws_hold(now.ws);
	if (now.finish_at != 0 && now.texts == now.finish_at)
		ws_finish(now.ws, WS_NORMAL, "enough");
	else
		ws_send_text(now.ws, &same);
	buf_clear(&same);
}

static void
on_binary(void *guest)
{
	must(guest == &now && !now.over);
}

static void
on_msg(void *guest, struct msg *m)
{
	(void)guest, (void)m;
}

static void
nothing(void *guest)
{
}

static const struct ws_handler guest = { on_text, on_binary, on_msg, nothing, nothing };

/* What went out is frames of a server: whole, unmasked, unfragmented. */
static void
check_out(void)
{
	const unsigned char *p = (unsigned char *)now.out.data;
	size_t               n = now.out.len;
	bool                 closed = false;

	while (n > 0) {
		must(!closed && n >= 2 && (p[0] & 0xf0) == 0x80 && p[1] < 0x80);
		size_t wide = p[1] == 126 ? 2 : p[1] == 127 ? 8 : 0, len = wide == 0 ? p[1] : 0;
		must(n >= 2 + wide);
		for (size_t i = 0; i < wide; i++)
			len = len << 8 | p[2 + i];
		must(n >= 2 + wide + len);
		closed = (p[0] & 15) == 8;
		p += 2 + wide + len;
		n -= 2 + wide + len;
	}
}

/* Texts and their sum. */
static struct played
play(const uint8_t *p, size_t n, size_t step, uint8_t how)
{
	struct err e;

	now = (struct played){ .hold_at = how % 4, .finish_at = how / 4 % 8 };
	now.ws = ws_open(loop, NULL, NULL, (how & 0x80) != 0, &e);
	must(now.ws != NULL);
	ws_seat(now.ws, &guest, &now);
	for (size_t at = 0; at < n && !now.over; at += step) {
		size_t len = n - at < step ? n - at : step;
		char  *copy = malloc(len);

		memcpy(copy, p + at, len);
		must(ws_bytes(now.ws, copy, len) == len);
		free(copy);
		ws_release(now.ws);
		ev_run(loop, EVRUN_NOWAIT);
	}
	check_out();
	ws_close(&now.ws);
	buf_clear(&now.out);
	return now;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (loop == NULL)
		loop = ev_loop_new(EVFLAG_AUTO);
	if (n < 3)
		return 0;
	struct played whole = play(p + 2, n - 2, n, p[1] & ~3U), pieces = play(p + 2, n - 2, 1 + p[0] % 32, p[1] & ~3U);
	must(whole.texts == pieces.texts && whole.sum == pieces.sum);
	play(p + 2, n - 2, 1 + p[0] % 32, p[1]);
	return 0;
}
