/*
 * LangBot's stdio transport: lines of our standard input become messages of a WebSocket to boxd, and its messages lines of
 * our standard output.  Nothing else is ever written there.  Each side is read only while the other takes what it gets.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "copy/sink.h"
#include "langbot/stdio_frames.h"
#include "langbot/ws_client.h"
#include "text.h"

#define INSTANCE "LANGBOT_BOX_TRUSTED_INSTANCE_UUID"
#define TOKEN "LANGBOT_BOX_CONTROL_TOKEN"
#define HIGH (256 * KIB) /* bytes that wait for one side: the other is not read */

enum { NORMAL = 1000, PROTOCOL = 1002, GOODBYE_MS = 5000 };

struct bridge {
	struct ws_client ws;
	struct interrupt in;
	struct stdio_in  frames;
	struct sink      out;
	bool             ended;  /* our standard input has */
	bool             broken; /* for a reason */
	struct err       why;
};

/* ---- who we are ---- */

/* Without blanks around it; NULL: not set, or blank. */
static const char *
stripped(const char *name, char *to, size_t size)
{
	const char *v = getenv(name);
	size_t      n;

	if (v == NULL)
		return NULL;
	v += strspn(v, " \t\r\n\v\f");
	for (n = strlen(v); n > 0 && strchr(" \t\r\n\v\f", v[n - 1]) != NULL;)
		n--;
	if (n == 0)
		return NULL;
	snprintf(to, size, "%.*s", (int)(n < size ? n : size), v);
	return to;
}

