/*
 * Guests for the gateway's WebSockets that a test can lead: linked in place of the actions and the relay, so that what
 * is seen is the transport alone.  Text comes back as it went, but for these words:
 *
 *	bye		ws_finish with 1000
 *	hold		no text is wanted until the supervisor sends anything
 *	ask		a request to the supervisor; its reply is told
 *	flood		32 MiB, as fast as they are taken
 *	drown		messages of 1 MiB without end, taken or not
 *	size		how long the next message is, is told instead of the message
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workers/gateway/langbot/actions.h"
#include "workers/gateway/relay/relay.h"

enum { PIECE = 64 * 1024, FLOOD = 32 * 1024 * 1024, HIGH = 2 * 1024 * 1024 };

struct guest {
	struct ws *ws;
	bool       relay, sizes;
	uint64_t   asked;
	size_t     flood; /* bytes still to be sent */
};

static void
say(struct guest *g, const char *text, size_t n)
{
	struct buf b = { 0 };

	buf_append(&b, text, n);
	ws_send_text(g->ws, &b);
}

static void
say_many(struct guest *g, size_t n, char c)
{
	struct buf b = { 0 };

	if (buf_reserve(&b, n) == -1)
		return;
	memset(b.data, c, n);
	b.len = n;
	ws_send_text(g->ws, &b);
}

static void
flood(struct guest *g)
{
	while (g->flood > 0 && ws_queued(g->ws) < HIGH) {
		say_many(g, PIECE, 'f');
		g->flood -= PIECE;
	}
}

static void
ask(struct guest *g)
{
	struct msg_box_ping ping;
	struct err          e;

	msg_defaults(MSG_BOX_PING, &ping);
	if (ws_ask(g->ws, MSG_BOX_PING, ++g->asked, &ping, &e) == -1)
		say(g, e.text, strlen(e.text));
}

static bool
is_word(const char *word, const char *text, size_t n)
{
	return strlen(word) == n && memcmp(word, text, n) == 0;
}

static void
on_text(void *arg, const char *text, size_t n)
{
	struct guest *g = arg;
	char          size[32];

	if (g->sizes) {
		g->sizes = false;
		say(g, size, (size_t)snprintf(size, sizeof(size), "%zu", n));
	} else if (is_word("bye", text, n))
		ws_finish(g->ws, WS_NORMAL, "bye");
	else if (is_word("hold", text, n))
		ws_hold(g->ws);
	else if (is_word("ask", text, n))
		ask(g);
	else if (is_word("size", text, n))
		g->sizes = true;
	else if (is_word("flood", text, n)) {
		g->flood = FLOOD;
		flood(g);
	} else if (is_word("drown", text, n))
		for (int i = 0; i < 256; i++)
			say_many(g, 1024 * 1024, 'd');
	else
		say(g, text, n);
}

static void
on_binary(void *arg)
{
	struct guest *g = arg;

	if (!g->relay)
		ws_finish(g->ws, WS_UNSUPPORTED, "text only");
}

static void
on_msg(void *arg, struct msg *m)
{
	struct guest *g = arg;
	char          told[64];

	ws_release(g->ws);
	if (m->envelope == ENV_REPLY)
		say(g, told,
		    (size_t)snprintf(
			told, sizeof(told), "%lu %s", m->id, m->failed ? err_wire_name(m->error.code) : "done"));
}

static void
on_drained(void *arg)
{
	flood(arg);
}

static void
on_gone(void *arg)
{
	free(arg);
}

static const struct ws_handler ops = { on_text, on_binary, on_msg, on_drained, on_gone };

static int
sit(struct ws *ws, bool relay, struct err *e)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return err_set(e, E_SYS, "no memory");
	g->ws = ws;
	g->relay = relay;
	ws_seat(ws, &ops, g);
	return 0;
}

int
actions_open(struct ws *ws, struct actions_shared *shared, struct err *e)
{
	return shared->max_rpc_file_bytes == 0 ? err_set(e, E_INVALID, "no limit") : sit(ws, false, e);
}

/* Says what it was told, so that a test sees it. */
int
relay_open(struct ws *ws, const struct relay_plan *plan, struct err *e)
{
	struct buf b = { 0 };

	if (sit(ws, true, e) == -1)
		return -1;
	buf_printf(&b, "%s %s %s %lu", plan->session, plan->process, plan->lines ? "lines" : "raw", plan->line_bytes);
	ws_send_text(ws, &b);
	return 0;
}
