#include "fakews.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
must(bool holds)
{
	if (!holds)
		abort();
}

void
ws_seat(struct ws *w, const struct ws_handler *ops, void *guest)
{
	w->ops = ops;
	w->guest = guest;
}

void
ws_send_text(struct ws *w, struct buf *b)
{
	buf_append(b, "", 1);
	must(!b->failed);
	buf_clear(&w->sent);
	w->sent = *b;
	*b = (struct buf){ 0 };
	w->nsent++;
}

size_t
ws_queued(const struct ws *w)
{
	return 0;
}

void
ws_hold(struct ws *w)
{
	w->holds++;
}

void
ws_release(struct ws *w)
{
	w->holds--;
}

void
ws_finish(struct ws *w, unsigned code, const char *reason)
{
	w->finished = code;
}

int
ws_ask(struct ws *w, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	struct fake_ask *a = &w->asks[w->nasks];

	if (w->refuse)
		return err_set(e, E_BUSY, "boxd does not keep up");
	must(w->nasks < sizeof(w->asks) / sizeof(*w->asks));
	*a = (struct fake_ask){ .type = t, .id = id };
	/* all that a guest asks must be something the supervisor takes */
	must(msg_encode(&a->packet, t, id, 7, body, e) == 0);
	if (msg_decode(&a->msg, a->packet.bytes.data, a->packet.bytes.len, a->packet.fds, a->packet.nfds, FROM_GATEWAY,
		e) == -1) {
		fprintf(stderr, "# not a message: %s\n", e->text);
		abort();
	}
	a->packet.nfds = 0;
	w->nasks++;
	return 0;
}

uint64_t
ws_conn(const struct ws *w)
{
	return 7;
}

void
fakews_forget(struct ws *w)
{
	while (w->nasks > 0) {
		struct fake_ask *a = &w->asks[--w->nasks];

		msg_clear(&a->msg);
		packet_clear(&a->packet);
	}
}

void
fakews_textn(struct ws *w, const char *text, size_t n)
{
	/* exactly the bytes, so that a look behind them is seen */
	char *copy = malloc(n > 0 ? n : 1);

	must(copy != NULL);
	memcpy(copy, text, n);
	w->ops->on_text(w->guest, copy, n);
	free(copy);
}

void
fakews_text(struct ws *w, const char *text)
{
	fakews_forget(w);
	w->nsent = 0;
	fakews_textn(w, text, strlen(text));
}

const char *
fakews_sent(struct ws *w)
{
	if (w->nsent == 0)
		return NULL;
	w->nsent = 0;
	return w->sent.data;
}

const struct fake_ask *
fakews_asked(struct ws *w)
{
	return w->nasks > 0 ? &w->asks[w->nasks - 1] : NULL;
}

static void
deliver(struct ws *w, struct packet *p)
{
	struct err e;
	struct msg m;

	must(msg_decode(&m, p->bytes.data, p->bytes.len, p->fds, p->nfds, FROM_SUPERVISOR, &e) == 0);
	p->nfds = 0;
	w->ops->on_msg(w->guest, &m);
	msg_clear(&m);
	packet_clear(p);
}

void
fakews_answer(struct ws *w, const struct fake_ask *a, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	must(msg_encode_reply(&p, msg_def(a->type)->result, a->id, 7, body, &e) == 0);
	deliver(w, &p);
}

void
fakews_fail(struct ws *w, const struct fake_ask *a, enum err_code code, const char *text)
{
	struct packet p = { 0 };
	struct err    why, e;

	err_set(&why, code, "%s", text);
	must(msg_encode_error(&p, a->id, 7, &why, &e) == 0);
	deliver(w, &p);
}

void
fakews_gone(struct ws *w)
{
	w->ops->on_gone(w->guest);
	fakews_forget(w);
	buf_clear(&w->sent);
}