static bool
is_instance(const char *s)
{
	static const char ends[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";

	return strlen(s) <= 128 && strspn(s, ends) == strlen(s) && strchr("._:-", *s) == NULL;
}

static bool
is_secret(const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return strlen(s) >= 32;
}

static int
make_headers(struct buf *out, struct err *e)
{
	char        instance[256], token[LIM_TOKEN + 2];
	const char *who = stripped(INSTANCE, instance, sizeof(instance)),
		   *secret = stripped(TOKEN, token, sizeof(token));

	if (who == NULL)
		return err_set(e, E_INVALID, INSTANCE " is required for stdio Box control");
	if (!is_instance(who))
		return err_set(e, E_INVALID, "A valid trusted LangBot instance UUID is required");
	if (secret != NULL && (!is_secret(secret) || strlen(secret) > LIM_TOKEN))
		return err_set(e, E_INVALID, TOKEN " must be a non-whitespace secret of at least 32 characters");
	buf_printf(out, "X-LangBot-Instance-Id: %s\r\n", who);
	if (secret != NULL)
		buf_printf(out, "X-LangBot-Box-Control-Token: %s\r\n", secret);
	explicit_bzero(token, sizeof(token));
	return out->failed ? err_set(e, E_SYS, "no memory for a request") : 0;
}

/* ---- both ways ---- */

static void
on_text(void *arg, const char *text, size_t n)
{
	struct bridge *b = arg;
	struct buf     lines = { 0 };

	stdio_put(&lines, text, n);
	struct blob bytes = blob_of(lines.data, lines.len);
	if (lines.failed || sink_push(&b->out, b->out.got, &bytes, &b->why) == -1) {
		err_set(&b->why, E_SYS, "no memory for a message of boxd");
		b->broken = true;
	}
	buf_clear(&lines);
	b->ws.paused = b->out.pending.len - b->out.at >= HIGH;
}

/* True: there may be another. */
static bool
pass_on(struct bridge *b, enum stdio_got got, struct buf *message)
{
	if (got == STDIO_BROKEN)
		b->broken = true;
	if (got != STDIO_MESSAGE)
		return false;
	b->broken = ws_client_send(&b->ws, message->data, message->len, &b->why) == -1;
	buf_clear(message);
	return !b->broken;
}

static void
on_stdin(struct bridge *b)
{
	char        bytes[64 * KIB];
	const char *at = bytes;
	struct buf  message = { 0 };
	ssize_t     n = read(STDIN_FILENO, bytes, sizeof(bytes));
	size_t      left = n > 0 ? (size_t)n : 0;

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	while (pass_on(b, stdio_take(&b->frames, &at, &left, &message, &b->why), &message))
		;
	if (n > 0)
		return;
	b->ended = true;
	if (n == -1) {
		err_sys(&b->why, "read standard input");
		b->broken = true;
	} else {
		pass_on(b, stdio_end(&b->frames, &message, &b->why), &message);
	}
}

static void
on_stdout(struct bridge *b)
{
	sink_flush(&b->out);
	b->ws.paused = b->out.pending.len - b->out.at >= HIGH;
	if (b->out.failed != 0) {
		err_set(&b->why, E_SYS, "write standard output: %s", strerror(b->out.failed));
		b->broken = true;
	}
}

/* Until one side ends. */
static void
loop(struct bridge *b)
{
	while (!b->ended && !b->broken && !b->ws.closed && b->in.count == 0) {
		struct pollfd p[] = {
			{ .fd = b->in.fd, .events = POLLIN },
			{ .fd = b->ws.fd, .events = ws_client_events(&b->ws) },
			{ .fd = sink_waits(&b->out) ? b->out.fd : -1, .events = POLLOUT },
			{ .fd = ws_client_queued(&b->ws) < HIGH ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(p, 4, ws_client_has_input(&b->ws) ? 0 : -1) == -1)
			continue; /* EINTR, the only one with valid arguments */
		if (p[0].revents != 0)
			interrupt_read(&b->in);
		if (p[2].revents != 0)
			on_stdout(b);
		if (p[3].revents != 0)
			on_stdin(b);
		if (!b->broken && ws_client_run(&b->ws, p[1].revents, &b->why) == -1)
			b->broken = true;
	}
}

/* ---- the end ---- */

/* What we said before reaches boxd; its goodbye is awaited, for a while. */
static void
say_goodbye(struct bridge *b, unsigned code)
{
	struct err ignored;

	if (b->ws.closed)
		return;
	b->ws.paused = false;
	ws_client_finish(&b->ws, code);
	while (!b->ws.closed && b->out.failed == 0) {
		struct pollfd p = { .fd = b->ws.fd, .events = ws_client_events(&b->ws) };

		if (p.events == 0 || poll(&p, 1, GOODBYE_MS) <= 0 || ws_client_run(&b->ws, p.revents, &ignored) == -1)
			return;
	}
}

/* What boxd said before the end is still LangBot's. */
static void
flush_rest(struct bridge *b)
{
	while (sink_waits(&b->out)) {
		struct pollfd p = { .fd = b->out.fd, .events = POLLOUT };

		if (poll(&p, 1, GOODBYE_MS) <= 0)
			return;
		sink_flush(&b->out);
	}
}

static int
verdict(struct bridge *b)
{
	if (b->broken) {
		complain("%s", b->why.text);
		return EXIT_REFUSED;
	}
	if (b->ended)
		return EXIT_OK;
	if (b->in.count > 0)
		return 128 + b->in.signal;
	if (b->ws.code != 0)
		complain("boxd closed the connection: %u %s", b->ws.code, b->ws.reason);
	else
		complain("boxd is gone");
	return EXIT_REFUSED;
}

static int
bridge_run(struct bridge *b)
{
	sink_init(&b->out, STDOUT_FILENO, STREAM_STDOUT, "stdout");
	b->ws.on_text = on_text;
	b->ws.arg = b;
	loop(b);
	bool ended = b->ended || b->in.count > 0;
	if (ended || b->broken)
		say_goodbye(b, ended ? NORMAL : PROTOCOL);
	flush_rest(b);
	sink_clear(&b->out);
	stdio_clear(&b->frames);
	return verdict(b);
}

int
cmd_langbot_stdio(const struct args *a)
{
	struct bridge   b = { .ws.fd = -1, .in.fd = -1 };
	struct buf      headers = { 0 };
	struct ws_where where = { .socket = a->socket, .url = a->url, .path = "/rpc/ws" };
	struct err      e;
	int             code = EXIT_REFUSED;

	int ready = make_headers(&headers, &e);
	buf_append(&headers, "", 1);
	where.headers = headers.data;
	if (ready == 0 && (ready = ws_client_open(&b.ws, &where, &e)) == 0)
		ready = interrupt_open(&b.in, &e);
	explicit_bzero(headers.data, headers.len); /* it has the token */
	buf_clear(&headers);
	if (ready == 0)
		code = bridge_run(&b);
	else
		complain("%s", e.text);
	ws_client_close(&b.ws);
	interrupt_close(&b.in);
	return code;
}
