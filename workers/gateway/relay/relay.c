/*
 * A relay is one process_attach and a row of process_write.
 *
 * Out: output comes in pieces of the pipe, goes through the framer, and leaves as messages.  It is acknowledged when it
 * has left as whole messages and the client's socket has taken them, so whoever attaches next, after any cut, begins
 * with the first message that this client's socket did not take.  What a client's kernel had and the client never read
 * cannot be known here.  Only a little is handed to the ws ahead of that, so a cut makes little come twice; the rest
 * waits here.  The window bounds what is unacknowledged, and by that all that waits: a client that does not read makes
 * the process wait.
 *
 * In: messages and their newlines wait here, and one write is on its way; the next takes all that came meanwhile.  So
 * their order is theirs, and many small messages cost few writes.
 */
#include "relay/relay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "relay/framer.h"
#include "relay/sent_marks.h"

#define WRITE_BYTES (256 * KIB) /* of one write: others may write too, and LIM_WRITE is for all of them */
#define INPUT_HIGH (256 * KIB)  /* from here on the client is not read */
#define AHEAD (32 * KIB)       /* queued in the ws: no more is handed to it; under its low water, so that it calls us */
#define RAW_WINDOW (512 * KIB) /* without lines, where nothing must be whole */
#define REASON_BYTES 123       /* of a close frame */
#define ATTACH 1UL             /* request id of the attachment; those of writes are behind it */

/* Bytes that are taken from the front. */
struct queue {
	struct buf bytes; /* owned */
	size_t     at;    /* the first that is left */
};

struct relay {
	struct ws *ws;
	char       session[LIM_NAME + 1], process[LIM_NAME + 1];
	bool       finished; /* said goodbye: nothing goes either way any more */

	/* out */
	struct queue      output; /* not yet in the framer */
	struct framer     framer;
	struct sent_marks taken;
	uint64_t          acked;
	bool              attached;      /* the attachment is not answered yet */
	bool              line_too_long; /* a line is too long: ends when all before it is taken */

	/* in */
	struct queue input;
	uint64_t     next_id;
	uint64_t     write;        /* on its way; 0: none */
	size_t       writing;      /* bytes of it */
	bool         held;         /* the client is not read */
	bool         stdin_closed; /* the process takes nothing any more; its last output is still to come */
};

static size_t
queue_left(const struct queue *q)
{
	assert(q->at <= q->bytes.len);
	return q->bytes.len - q->at;
}

/* What is taken goes from the front, but not for every piece; and what was long once is not held for ever. */
static void
queue_take(struct queue *q, size_t n)
{
	assert(n <= queue_left(q));
	q->at += n;
	if (q->at < queue_left(q))
		return;
	buf_drop(&q->bytes, q->at);
	q->at = 0;
	if (q->bytes.len == 0 && q->bytes.cap > LIM_RELAY_CHUNK)
		buf_clear(&q->bytes);
}

static void
queue_clear(struct queue *q)
{
	buf_clear(&q->bytes);
	q->at = 0;
}

/* ---- the end ---- */

static void
relay_finish(struct relay *r, unsigned code, const char *reason)
{
	char   text[REASON_BYTES + 1];
	size_t n = strlen(reason);

	if (r->finished)
		return;
	if (n > REASON_BYTES)
		n = REASON_BYTES - utf8_unfinished(reason, REASON_BYTES);
	memcpy(text, reason, n);
	text[n] = '\0';
	r->finished = true;
	log_debug("conn=%lu relay ended code=%u reason=\"%s\"", ws_conn(r->ws), code, log_escape(text, n));
	ws_finish(r->ws, code, text);
}

/* 1000 where upstream has it: process, session or generation are gone, or another is in our place. */
static unsigned
close_code(enum err_code code)
{
	switch (code) {
	case E_STATE:
	case E_NOTFOUND:
	case E_NOPROCESS:
	case E_NOTRUNNING:
		return WS_NORMAL;
	case E_SHUTDOWN:
		return WS_GOING_AWAY;
	case E_DENIED:
	case E_UNAUTHORIZED:
	case E_ADMISSION:
		return WS_POLICY;
	default:
		return WS_INTERNAL;
	}
}

static void
finish_with(struct relay *r, const struct err *why)
{
	relay_finish(r, close_code(why->code), why->code == E_SHUTDOWN ? "Box runtime shutting down" : why->text);
}

/* ---- out ---- */

static void
acknowledge(struct relay *r)
{
	struct msg_output_ack a = { .call = ATTACH, .stream = STREAM_STDOUT };
	struct err            e;

	sent_marks_update(&r->taken, ws_queued(r->ws));
	a.offset = r->taken.n > 0 ? r->taken.to
				  : framer_whole(&r->framer); /* after messages also bytes that are in no message */
	if (!r->attached || a.offset <= r->acked)
		return;
	r->acked = a.offset;
	if (ws_ask(r->ws, MSG_OUTPUT_ACK, 0, &a, &e) == -1)
		finish_with(r, &e);
}

