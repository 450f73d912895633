/*
 * One connection's actions.  A text comes in: its envelope is read, its action found, its data made a request, and the
 * supervisor asked; the answer finds its call by the request's id and goes out with the seq_id it came for.
 *
 * What is wrong with a tenant's data is known here, but who may ask at all, and in which generation, is not: such a
 * request goes as BOX_INVALID, its context alone; only if the supervisor accepts that, the client reads what we found.
 *
 * The budget is 128 actions.  Cancels have one of their own, so that they get through when the other is used up, and so
 * have acknowledgements.  Pings do not count, or a busy client would look dead; a client that sends thousands of them
 * without waiting is read later.
 */
#include "langbot/actions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/log.h"
#include "langbot/action.h"
#include "langbot/envelope.h"

enum {
	PINGS_HIGH = 1024, /* unanswered ones: read it later */
	PINGS_LOW = PINGS_HIGH / 2,
	ZONE_CHUNK = 8192,
	ANSWER_MOST = 512 * KIB, /* of what is known while a call waits: 128 of them are a connection's */
};

/* Which budget an action is counted in. */
enum budget { ACTIONS, CANCELS, ACKS, PINGS, BUDGETS };

static const size_t budget_most[BUDGETS] = {
	[ACTIONS] = LIM_CONN_INFLIGHT,
	[CANCELS] = LIM_CONN_CANCELS,
	[ACKS] = LIM_CONN_INFLIGHT,
	[PINGS] = SIZE_MAX,
};

struct call {
	TAILQ_ENTRY(call) next;
	uint64_t             id;
	const struct action *action;
	uint64_t             target;  /* BOX_CANCEL: the call it is about */
	enum outcome         outcome; /* sent unless the supervisor refuses it */
	struct buf           seq;     /* as JSON */
	struct asked         asked;
};

struct actions {
	struct ws             *ws;     /* borrowed; NULL when it is gone */
	struct actions_shared *shared; /* borrowed */
	struct uploads         uploads;
	uint64_t               last_id;
	TAILQ_HEAD(, call) calls; /* owned; the oldest first */
	size_t busy[BUDGETS];     /* of them */
	bool   held;
};

/* ---- calls ---------------------------------------------------------------------------- */

static enum budget
budget_of(const struct action *a)
{
	if (a == NULL)
		return ACTIONS;
	if (a->ask == MSG_BOX_PING)
		return PINGS;
	if (a->ask == MSG_BOX_CANCEL)
		return CANCELS;
	return a->read == read_stream_ack ? ACKS : ACTIONS;
}

static void
call_free(struct call *c)
{
	buf_clear(&c->seq);
	buf_clear(&c->asked.answer);
	free(c);
}

static void
call_add(struct actions *a, struct call *c)
{
	c->id = ++a->last_id;
	TAILQ_INSERT_TAIL(&a->calls, c, next);
	a->busy[budget_of(c->action)]++;
}

static void
call_remove(struct actions *a, struct call *c)
{
	assert(a->busy[budget_of(c->action)] > 0);
	TAILQ_REMOVE(&a->calls, c, next);
	a->busy[budget_of(c->action)]--;
}

static struct call *
call_find(struct actions *a, uint64_t id)
{
	struct call *c;

	TAILQ_FOREACH (c, &a->calls, next)
		if (c->id == id)
			return c;
	return NULL;
}

/* The request of the newest action with the seq_id that a cancel names; 0: none, or the cancel's own. */
static uint64_t
call_named(const struct actions *a, const struct envelope_in *in)
{
	struct buf   own = { 0 }, text = { 0 };
	struct call *c;
	uint64_t     id = 0;

	envelope_seq(&own, in->seq);
	envelope_seq(&text, json_get(in->data, "seq_id"));
	bool is_own = own.len == text.len && memcmp(own.data, text.data, own.len) == 0;
	TAILQ_FOREACH (c, &a->calls, next)
		if (!is_own && !text.failed && c->seq.len == text.len && memcmp(c->seq.data, text.data, text.len) == 0)
			id = c->id;
	buf_clear(&own);
	buf_clear(&text);
	return id;
}

static void
hold_pings(struct actions *a)
{
	if (!a->held && a->busy[PINGS] >= PINGS_HIGH) {
		a->held = true;
		ws_hold(a->ws);
	} else if (a->held && a->busy[PINGS] <= PINGS_LOW) {
		a->held = false;
		ws_release(a->ws);
	}
}

/* ---- out ------------------------------------------------------------------------------- */

static void
send_error(struct actions *a, const struct buf *seq, const char *class, const char *text, size_t n)
{
	struct buf out = { 0 };

	envelope_error(&out, seq, class, text, n);
	if (out.failed) {
		buf_clear(&out);
		ws_finish(a->ws, WS_INTERNAL, "no memory");
	} else
		ws_send_text(a->ws, &out);
	buf_clear(&out);
}

static void
send_text(struct actions *a, const struct buf *seq, const char *class, const char *text)
{
	send_error(a, seq, class, text, strlen(text));
}

