/*
 * A visitor asks for a WebSocket, or for a probe as often as it likes:
 *
 *	READING -> ASKING -> UPGRADED			a WebSocket
 *	  ^              \-> ANSWERED			an error, or the last probe; so may READING end
 *	  `--------------'				a probe whose connection is kept
 *
 * READING ends with the headers, which have LIM_HELLO_SEC from connecting (TLS included).  ASKING: the supervisor
 * is asked, about the visitor (HTTP_AUTH) or for the answer to a probe.  A WebSocket client may send frames meanwhile:
 * they wait, at first here, so that it is seen when it leaves, and soon in its socket.
 *
 * A kept connection is still a stranger's: it is the first that makes room for another, it may rest for
 * LIM_HTTP_IDLE_SEC, and its next request has LIM_HELLO_SEC from its first byte.  Requests that are sent ahead wait in
 * the socket: the next is read when the answer before it has left.  One that rests is closed without a word, because
 * it would take that for the answer to its next request.
 *
 * Each visitor is announced to the supervisor before its first byte, with its socket: who fails often from one
 * address is slowed there.
 */
#include "http/http_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/log.h"
#include "http/http_answer.h"
#include "http/ws_impl.h"
#include "relay/relay.h"

static const char MCP[] = "mcp";

enum {
	EARLY_BYTES = 16 * 1024, /* of frames before the answer, kept here */
};

/* ---- answers ------------------------------------------------------------------------- */

static bool
is_head(const struct visitor *v)
{
	return v->request.head.is_head;
}

/* The last thing it hears; the buf is taken. */
static void
say_last(struct visitor *v, struct buf *b, const char *reason)
{
	v->state = ANSWERED;
	v->stranger.stage = STRANGER_ANSWERED;
	if (b->failed)
		flow_drop(v->flow, "no memory");
	flow_send(v->flow, b);
	flow_part(v->flow, reason);
	buf_clear(b);
}

static void
say_text(struct visitor *v, unsigned status, const char *why)
{
	struct buf b = { 0 };

	http_answer_text(&b, status, why, is_head(v));
	say_last(v, &b, why != NULL ? why : "answered");
}

/* It has had an answer, and nothing of its next request has come. */
static bool
is_resting(const struct visitor *v)
{
	return v->resting || (v->state == READING && v->asked > 0 && v->request.fed == 0);
}

/* The same for one that may not be waiting for anything. */
static void
say_unasked(struct visitor *v, unsigned status, const char *why)
{
	if (!is_resting(v)) {
		say_text(v, status, why);
		return;
	}
	v->state = ANSWERED;
	v->stranger.stage = STRANGER_ANSWERED;
	flow_part(v->flow, why);
}

static void
say_error(struct visitor *v, unsigned status, const struct err *e)
{
	struct buf b = { 0 };

	if (e->code == E_UNAUTHORIZED)
		http_answer_unauthorized(&b, is_head(v));
	else
		http_answer_error(&b, status, e, is_head(v));
	say_last(v, &b, e->text);
}

/* ---- connections that are kept ------------------------------------------------------------ */

/* Does the connection stay when this request is answered? */
static bool
is_kept(const struct visitor *v)
{
	return v->request.head.is_11 && !http_request_lists(&v->request, HEADER_CONNECTION, "close") &&
	       v->asked < LIM_HTTP_REQUESTS && !v->http->going_away;
}

static void
read_next(struct visitor *v)
{
	v->resting = false;
	v->state = READING;
	http_request_clear(&v->request);
	http_request_init(&v->request);
	flow_owe(v->flow, LIM_HTTP_IDLE_SEC);
	flow_release(v->flow, HOLD_ANSWER);
}

/* An answer to a probe; the buf is taken. */
static void
say_probed(struct visitor *v, struct buf *b, bool kept)
{
	if (!kept || b->failed) {
		say_last(v, b, "answered");
		return;
	}
	v->resting = true;
	v->stranger.stage = STRANGER_ANSWERED;
	flow_send(v->flow, b);
	if (flow_queued(v->flow) == 0) /* else a client that closed its side would not get it */
		read_next(v);
}

/* ---- the request ----------------------------------------------------------------------- */

