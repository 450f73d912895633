/*
 * LangBot's door: which clients are accepted, and the end of all of them.
 */
#include "http/http_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/http_answer.h"

/* Refused, or closed for somebody else: strangers can cause as many of these lines as they like. */
static void
say_refused(struct http *h, const char *reason, const char *from)
{
	if (tally_line(&h->refusals, reason))
		log_info("client refused from=%s reason=\"%s\"", from, reason);
}

static void
visitor_refuse(struct http *h, int fd, const struct netaddr *from, const char *why)
{
	char       text[NETADDR_TEXT];
	struct buf b = { 0 };

	say_refused(h, why, netaddr_text(from, text));
	http_answer_text(&b, 503, why, false);
	/* a fresh socket takes so few bytes or the client is gone; with TLS there is nothing to say yet */
	if (h->tls == NULL && !b.failed)
		(void)!send(fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_clear(&b);
}

void
http_refuse(struct http *h, int fd, const struct netaddr *from)
{
	visitor_refuse(h, fd, from, "too many connections; try again later");
}

bool
http_make_room(struct http *h, const struct netaddr *from)
{
	struct stranger *who = strangers_victim(&h->strangers, from);
	char             text[NETADDR_TEXT];

	if (who == NULL)
		return false;
	say_refused(h, NEEDED, stranger_text(who, text));
	visitor_make_room((struct visitor *)((char *)who - offsetof(struct visitor, stranger)));
	return true;
}

size_t
http_visitors(const struct http *h)
{
	return h->remote;
}

void
http_accept(struct http *h, int accepted, const struct netaddr *from)
{
	AUTO_FD int     fd = accepted;
	struct err      e;
	struct visitor *v;

	if (h->going_away) {
		visitor_refuse(h, fd, from, GOING_AWAY);
		return;
	}
	if (strangers_are_full(&h->strangers))
		http_make_room(h, from);
	v = visitor_open(h, from, &e);
	if (v != NULL)
		v->flow = flow_open(h->loop, fd, caller_id(v->caller), h->tls, &visitor_flow_ops, v, &e);
	if (v == NULL || v->flow == NULL) {
		log_warn("client refused reason=\"%s\"", e.text);
		if (v != NULL)
			visitor_close(v);
		return;
	}
	fd_take(&fd);
	visitor_begin(v);
}

static void
on_orphan_gone(void *arg)
{
	struct flow *s = arg;

	flow_close(&s);
}

/* The flow is inside a call, so it cannot be closed here: it ends by itself. */
static void
orphan(struct flow *s, unsigned status, const char *why)
{
	static const struct flow_ops ops = { .on_gone = on_orphan_gone };
	struct buf                   b = { 0 };

	flow_pass(s, 0, &ops, s);
	http_answer_text(&b, status, why, false);
	flow_send(s, &b);
	flow_finish(s, why);
}

void
http_adopt(struct http *h, struct flow *s)
{
	struct err      e;
	struct visitor *v = h->going_away ? NULL : visitor_open(h, NULL, &e);

	if (v == NULL) {
		orphan(s, 503, h->going_away ? GOING_AWAY : e.text);
		return;
	}
	v->flow = s;
	flow_pass(s, caller_id(v->caller), &visitor_flow_ops, v);
	visitor_begin(v);
}

/* ---- all of them ----------------------------------------------------------------------------------- */

void
http_limit(struct http *h, const struct msg_http_limits *l)
{
	h->shared.max_rpc_file_bytes = l->max_rpc_file_bytes;
}

void
http_go_away(struct http *h)
{
	struct visitor *v;

	h->going_away = true;
	LIST_FOREACH (v, &h->visitors, next)
		visitor_go_away(v);
}

static void
strs_free(struct strs *s)
{
	for (size_t i = 0; i < s->n; i++)
		free((void *)(uintptr_t)s->v[i]);
	free(s->v);
	*s = (struct strs){ 0 };
}

static int
strs_copy(struct strs *to, const struct strs *from)
{
	to->v = calloc(from->n + 1, sizeof(*to->v));
	if (to->v == NULL)
		return -1;
	for (; to->n < from->n; to->n++)
		if ((to->v[to->n] = strdup(from->v[to->n])) == NULL)
			return -1;
	return 0;
}

struct http *
http_open(struct ev_loop *loop, struct uplink *up, const struct http_plan *p, struct err *e)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL || strs_copy(&h->origins, p->origins) == -1 || strs_copy(&h->hosts, p->hosts) == -1) {
		err_set(e, E_SYS, "no memory for LangBot's door");
		http_close(&h);
		return NULL;
	}
	h->loop = loop;
	h->up = up;
	h->tls = p->tls;
	h->strangers.most = p->max_strangers;
	tally_init(&h->refusals, loop, "clients were refused");
	h->relay_line_bytes = p->relay_line_bytes;
	h->shared = (struct actions_shared){
		.max_rpc_file_bytes = p->max_rpc_file_bytes,
		.legacy_clients = p->legacy_clients,
	};
	return h;
}

void
http_close(struct http **hp)
{
	struct http *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	http_go_away(h);
	while (!LIST_EMPTY(&h->visitors))
		visitor_close(LIST_FIRST(&h->visitors));
	strs_free(&h->origins);
	strs_free(&h->hosts);
	tally_clear(&h->refusals);
	free(h);
}