static void
send_err(struct actions *a, const struct buf *seq, const struct err *e)
{
	send_text(a, seq, err_class(e->code), e->text);
}

static void
send_success(struct actions *a, const struct buf *seq, const struct buf *data)
{
	struct buf out = { 0 };

	envelope_success(&out, seq, data);
	if (out.failed)
		send_text(a, seq, "BoxError", "no memory for a reply");
	else if (out.len > LIM_WS_MESSAGE)
		send_text(a, seq, "ValueError", "Runtime message exceeds 16777216 byte limit");
	else
		ws_send_text(a->ws, &out);
	buf_clear(&out);
}

/* The answer that was known before the supervisor was asked. */
static void
send_known(struct actions *a, const struct call *c)
{
	const struct buf *answer = &c->asked.answer;

	if (answer->failed)
		send_text(a, &c->seq, "BoxError", "no memory for a reply");
	else if (c->outcome == REFUSED)
		send_error(a, &c->seq, c->asked.class, answer->data, answer->len);
	else
		send_success(a, &c->seq, answer);
}

static void
send_shaped(struct actions *a, const struct call *c, const void *result)
{
	struct buf data = { 0 };

	c->action->shape(&data, &c->asked, result);
	send_success(a, &c->seq, &data);
	buf_clear(&data);
}

/* ---- in --------------------------------------------------------------------------------- */

static int
ask_invalid(struct actions *a, const struct call *c, const struct msg_context *context, struct err *e)
{
	struct msg_box_invalid body = { .context = *context };

	return ws_ask(a->ws, MSG_BOX_INVALID, c->id, &body, e);
}

/* Takes the call: it waits for its answer, or is answered and freed. */
static void
pass_on(struct actions *a, struct call *c, const struct job *j, const struct msg_context *context)
{
	struct err e;
	int        r;

	if (c->outcome != ASK && c->action->host) {
		send_known(a, c);
		call_free(c);
		return;
	}
	call_add(a, c); /* first: what was sent cannot be taken back */
	if (c->outcome == ASK)
		r = ws_ask(a->ws, c->action->ask, c->id, j->body, &e);
	else
		r = ask_invalid(a, c, context, &e);
	if (r == -1) {
		call_remove(a, c);
		send_err(a, &c->seq, &e);
		call_free(c);
	} else
		hold_pings(a);
}

static struct call *
call_new(const struct action *action, const struct envelope_in *in)
{
	struct call *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		c->action = action;
		envelope_seq(&c->seq, in->seq);
	}
	return c;
}

/* The message that is asked, with defaults and the context that all of them begin with. */
static void *
body_new(const struct action *action, const struct envelope_in *in, msgpack_zone *zone)
{
	enum msg_type t = action->ask != MSG_NONE ? action->ask : MSG_BOX_INVALID;
	void         *body = msgpack_zone_malloc(zone, msg_def(t)->size);

	if (body != NULL) {
		msg_defaults(t, body);
		*(struct msg_context *)body = in->context;
	}
	return body;
}

/* A known answer is kept while the call waits: a refusal is cut, and names of a megabyte are refused. */
static void
bound_answer(struct call *c, struct job *j)
{
	if (j->answer.len <= ANSWER_MOST)
		return;
	if (c->outcome == REFUSED) {
		struct buf cut = { 0 };

		buf_append(&cut, j->answer.data, ANSWER_MOST);
		cut.failed |= j->answer.failed;
		buf_clear(&j->answer);
		j->answer = cut;
	} else
		c->outcome = refuse(j, "ValueError", "a name of that length is not taken");
}

static void
on_action(struct actions *a, const struct action *action, const struct envelope_in *in, msgpack_zone *zone)
{
	struct call *c = call_new(action, in);
	struct job   j = { .data = in->data, .zone = zone, .uploads = &a->uploads, .fd = -1 };

	if (c == NULL || (j.body = body_new(action, in, zone)) == NULL) {
		free(c);
		ws_finish(a->ws, WS_INTERNAL, "no memory");
		return;
	}
	a->uploads.most = a->shared->max_rpc_file_bytes < LIM_UPLOAD ? a->shared->max_rpc_file_bytes : LIM_UPLOAD;
	c->outcome = action->read(&j);
	if (c->outcome == ASK && action->ask == MSG_BOX_CANCEL)
		((struct msg_box_cancel *)j.body)->call = c->target = call_named(a, in);
	bound_answer(c, &j);
	c->asked = (struct asked){ .answer = j.answer, .class = j.class };
	pass_on(a, c, &j, &in->context);
	fd_close(&j.fd);
}

static void
refuse_unknown(struct actions *a, const struct buf *seq, const msgpack_object *name)
{
	struct buf text = { 0 };

	buf_printf(&text, "Action ");
	buf_append(&text, name->via.str.ptr, name->via.str.size);
	buf_printf(&text, " not found");
	send_error(a, seq, "ValueError", text.data, text.len);
	buf_clear(&text);
}