/*
 * The line counts as read, as far as it came: else it would be in the way of everybody who comes after us.  The next
 * relay begins in the middle of it, sees that, and goes on with the line behind it.
 */
static void
give_up_if_taken(struct relay *r)
{
	char text[REASON_BYTES + 1];

	if (!r->line_too_long || r->finished || (r->taken.n > 0 && r->attached))
		return;
	snprintf(text, sizeof(text), "a line of the process is longer than %zu bytes (relay_line_bytes); it is skipped",
	    r->framer.most);
	log_warn("conn=%lu session=%s process=%s %s", ws_conn(r->ws), r->session,
	    log_escape(r->process, strlen(r->process)), text);
	relay_finish(r, WS_TOO_BIG, text);
}

static void
send_message(struct relay *r, struct buf *text)
{
	size_t n = text->len;

	ws_send_text(r->ws, text);
	sent_marks_add(&r->taken, n, framer_whole(&r->framer));
}

static void
on_framed(struct relay *r, enum framed what, struct buf *text)
{
	switch (what) {
	case FRAMED_NONE:
		break;
	case FRAMED_MESSAGE:
		send_message(r, text);
		break;
	case FRAMED_TOO_LONG:
		r->line_too_long = true;
		break;
	case FRAMED_NO_MEMORY:
		relay_finish(r, WS_INTERNAL, "no memory for the process's output");
		break;
	}
}

/* What waits becomes messages, until so much is queued in the ws. */
static void
pass_on(struct relay *r, size_t ahead)
{
	uint64_t skipped = r->framer.skipped;

	while (queue_left(&r->output) > 0 && ws_queued(r->ws) < ahead && !r->line_too_long && !r->finished) {
		const char *bytes = r->output.bytes.data + r->output.at;
		size_t      before = queue_left(&r->output), n = before;
		struct buf  text;

		on_framed(r, framer_next(&r->framer, &bytes, &n, &text), &text);
		queue_take(&r->output, before - n);
	}
	if (r->framer.skipped > skipped && !r->line_too_long)
		log_info("conn=%lu session=%s process=%s skipped=%lu bytes of a line whose beginning is gone",
		    ws_conn(r->ws), r->session, log_escape(r->process, strlen(r->process)),
		    r->framer.skipped - skipped);
}

static void
go_on(struct relay *r)
{
	acknowledge(r);
	if (!r->finished)
		pass_on(r, AHEAD);
	if (!r->finished)
		acknowledge(r);
	give_up_if_taken(r);
}

/* Some of it may be known: another worker begins where its supervisor says. */
static int
take_in(struct relay *r, const struct msg_output *o, struct err *e)
{
	uint64_t    have = r->framer.at + queue_left(&r->output);
	struct blob data = o->data;
	size_t      before = r->output.bytes.len;

	if (!r->framer.begun)
		have = o->offset;
	if (o->offset > have)
		return err_set(e, E_CRASH, "output of the process is missing");
	if (!r->framer.begun)
		framer_begin(&r->framer, o->offset);
	if (blob_read(&data, &r->output.bytes, e) == -1)
		return -1;
	size_t known = have - o->offset < data.len ? (size_t)(have - o->offset) : data.len;
	assert(known <= data.len && data.len <= r->output.bytes.len - before);
	char *fresh = r->output.bytes.data + before;
	memmove(fresh, fresh + known, data.len - known);
	r->output.bytes.len -= known;
	return 0;
}

static void
on_output(struct relay *r, const struct msg_output *o)
{
	struct err e;

	if (o->call != ATTACH || o->stream != STREAM_STDOUT || r->line_too_long)
		return;
	if (take_in(r, o, &e) == -1)
		finish_with(r, &e);
	else
		go_on(r);
}

/* All output came before the answer. */
static void
on_process_end(struct relay *r, const struct msg_process_info *p)
{
	struct buf text;
	char       reason[REASON_BYTES + 1];

	pass_on(r, SIZE_MAX);
	if (!r->line_too_long && !r->finished)
		on_framed(r, framer_end(&r->framer, &text), &text);
	give_up_if_taken(r);
	if (p->exit_code >= 0)
		snprintf(reason, sizeof(reason), "the process has ended: exit code %ld", p->exit_code);
	else if (p->signal > 0)
		snprintf(reason, sizeof(reason), "the process has ended: signal %lu", p->signal);
	else
		snprintf(reason, sizeof(reason), "the process has ended");
	relay_finish(r, WS_NORMAL, reason);
}

static void
on_attach_answer(struct relay *r, struct msg *m)
{
	struct err e;

	r->attached = false;
	if (m->failed)
		finish_with(r, &m->error);
	else if (msg_expect(m, MSG_PROCESS_INFO, &e) == -1)
		finish_with(r, &e);
	else
		on_process_end(r, m->body);
}

