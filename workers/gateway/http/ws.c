/*
 * A WebSocket on a flow.  wslay reads the frames, joins fragments, checks UTF-8 and answers pings and close
 * frames; it never sees the socket, and keeps no message: what a message says is collected here, as it arrives,
 * so that an announced length costs nothing.  (Not libwebsockets: it wants to own the sockets, decides about a
 * handshake at once, where we must first ask the supervisor, and opens files when it likes.)
 *
 *	OPEN -> CLOSING -> DONE
 *
 * CLOSING: we have said goodbye and wait for the client's.  DONE: both have, or the client broke the protocol; the
 * flow is finishing.  Frames are written here and not by wslay, which would copy every message twice.
 *
 * Who does not read is first not read either (the flow does that), and the handler sees it by ws_queued; then it
 * is dropped, because too much waits for it or because it takes nothing for too long.
 */
#include "http/ws_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <wslay/wslay.h>

#include "base/bounds.h"
#include "base/log.h"

enum {
	FIN = 0x80,
	HEAD_BYTES = 10,         /* of a frame to a client, at most */
	REASON_BYTES = 123,      /* of a close frame */
	SMALL_BYTES = 16 * 1024, /* a message up to this is sent in one piece with its head */
	KEEP_BYTES = 64 * 1024,  /* a buffer larger than this is not kept for the next message */
	BACKLOG_EACH = 64,       /* what a message costs in the backlog beside its bytes */
	FAIR_BYTES = MIB,        /* of a message may always be there */
	ALL_BYTES = 256 * MIB,   /* of all messages that have not ended or wait: then those above their share go */
};

static const char too_big[] = "a message must be smaller than 16 MiB";

static size_t all_bytes; /* of every WebSocket's text and backlog */

struct waiting {
	STAILQ_ENTRY(waiting) next;
	struct buf text;
};

/* wslay reports a frame only with the first byte of its payload.  Its header is checked before that. */
struct peek {
	unsigned char head[HEAD_BYTES];
	size_t        have;  /* of the head */
	uint64_t      skip;  /* of mask and payload, still to come */
	uint64_t      bytes; /* announced for the message so far */
};

struct ws {
	struct ev_loop          *loop;
	struct flow             *flow;   /* borrowed */
	struct caller           *caller; /* borrowed */
	wslay_event_context_ptr  wslay;  /* owned */
	const struct ws_handler *ops;    /* NULL: nobody is seated */
	void                    *handler;
	enum { OPEN, CLOSING, DONE } state;
	const char *feed; /* what wslay may read now */
	size_t      feed_len;
	uint8_t     frame;              /* opcode of the frame that is being read */
	uint8_t     kind;               /* opcode of the message that is being read */
	size_t      fragments;          /* of it, so far */
	uint64_t    bytes;              /* of it, announced so far */
	struct peek peek;               /* the same, of a frame none of whose bytes has come yet */
	struct buf  text;               /* of it, arrived so far */
	bool        held;               /* by the handler */
	STAILQ_HEAD(, waiting) backlog; /* owned; messages the handler did not want yet */
	size_t   backlog_bytes;
	bool     heartbeat;
	bool     pinged;  /* and nothing came since */
	ev_timer silence; /* runs while heartbeat and not closing */
	ev_timer goodbye; /* runs in CLOSING */
	ev_timer later;   /* runs when a released handler has a backlog */
};

/* ---- out --------------------------------------------------------------------------- */

static void
frame_head(struct buf *b, unsigned opcode, size_t n)
{
	unsigned char head[HEAD_BYTES] = { (unsigned char)(FIN | opcode) };
	int           wide = n < 126 ? 0 : n <= UINT16_MAX ? 2 : 8;

	head[1] = (unsigned char)(wide == 0 ? n : wide == 2 ? 126 : 127);
	for (int i = 0; i < wide; i++)
		head[2 + i] = (unsigned char)((uint64_t)n >> 8 * (wide - 1 - i));
	buf_append(b, head, 2 + (size_t)wide);
}

static void
send_frame(struct ws *w, unsigned opcode, const void *bytes, size_t n)
{
	struct buf b = { 0 };

	frame_head(&b, opcode, n);
	buf_append(&b, bytes, n);
	if (b.failed)
		flow_drop(w->flow, "no memory");
	flow_send(w->flow, &b);
	buf_clear(&b);
}

void
ws_send_text(struct ws *w, struct buf *text)
{
	struct buf head = { 0 };

	if (w->state == OPEN && text->len <= SMALL_BYTES)
		send_frame(w, WSLAY_TEXT_FRAME, text->data, text->len);
	else if (w->state == OPEN) {
		frame_head(&head, WSLAY_TEXT_FRAME, text->len);
		if (head.failed)
			flow_drop(w->flow, "no memory");
		flow_send(w->flow, &head);
		flow_send(w->flow, text);
	}
	buf_clear(text);
}