static void
send_busy(struct actions *a, const struct buf *seq, size_t most)
{
	struct buf text = { 0 };

	buf_printf(&text, "Runtime connection is busy (max %zu concurrent actions)", most);
	send_error(a, seq, NULL, text.data, text.len);
	buf_clear(&text);
}

/* A message that must be answered. */
static void
on_request(struct actions *a, enum envelope_kind kind, const struct envelope_in *in, msgpack_zone *zone)
{
	const struct action *action = NULL;
	struct buf           seq = { 0 };

	envelope_seq(&seq, in->seq);
	if (in->action->type == MSGPACK_OBJECT_STR)
		action = action_find(in->action->via.str.ptr, in->action->via.str.size);
	enum budget b = budget_of(action);
	if (a->busy[b] >= budget_most[b])
		send_busy(a, &seq, budget_most[b]);
	else if (kind == ENVELOPE_REFUSED)
		send_error(a, &seq, in->class, in->refusal.data, in->refusal.len);
	else if (action == NULL)
		refuse_unknown(a, &seq, in->action);
	else
		on_action(a, action, in, zone);
	buf_clear(&seq);
}

static void
on_text(void *guest, const char *text, size_t n)
{
	struct actions    *a = guest;
	struct envelope_in in;
	struct err         e;
	msgpack_zone       zone;

	if (!msgpack_zone_init(&zone, ZONE_CHUNK)) {
		ws_finish(a->ws, WS_INTERNAL, "no memory");
		return;
	}
	enum envelope_kind kind = envelope_read(&in, text, n, &zone, &e);
	if (kind == ENVELOPE_IGNORED)
		log_info("conn=%lu message ignored reason=\"%s\" text=\"%s\"", ws_conn(a->ws), e.text,
		    log_escape(text, n < 100 ? n : 100));
	else
		on_request(a, kind, &in, &zone);
	buf_clear(&in.refusal);
	msgpack_zone_destroy(&zone);
}

static void
on_binary(void *guest)
{
	struct actions *a = guest;

	ws_finish(a->ws, WS_NORMAL, "");
}

/* ---- the supervisor's answers --------------------------------------------------------------- */

static void
on_answer(struct actions *a, const struct call *c, struct msg *m)
{
	struct err    e;
	enum msg_type t = c->outcome == ASK ? c->action->ask : MSG_BOX_INVALID;

	if (m->failed)
		send_err(a, &c->seq, &m->error);
	else if (msg_expect(m, msg_def(t)->result, &e) == -1) {
		log_error("conn=%lu reply to %s lost reason=\"%s\"", ws_conn(a->ws), msg_name(t), e.text);
		send_text(a, &c->seq, "BoxError", "boxd's own reply is malformed");
	} else if (c->outcome == ASK)
		send_shaped(a, c, m->body);
	else
		send_known(a, c);
}

/* What was cancelled gets no reply. */
static void
forget_cancelled(struct actions *a, uint64_t target)
{
	struct call *c = call_find(a, target);

	if (c == NULL)
		return;
	call_remove(a, c);
	call_free(c);
}

static bool
has_cancelled(const struct call *c, const struct msg *m)
{
	return c->target != 0 && !m->failed && m->type == MSG_BOX_CANCELLED &&
	       ((const struct msg_box_cancelled *)m->body)->cancelled;
}

static void
on_closing(struct actions *a, const struct msg_closing *bye)
{
	bool leaving = strcmp(bye->code, err_wire_name(E_SHUTDOWN)) == 0;

	ws_finish(a->ws, leaving ? WS_GOING_AWAY : WS_POLICY, bye->reason);
}

static void
on_msg(void *guest, struct msg *m)
{
	struct actions *a = guest;

	if (m->envelope == ENV_NOTICE && m->type == MSG_CLOSING)
		on_closing(a, m->body);
	if (m->envelope != ENV_REPLY)
		return;
	struct call *c = call_find(a, m->id);
	if (c == NULL)
		return;
	call_remove(a, c);
	on_answer(a, c, m);
	if (has_cancelled(c, m))
		forget_cancelled(a, c->target);
	call_free(c);
	hold_pings(a);
}

static void
on_drained(void *guest)
{
	(void)guest; /* the ws stops reading who does not read: nothing of ours waits */
}

static void
on_gone(void *guest)
{
	struct actions *a = guest;
	struct call    *c;

	while ((c = TAILQ_FIRST(&a->calls)) != NULL) {
		TAILQ_REMOVE(&a->calls, c, next);
		call_free(c);
	}
	uploads_clear(&a->uploads);
	free(a);
}

static const struct ws_handler ops = {
	.on_text = on_text,
	.on_binary = on_binary,
	.on_msg = on_msg,
	.on_drained = on_drained,
	.on_gone = on_gone,
};

int
actions_open(struct ws *ws, struct actions_shared *shared, struct err *e)
{
	struct actions *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return err_set(e, E_SYS, "no memory for a connection");
	a->ws = ws;
	a->shared = shared;
	TAILQ_INIT(&a->calls);
	uploads_init(&a->uploads, &shared->upload_bytes, shared->max_rpc_file_bytes);
	ws_seat(ws, &ops, a);
	return 0;
}