static void
ask(struct visitor *v, enum msg_type t, const void *body)
{
	struct err e;

	v->state = ASKING;
	v->stranger.stage = STRANGER_ASKING;
	v->asked++;
	flow_owe(v->flow, 0);
	if (t != MSG_HTTP_AUTH) /* a probe may have closed its side already, and waits */
		flow_hold(v->flow, HOLD_ANSWER);
	if (caller_send(v->caller, t, v->asked, body, &e) == -1)
		say_error(v, 503, &e);
}

/* What is longer than any that can be good is not passed on, but asked about all the same. */
static const char *
presented(const struct visitor *v, enum http_header h, size_t most)
{
	const char *value = http_request_header(&v->request, h);

	return strlen(value) <= most ? value : "";
}

static void
ask_auth(struct visitor *v)
{
	struct msg_http_auth a;

	msg_defaults(MSG_HTTP_AUTH, &a);
	a.use = v->route.kind == ROUTE_RELAY ? HTTP_USE_RELAY : HTTP_USE_RPC;
	a.token = presented(v, HEADER_TOKEN, LIM_TOKEN);
	a.instance = presented(v, HEADER_INSTANCE, LIM_TENANT);
	if (v->route.kind == ROUTE_RELAY) {
		a.workspace = presented(v, HEADER_WORKSPACE, LIM_TENANT);
		a.generation = http_generation(http_request_header(&v->request, HEADER_GENERATION));
		a.session = v->route.session;
		a.process = v->route.process;
	}
	ask(v, MSG_HTTP_AUTH, &a);
}

/* 0, or the status to refuse it with. */
static unsigned
check_names(const struct visitor *v, const char **why)
{
	const struct http_request *r = &v->request;
	bool                       old = !r->head.is_11;

	*why = "Host is missing";
	if (!r->headers[HEADER_HOST].given && !old && !v->local)
		return 400;
	*why = "this Box runtime has another name; name it by address, or add the name to http_hosts in boxd.conf";
	if (r->headers[HEADER_HOST].given && !v->local &&
	    !http_host_is_ours(http_request_header(r, HEADER_HOST), &v->http->hosts))
		return 421;
	*why = "web pages of this origin may not come in; http_origins in boxd.conf lists those that may";
	if (r->headers[HEADER_ORIGIN].given &&
	    !http_origin_is_listed(http_request_header(r, HEADER_ORIGIN), &v->http->origins))
		return 403;
	return 0;
}

static void
judge(struct visitor *v, bool more_bytes)
{
	const struct http1    *head = &v->request.head;
	struct msg_http_health health;
	struct msg_http_ready  ready;
	const char            *why;
	unsigned               status = check_names(v, &why);

	if (status == 0)
		status = http_route_find(&v->route, v->request.target.data, &why);
	if (status != 0)
		say_text(v, status, why);
	else if (!head->is_get && !head->is_head)
		say_text(v, 405, NULL);
	else if (v->route.kind == ROUTE_RPC || v->route.kind == ROUTE_RELAY)
		ask_auth(v);
	else if (more_bytes && !is_kept(v))
		say_text(v, 400, "bytes behind the last request");
	else if (v->route.kind == ROUTE_HEALTH)
		ask(v, MSG_HTTP_HEALTH, &health);
	else
		ask(v, MSG_HTTP_READY, &ready);
}

static size_t
on_bytes(void *arg, const char *bytes, size_t n)
{
	struct visitor *v = arg;

	if (v->state == UPGRADED)
		return ws_bytes(v->ws, bytes, n);
	if (v->state == ASKING) {
		if (n > EARLY_BYTES)
			flow_hold(v->flow, HOLD_ANSWER);
		return 0;
	}
	if (is_resting(v)) { /* not any more */
		flow_owe(v->flow, LIM_HELLO_SEC);
		v->stranger.stage = STRANGER_READING;
	}
	size_t used = http_request_feed(&v->request, bytes, n);
	if (v->request.status != 0)
		say_text(v, v->request.status, v->request.why);
	else if (v->request.done)
		judge(v, used < n);
	return used;
}

static void
on_deadline(void *arg)
{
	say_unasked(arg, 408, "the request did not come in time");
}

/* ---- the upgrade --------------------------------------------------------------------------- */

