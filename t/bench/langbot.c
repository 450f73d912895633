#include "langbot.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "boxctl/langbot/ws_client.h"

#define CONTEXT \
	"\"context\": {\"instance_uuid\": \"bench\", \"workspace_uuid\": \"bench\", \"placement_generation\": 1}"
/* sha256("bench\0bench"), as tenancy makes it */
#define SESSION "ws-91535879897014483606e1ce-g1-s"

enum { LINE = 64 * 1024, AHEAD = 16 };

struct langbot {
	struct ws_client rpc, relay;
	unsigned         seq;
	size_t           got; /* messages */
	size_t           got_bytes;
	char             last[512]; /* the beginning of the last message */
};

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

static void
on_text(void *arg, const char *text, size_t n)
{
	struct langbot *l = arg;
	size_t          keep = n < sizeof(l->last) - 1 ? n : sizeof(l->last) - 1;

	memcpy(l->last, text, keep);
	l->last[keep] = '\0';
	l->got++;
	l->got_bytes += n;
}

static void
run(struct ws_client *c)
{
	struct pollfd p = { .fd = c->fd, .events = ws_client_events(c) };
	struct err    e = { 0 };

	if (poll(&p, 1, 60 * 1000) != 1)
		die("langbot", "no answer within a minute");
	if (ws_client_run(c, p.revents, &e) == -1 || c->closed)
		die("langbot", c->closed ? c->reason : e.text);
}

static void
call(struct langbot *l, const char *action, const char *data)
{
	char       text[4096];
	struct err e = { 0 };
	size_t     before = l->got;
	int        n = snprintf(text, sizeof(text), "{\"seq_id\": %u, \"action\": \"%s\", \"data\": %s, " CONTEXT "}",
		   ++l->seq, action, data);

	if (ws_client_send(&l->rpc, text, (size_t)n, &e) == -1)
		die(action, e.text);
	while (l->got == before)
		run(&l->rpc);
	if (strstr(l->last, "\"code\": 0") == NULL && strstr(l->last, "\"code\":0") == NULL)
		die(action, l->last);
}

static int
attach(struct langbot *l, const char *url, const char *headers, struct err *e)
{
	char                  more[1024];
	const struct ws_where where = {
		.url = url,
		.path = "/v1/sessions/" SESSION "/managed-process/default/ws",
		.headers = more,
	};

	snprintf(more, sizeof(more),
	    "%sX-LangBot-Workspace-Id: bench\r\nX-LangBot-Placement-Generation: 1\r\nSec-WebSocket-Protocol: mcp\r\n",
	    headers);
	return ws_client_open(&l->relay, &where, e);
}

struct langbot *
langbot_open(const char *address, const char *token, struct err *e)
{
	struct langbot *l = calloc(1, sizeof(*l));
	char            url[128], headers[512];
	struct ws_where where = { .url = url, .path = "/rpc/ws", .headers = headers };

	if (l == NULL)
		die("langbot", "no memory");
	l->rpc.fd = l->relay.fd = -1;
	snprintf(url, sizeof(url), "ws://%s", address);
	snprintf(
	    headers, sizeof(headers), "X-LangBot-Instance-Id: bench\r\nX-LangBot-Box-Control-Token: %s\r\n", token);
	if (ws_client_open(&l->rpc, &where, e) == -1) {
		free(l);
		return NULL;
	}
	l->rpc.on_text = l->relay.on_text = on_text;
	l->rpc.arg = l->relay.arg = l;
	call(l, "box_create_session", "{\"session_id\": \"s\", \"workdir\": \"/tmp\"}");
	call(l, "box_start_managed_process",
	    "{\"session_id\": \"s\", \"spec\": {\"command\": \"cat\", \"cwd\": \"/tmp\"}}");
	if (attach(l, url, headers, e) == -1)
		die("relay", e->text);
	l->relay.on_text = on_text;
	l->relay.arg = l;
	return l;
}

void
langbot_close(struct langbot **lp)
{
	struct langbot *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	call(l, "box_delete_session", "{\"session_id\": \"s\"}");
	ws_client_close(&l->relay);
	ws_client_close(&l->rpc);
	free(l);
}

double
langbot_exec(struct langbot *l)
{
	uint64_t start = span_us();

	call(l, "box_exec", "{\"session_id\": \"s\", \"cmd\": \"true\", \"workdir\": \"/tmp\"}");
	return (double)(span_us() - start);
}

static void
relay_send(struct langbot *l, const char *text, size_t n)
{
	struct err e = { 0 };

	if (ws_client_send(&l->relay, text, n, &e) == -1)
		die("relay", e.text);
}

double
langbot_echo(struct langbot *l)
{
	static const char message[] = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}";
	uint64_t          start = span_us();
	size_t            before = l->got;

	relay_send(l, message, sizeof(message) - 1);
	while (l->got == before)
		run(&l->relay);
	return (double)(span_us() - start);
}

double
langbot_bulk(struct langbot *l, unsigned megabytes)
{
	static char line[LINE];
	size_t      lines = megabytes * (MIB / LINE), sent = 0, before = l->got;
	uint64_t    start = span_us();

	memset(line, 'x', sizeof(line) - 1);
	while (l->got - before < lines) {
		for (; sent < lines && sent - (l->got - before) < AHEAD; sent++)
			relay_send(l, line, sizeof(line) - 1);
		run(&l->relay);
	}
	return (double)megabytes / ((double)(span_us() - start) / 1e6);
}