size_t
ws_queued(const struct ws *w)
{
	return flow_queued(w->flow);
}

/* What wslay has to say: pongs, and its answer to a close frame or to nonsense. */
static ssize_t
on_wslay_send(wslay_event_context_ptr ctx, const uint8_t *bytes, size_t n, int flags, void *arg)
{
	struct ws *w = arg;
	struct buf b = { 0 };

	buf_append(&b, bytes, n);
	if (b.failed) {
		wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	flow_send(w->flow, &b);
	return (ssize_t)n;
}

/* ---- endings ------------------------------------------------------------------------- */

static void
forget_backlog(struct ws *w)
{
	struct waiting *k;

	while ((k = STAILQ_FIRST(&w->backlog)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->backlog, next);
		assert(all_bytes >= k->text.len);
		all_bytes -= k->text.len;
		buf_clear(&k->text);
		free(k);
	}
	w->backlog_bytes = 0;
}

/* From here on no message of either side counts. */
static void
leave_open(struct ws *w)
{
	ev_timer_stop(w->loop, &w->silence);
	ev_timer_stop(w->loop, &w->later);
	wslay_event_shutdown_write(w->wslay); /* or it would collect pongs that nobody sends */
	forget_backlog(w);
	flow_release(w->flow, HOLD_GUEST);
}

/* As much of the reason as fits, in whole characters. */
static size_t
reason_len(const char *reason)
{
	size_t n = 0;

	for (size_t i = 0; i <= REASON_BYTES; i++) {
		if ((reason[i] & 0xc0) != 0x80)
			n = i;
		if (reason[i] == '\0')
			break;
	}
	return n;
}

static void
say_close(struct ws *w, unsigned code, const char *reason)
{
	char   body[2 + REASON_BYTES] = { (char)(code >> 8), (char)code };
	size_t n = reason_len(reason);

	memcpy(body + 2, reason, n);
	send_frame(w, WSLAY_CONNECTION_CLOSE, body, 2 + n);
}

static void
done(struct ws *w, const char *reason)
{
	if (w->state == DONE)
		return;
	leave_open(w);
	w->state = DONE;
	ev_timer_stop(w->loop, &w->goodbye);
	flow_part(w->flow, reason);
}

/* The client broke a rule: nothing behind it can be trusted. */
static void
ws_fail(struct ws *w, unsigned code, const char *reason)
{
	wslay_event_shutdown_read(w->wslay);
	if (w->state == OPEN)
		say_close(w, code, reason);
	done(w, reason);
}

void
ws_finish(struct ws *w, unsigned code, const char *reason)
{
	if (w->state != OPEN)
		return;
	log_debug("conn=%lu close code=%u reason=\"%s\"", ws_conn(w), code, log_escape(reason, strlen(reason)));
	leave_open(w);
	w->state = CLOSING;
	say_close(w, code, reason);
	ev_timer_start(w->loop, &w->goodbye);
}

static void
on_goodbye(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct ws *w = t->data;

	if (flow_queued(w->flow) > 0) { /* it has not seen it yet; the flow has its own patience */
		ev_timer_set(t, LIM_WS_CLOSE_SEC, 0.);
		ev_timer_start(loop, t);
		return;
	}
	flow_drop(w->flow, "client does not answer the close frame");
}

/* ---- in --------------------------------------------------------------------------------- */

static ssize_t
on_wslay_recv(wslay_event_context_ptr ctx, uint8_t *out, size_t n, int flags, void *arg)
{
	struct ws *w = arg;

	if (w->feed_len == 0) {
		wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	n = n < w->feed_len ? n : w->feed_len;
	memcpy(out, w->feed, n);
	w->feed += n;
	w->feed_len -= n;
	return (ssize_t)n;
}

static void
on_frame(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_start_arg *f, void *arg)
{
	struct ws *w = arg;

	w->frame = f->opcode;
	if (wslay_is_ctrl_frame(f->opcode))
		return;
	if (f->opcode != WSLAY_CONTINUATION_FRAME) {
		w->kind = f->opcode;
		w->fragments = 0;
		w->bytes = 0;
	}
	w->fragments++;
	w->bytes += f->payload_length; /* each less than 2^63, and the sum so far than 2^24 */
	if (w->bytes >= LIM_WS_MESSAGE)
		ws_fail(w, WS_TOO_BIG, too_big);
	else if (w->fragments > LIM_WS_FRAGMENTS)
		ws_fail(w, WS_TOO_BIG, "a message must have at most 4096 fragments");
}

static void
on_chunk(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_chunk_arg *c, void *arg)
{
	struct ws *w = arg;

	if (wslay_is_ctrl_frame(w->frame) || w->kind != WSLAY_TEXT_FRAME || w->state != OPEN)
		return;
	size_t before = w->text.len;
	buf_append(&w->text, c->data, c->data_length);
	all_bytes += w->text.len - before;
	if (all_bytes > ALL_BYTES && w->text.len > FAIR_BYTES)
		ws_fail(w, WS_TRY_LATER, "too many large messages at one time; try again later");
}

/* The text is taken. */
static void
put_off(struct ws *w)
{
	struct waiting *k = calloc(1, sizeof(*k));

	if (k == NULL) {
		ws_fail(w, WS_INTERNAL, "no memory");
		return;
	}
	k->text = w->text;
	w->text = (struct buf){ 0 };
	STAILQ_INSERT_TAIL(&w->backlog, k, next);
	w->backlog_bytes += k->text.len + BACKLOG_EACH;
	if (w->backlog_bytes > LIM_WS_BACKLOG)
		flow_hold(w->flow, HOLD_GUEST);
}

static void
on_text(struct ws *w)
{
	if (w->text.failed)
		ws_fail(w, WS_INTERNAL, "no memory");
	else if (w->held || !STAILQ_EMPTY(&w->backlog))
		put_off(w);
	else
		w->ops->on_text(w->handler, w->text.len > 0 ? w->text.data : "", w->text.len);
	all_bytes -= w->text.len; /* what was put off is in the backlog */
	if (w->text.cap > KEEP_BYTES)
		buf_clear(&w->text);
	w->text.len = 0;
}

static void
on_message(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
	struct ws *w = arg;

	if (w->state != OPEN || w->ops == NULL)
		return;
	wslay_event_send(ctx); /* a pong must not wait for what the handler says now */
	if (m->opcode == WSLAY_TEXT_FRAME)
		on_text(w);
	else if (m->opcode == WSLAY_BINARY_FRAME)
		w->ops->on_binary(w->handler);
}

/* ---- heads --------------------------------------------------------------------------------- */

/* A whole head: what it announces.  Each is less than 2^63, and the sum so far than 2^24. */
static void
peek_head(struct peek *p)
{
	unsigned opcode = p->head[0] & 0x0f;
	uint64_t n = p->have == 2 ? p->head[1] & 0x7f : 0;

	for (size_t i = 2; i < p->have; i++)
		n = n << 8 | p->head[i];
	if (!wslay_is_ctrl_frame(opcode))
		p->bytes = (opcode == WSLAY_CONTINUATION_FRAME ? p->bytes : 0) + n;
	p->skip = n + ((p->head[1] & 0x80) != 0 ? 4 : 0);
	p->have = 0;
}

/* These bytes have been read by wslay, which found nothing wrong with them. */
static void
peek(struct peek *p, const char *bytes, size_t n)
{
	while (n > 0 && p->bytes < LIM_WS_MESSAGE) {
		if (p->skip > 0) {
			size_t part = p->skip < n ? (size_t)p->skip : n;

			p->skip -= part;
			bytes += part;
			n -= part;
			continue;
		}
		p->head[p->have++] = (unsigned char)*bytes++;
		n--;
		unsigned wide = p->have < 2 ? 127 : p->head[1] & 0x7f;
		if (p->have == (wide == 127 ? 10 : wide == 126 ? 4 : 2))
			peek_head(p);
	}
}

/* wslay reads no more: the client has said goodbye, or nonsense. */
static void
read_last(struct ws *w, bool broken)
{
	bool closed = wslay_event_get_close_received(w->wslay);

	if (w->state == OPEN && broken)
		say_close(w, WS_PROTOCOL, "not a WebSocket frame");
	else if (w->state == OPEN)
		wslay_event_send(w->wslay); /* it knows the code */
	done(w, closed ? "client said goodbye" : "client broke the WebSocket protocol");
}

static void
listen_anew(struct ws *w)
{
	w->pinged = false;
	w->silence.repeat = LIM_WS_SILENCE_SEC;
	if (w->heartbeat && w->state == OPEN)
		ev_timer_again(w->loop, &w->silence);
}

size_t
ws_bytes(struct ws *w, const char *bytes, size_t n)
{
	listen_anew(w);
	w->feed = bytes;
	w->feed_len = n;
	int r = wslay_event_recv(w->wslay);
	peek(&w->peek, bytes, n);
	if (r != 0 || !wslay_event_get_read_enabled(w->wslay))
		read_last(w, r != 0);
	else if (w->peek.bytes >= LIM_WS_MESSAGE)
		ws_fail(w, WS_TOO_BIG, too_big);
	else if (w->state == OPEN && wslay_event_send(w->wslay) != 0)
		flow_drop(w->flow, "no memory");
	return n;
}

static void
on_silence(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct ws *w = t->data;

	if (!flow_is_read(w->flow) || flow_queued(w->flow) > 0) { /* it cannot be heard, or has not seen the ping */
		listen_anew(w);
		return;
	}
	if (w->pinged) {
		ev_timer_stop(loop, t);
		flow_drop(w->flow, "no pong");
		return;
	}
	w->pinged = true;
	send_frame(w, WSLAY_PING, "", 0);
	t->repeat = LIM_WS_PONG_SEC;
	ev_timer_again(loop, t);
}

/* ---- the handler ------------------------------------------------------------------------------ */

void
ws_seat(struct ws *w, const struct ws_handler *ops, void *handler)
{
	w->ops = ops;
	w->handler = handler;
}

void
ws_hold(struct ws *w)
{
	w->held = true;
	ev_timer_stop(w->loop, &w->later);
}

void
ws_release(struct ws *w)
{
	w->held = false;
	if (!STAILQ_EMPTY(&w->backlog)) /* not from inside this call: the handler may be in the middle of something */
		ev_timer_start(w->loop, &w->later);
}

static void
on_later(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct ws      *w = t->data;
	struct waiting *k;

	while (!w->held && (k = STAILQ_FIRST(&w->backlog)) != NULL) {
		STAILQ_REMOVE_HEAD(&w->backlog, next);
		assert(w->backlog_bytes >= k->text.len + BACKLOG_EACH && all_bytes >= k->text.len);
		w->backlog_bytes -= k->text.len + BACKLOG_EACH;
		all_bytes -= k->text.len;
		w->ops->on_text(w->handler, k->text.len > 0 ? k->text.data : "", k->text.len);
		buf_clear(&k->text);
		free(k);
	}
	if (w->backlog_bytes <= LIM_WS_BACKLOG / 2)
		flow_release(w->flow, HOLD_GUEST);
}

int
ws_ask(struct ws *w, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	return caller_send(w->caller, t, id, body, e);
}

uint64_t
ws_conn(const struct ws *w)
{
	return caller_id(w->caller);
}

void
ws_drained(struct ws *w)
{
	if (w->ops != NULL && w->state == OPEN)
		w->ops->on_drained(w->handler);
}

void
ws_deliver(struct ws *w, struct msg *m)
{
	if (w->ops != NULL)
		w->ops->on_msg(w->handler, m);
}

/* ---- open and close ---------------------------------------------------------------------------- */

static const struct wslay_event_callbacks callbacks = {
	.recv_callback = on_wslay_recv,
	.send_callback = on_wslay_send,
	.on_frame_recv_start_callback = on_frame,
	.on_frame_recv_chunk_callback = on_chunk,
	.on_msg_recv_callback = on_message,
};

struct ws *
ws_open(struct ev_loop *loop, struct flow *s, struct caller *c, bool heartbeat, struct err *e)
{
	struct ws *w = calloc(1, sizeof(*w));

	if (w == NULL || wslay_event_context_server_init(&w->wslay, &callbacks, w) != 0) {
		free(w);
		err_set(e, E_SYS, "no memory for a WebSocket");
		return NULL;
	}
	wslay_event_config_set_no_buffering(w->wslay, 1);
	wslay_event_config_set_max_recv_msg_length(w->wslay, INT64_MAX); /* on_frame checks, and says why */
	w->loop = loop;
	w->flow = s;
	w->caller = c;
	w->heartbeat = heartbeat;
	STAILQ_INIT(&w->backlog);
	ev_timer_init(&w->silence, on_silence, 0., LIM_WS_SILENCE_SEC);
	ev_timer_init(&w->goodbye, on_goodbye, LIM_WS_CLOSE_SEC, 0.);
	ev_timer_init(&w->later, on_later, 0., 0.);
	w->silence.data = w->goodbye.data = w->later.data = w;
	listen_anew(w);
	return w;
}

void
ws_close(struct ws **wp)
{
	struct ws *w = *wp;

	if (w == NULL)
		return;
	*wp = NULL;
	if (w->ops != NULL)
		w->ops->on_gone(w->handler);
	ev_timer_stop(w->loop, &w->silence);
	ev_timer_stop(w->loop, &w->goodbye);
	ev_timer_stop(w->loop, &w->later);
	forget_backlog(w);
	all_bytes -= w->text.len;
	buf_clear(&w->text);
	wslay_event_context_free(w->wslay);
	free(w);
}