/* 0, or the status to refuse it with. */
static unsigned
check_handshake(const struct visitor *v, const char **why)
{
	const struct http_request *r = &v->request;

	*why = "this path is a WebSocket: GET it with HTTP/1.1, Upgrade: websocket and Connection: Upgrade";
	if (!r->head.is_get || !r->head.is_11 || !http_request_lists(r, HEADER_UPGRADE, "websocket") ||
	    !http_request_lists(r, HEADER_CONNECTION, "upgrade"))
		return 400;
	*why = "Sec-WebSocket-Version must be 13";
	if (strcmp(http_request_header(r, HEADER_VERSION), "13") != 0)
		return 426;
	*why = "Sec-WebSocket-Key must be the base64 of 16 bytes";
	return http_key_is_good(http_request_header(r, HEADER_KEY)) ? 0 : 400;
}

static int
seat_handler(struct visitor *v, bool mcp, struct err *e)
{
	struct relay_plan plan = {
		.session = v->route.session,
		.process = v->route.process,
		.lines = mcp,
		.line_bytes = v->http->relay_line_bytes,
	};

	if (v->route.kind == ROUTE_RELAY)
		return relay_open(v->ws, &plan, e);
	return actions_open(v->ws, &v->http->shared, e);
}

static void
upgrade(struct visitor *v)
{
	bool        relay = v->route.kind == ROUTE_RELAY;
	bool        mcp = relay && http_request_lists(&v->request, HEADER_PROTOCOL, MCP);
	struct buf  b = { 0 };
	const char *why;
	struct err  e;
	unsigned    status = check_handshake(v, &why);

	stranger_is_known(&v->http->strangers, &v->stranger);
	if (status != 0) {
		say_text(v, status, why);
		return;
	}
	v->ws = ws_open(v->http->loop, v->flow, v->caller, relay, &e);
	if (v->ws == NULL) {
		say_error(v, 503, &e);
		return;
	}
	log_debug("conn=%lu WebSocket %s", caller_id(v->caller), relay ? "relay" : "rpc");
	v->state = UPGRADED;
	http_answer_upgrade(&b, http_request_header(&v->request, HEADER_KEY), mcp ? MCP : NULL);
	if (b.failed)
		flow_drop(v->flow, "no memory");
	flow_send(v->flow, &b);
	if (seat_handler(v, mcp, &e) == -1)
		ws_finish(v->ws, WS_INTERNAL, e.text);
	flow_release(v->flow, HOLD_ANSWER);
	flow_again(v->flow);
}

/* ---- from the supervisor ----------------------------------------------------------------------- */

static void
on_health(struct visitor *v, const struct msg *m)
{
	struct buf b = { 0 };
	bool       kept = is_kept(v);

	http_answer_health(&b, m->body, is_head(v), kept);
	say_probed(v, &b, kept);
}

static void
on_ready(struct visitor *v, const struct msg *m)
{
	struct buf b = { 0 };
	bool       kept = is_kept(v);

	http_answer_ready(&b, m->body, is_head(v), kept);
	say_probed(v, &b, kept);
}

static void
on_admitted(struct visitor *v, const struct msg *m)
{
	upgrade(v);
}

static const struct {
	enum msg_type result;
	unsigned      refused; /* the status of an error */
	void (*fn)(struct visitor *, const struct msg *);
} answers[] = {
	[ROUTE_HEALTH] = { MSG_BOX_HEALTH_RESULT, 503, on_health },
	[ROUTE_READY] = { MSG_READINESS, 503, on_ready },
	[ROUTE_RPC] = { MSG_DONE, 400, on_admitted },
	[ROUTE_RELAY] = { MSG_DONE, 400, on_admitted },
};

static void
on_reply(struct visitor *v, struct msg *m)
{
	enum http_route_kind kind = v->route.kind;
	struct err           e;

	if (v->state != ASKING || v->resting || m->id != v->asked)
		return;
	if (m->failed)
		say_error(v, answers[kind].refused, &m->error);
	else if (msg_expect(m, answers[kind].result, &e) == -1) {
		log_error("conn=%lu boxd's answer: %s", caller_id(v->caller), e.text);
		say_error(v, 503, &e);
	} else
		answers[kind].fn(v, m);
}