/* ---- in ---- */

static void
hold(struct relay *r, bool held)
{
	if (r->held == held)
		return;
	r->held = held;
	if (held)
		ws_hold(r->ws);
	else
		ws_release(r->ws);
}

static void
write_next(struct relay *r)
{
	struct msg_process_write w = { .session = r->session, .process = r->process };
	size_t                   n = queue_left(&r->input);
	struct err               e;

	if (r->write != 0 || n == 0)
		return;
	r->writing = n < WRITE_BYTES ? n : WRITE_BYTES;
	w.data = blob_of(r->input.bytes.data + r->input.at, r->writing);
	r->write = r->next_id++;
	if (ws_ask(r->ws, MSG_PROCESS_WRITE, r->write, &w, &e) == -1)
		finish_with(r, &e);
}

/*
 * If the process has ended, its last output and then the attach reply are still coming: wait for them.  Any other
 * failure means that input was lost, so close and say why.
 */
static void
on_write_answer(struct relay *r, const struct msg *m)
{
	r->write = 0;
	if (m->failed && m->error.code == E_NOTRUNNING) {
		r->stdin_closed = true;
		queue_clear(&r->input);
	} else if (m->failed) {
		finish_with(r, &m->error);
		return;
	} else {
		queue_take(&r->input, r->writing);
	}
	write_next(r);
	if (!r->finished)
		hold(r, queue_left(&r->input) >= INPUT_HIGH);
}

static void
on_text(void *handler, const char *text, size_t n)
{
	struct relay *r = handler;

	if (r->finished || r->stdin_closed)
		return;
	buf_append(&r->input.bytes, text, n);
	buf_append(&r->input.bytes, "\n", 1);
	if (r->input.bytes.failed) {
		relay_finish(r, WS_INTERNAL, "no memory for the process's input");
		return;
	}
	write_next(r);
	if (!r->finished)
		hold(r, queue_left(&r->input) >= INPUT_HIGH);
}

/* As upstream has it. */
static void
on_binary(void *handler)
{
}

/* ---- the handler ---- */

static void
on_closing(struct relay *r, const struct msg_closing *c)
{
	enum err_code code = err_from_wire(c->code, strlen(c->code));
	struct err    why;

	err_set(&why, code == E__COUNT ? E_SYS : code, "%s", c->reason);
	finish_with(r, &why);
}

static void
on_msg(void *handler, struct msg *m)
{
	struct relay *r = handler;

	if (r->finished)
		return;
	if (m->envelope == ENV_REPLY && m->id == ATTACH)
		on_attach_answer(r, m);
	else if (m->envelope == ENV_REPLY && m->id == r->write)
		on_write_answer(r, m);
	else if (m->type == MSG_OUTPUT)
		on_output(r, m->body);
	else if (m->type == MSG_CLOSING)
		on_closing(r, m->body);
}

static void
on_drained(void *handler)
{
	struct relay *r = handler;

	if (!r->finished)
		go_on(r);
}

static void
on_gone(void *handler)
{
	struct relay *r = handler;

	framer_clear(&r->framer);
	queue_clear(&r->output);
	queue_clear(&r->input);
	free(r);
}

static const struct ws_handler ops = {
	.on_text = on_text,
	.on_binary = on_binary,
	.on_msg = on_msg,
	.on_drained = on_drained,
	.on_gone = on_gone,
};

static int
attach(struct relay *r, struct err *e)
{
	struct msg_process_attach ask;

	msg_defaults(MSG_PROCESS_ATTACH, &ask);
	ask.session = r->session;
	ask.process = r->process;
	ask.go_on = true;
	ask.again = r->framer.lines; /* one byte, see framer.h */
	ask.window = r->framer.lines ? r->framer.most + LIM_RELAY_CHUNK : RAW_WINDOW;
	r->attached = true;
	return ws_ask(r->ws, MSG_PROCESS_ATTACH, ATTACH, &ask, e);
}

int
relay_open(struct ws *ws, const struct relay_plan *plan, struct err *e)
{
	struct relay *r = calloc(1, sizeof(*r));
	uint64_t      most = plan->lines ? plan->line_bytes : LIM_RELAY_CHUNK;

	if (r == NULL)
		return err_set(e, E_SYS, "no memory for a relay");
	r->ws = ws;
	r->next_id = ATTACH + 1;
	snprintf(r->session, sizeof(r->session), "%s", plan->session);
	snprintf(r->process, sizeof(r->process), "%s", plan->process);
	framer_init(&r->framer, plan->lines, most < LIM_RELAY_LINE_MOST ? most : LIM_RELAY_LINE_MOST);
	if (attach(r, e) == -1) {
		free(r);
		return -1;
	}
	ws_seat(ws, &ops, r);
	return 0;
}