/* The supervisor ends it, for a reason of its own. */
static void
on_closing(struct visitor *v, const struct msg_closing *bye)
{
	enum err_code why = err_from_wire(bye->code, strlen(bye->code));
	bool          denied = why == E_DENIED || why == E_UNAUTHORIZED;

	if (v->state == UPGRADED)
		ws_finish(v->ws,
		    why == E_SHUTDOWN ? WS_GOING_AWAY
		    : denied          ? WS_POLICY
				      : WS_NORMAL,
		    why == E_SHUTDOWN ? GOING_AWAY : bye->reason);
	else if (v->state != ANSWERED)
		say_unasked(v, denied ? 403 : 503, bye->reason);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct visitor *v = arg;

	if (m->envelope != ENV_REPLY && m->type == MSG_CLOSING)
		on_closing(v, m->body);
	else if (v->state == UPGRADED)
		ws_deliver(v->ws, m);
	else if (m->envelope == ENV_REPLY)
		on_reply(v, m);
}

static void
on_congested(void *arg, bool congested)
{
	struct visitor *v = arg;

	(congested ? flow_hold : flow_release)(v->flow, HOLD_LINK);
}

/* ---- coming and going ----------------------------------------------------------------------------- */

void
visitor_close(struct visitor *v)
{
	LIST_REMOVE(v, next);
	stranger_remove(&v->http->strangers, &v->stranger);
	v->http->remote -= !v->local;
	ws_close(&v->ws);
	caller_close(&v->caller);
	flow_close(&v->flow);
	http_request_clear(&v->request);
	free(v);
}

static void
on_drained(void *arg)
{
	struct visitor *v = arg;

	if (v->state == UPGRADED)
		ws_drained(v->ws);
	else if (v->resting && flow_queued(v->flow) == 0)
		read_next(v);
}

static void
on_gone(void *arg)
{
	visitor_close(arg);
}

const struct flow_ops visitor_flow_ops = {
	.on_bytes = on_bytes, .on_deadline = on_deadline, .on_drained = on_drained, .on_gone = on_gone
};

static const struct caller_ops caller_ops = { .on_msg = on_msg, .on_congested = on_congested };

struct visitor *
visitor_open(struct http *h, const struct netaddr *from, struct err *e)
{
	struct visitor *v = calloc(1, sizeof(*v));

	/* at the control socket the kernel says who it is */
	if (v == NULL || (from != NULL && stranger_add(&h->strangers, &v->stranger, from) == -1) ||
	    (v->caller = caller_open(h->up, &caller_ops, v, e)) == NULL) {
		if (v != NULL)
			stranger_remove(&h->strangers, &v->stranger);
		free(v);
		err_set(e, E_SYS, "no memory for a client");
		return NULL;
	}
	v->http = h;
	v->local = from == NULL;
	h->remote += !v->local;
	http_request_init(&v->request);
	LIST_INSERT_HEAD(&h->visitors, v, next);
	return v;
}

void
visitor_begin(struct visitor *v)
{
	struct err e;

	flow_owe(v->flow, LIM_HELLO_SEC);
	if (caller_announce(v->caller, flow_fd(v->flow), SPEAKS_HTTP, &e) == -1)
		say_text(v, 503, e.text);
	else
		log_debug("conn=%lu open http", caller_id(v->caller));
}

/*
 * Its place is free at once; it is gone when the loop has its next turn.  One that is being asked about goes without a
 * word: it may be a guess, and those are not answered early.
 */
void
visitor_make_room(struct visitor *v)
{
	struct buf b = { 0 };

	stranger_remove(&v->http->strangers, &v->stranger);
	if (is_resting(v)) {
		flow_finish(v->flow, NEEDED);
	} else if (v->state == READING) {
		http_answer_text(&b, 503, "another client needed this place; try again later", false);
		flow_send(v->flow, &b);
		flow_finish(v->flow, NEEDED);
		buf_clear(&b);
	} else
		flow_drop(v->flow, NEEDED);
	v->state = ANSWERED;
}

void
visitor_go_away(struct visitor *v)
{
	if (v->state == UPGRADED)
		ws_finish(v->ws, WS_GOING_AWAY, GOING_AWAY);
	else if (v->state != ANSWERED)
		say_unasked(v, 503, GOING_AWAY);
}
