#include "webbox.h"

#include <arpa/inet.h>

#include "base/fd.h"
#include "tap.h"

uint16_t web_port;

static int
listen_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          n = sizeof(a);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd != -1 && bind(fd, (struct sockaddr *)&a, sizeof(a)) != -1 && listen(fd, 64) != -1 &&
		 getsockname(fd, (struct sockaddr *)&a, &n) != -1,
	    "listen at 127.0.0.1: %s", strerror(errno));
	web_port = ntohs(a.sin_port);
	return fd;
}

void
web_plan(struct msg_gateway_start *s)
{
	msg_defaults(MSG_GATEWAY_START, s);
	s->max_connections = MAX_CONNECTIONS;
	s->uid = GATEWAY_UID;
}

void
web_start(struct msg_gateway_start *s)
{
	static char program[4096];
	AUTO_FD int http = listen_tcp();
	const char *build = getenv("BUILD");
	struct msg  m;

	gate_dirs();
	snprintf(program, sizeof(program), "%s/t/echo-gateway", build != NULL ? build : "build");
	gate_program = program;
	s->chroot = gate_jail;
	s->http = http;
	start_with(s);
	sup_until(MSG_GATEWAY_READY, &m);
	msg_clear(&m);
}

void
web_stop(void)
{
	cmp_ok(exit_of_gateway(), "==", 0, "the gateway ends in order");
	gate_close();
}

int
web_dial(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(web_port)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd != -1 && connect(fd, (struct sockaddr *)&a, sizeof(a)) != -1, "connect to port %u: %s", web_port,
	    strerror(errno));
	return fd;
}

struct client
web_open(void)
{
	struct client c = { .fd = web_dial() };
	struct msg    m;

	sup_until(MSG_CONN_OPEN, &m);
	c.conn = m.conn;
	msg_clear(&m);
	return c;
}

void
web_say(struct client *c, const char *fmt, ...)
{
	char    words[64 * 1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	must(n < (int)sizeof(words), "too much to say");
	say(c, words, (size_t)n);
}

const char *
web_hear(struct client *c)
{
	static struct buf last;

	while (client_read(c))
		;
	buf_clear(&last);
	buf_append(&last, c->in.data, c->in.len);
	buf_append(&last, "", 1);
	return last.data;
}

const char *
web_ask(const char *words)
{
	struct client c = web_open();

	say(&c, words, strlen(words));
	const char *heard = web_hear(&c);
	client_close(&c);
	return heard;
}

const char *
web_ask_refused(const char *words, enum err_code code, const char *text)
{
	struct client c = web_open();
	struct msg    m;

	say(&c, words, strlen(words));
	sup_until(MSG_HTTP_AUTH, &m);
	sup_fail(m.id, m.conn, code, text);
	msg_clear(&m);
	const char *heard = web_hear(&c);
	client_close(&c);
	return heard;
}

/* ---- WebSocket ------------------------------------------------------------------------ */

const char *
web_upgraded(struct client *c)
{
	static char head[4096];
	char       *end;

	for (;;) {
		buf_append(&c->in, "", 1);
		c->in.len--;
		if ((end = strstr(c->in.data, "\r\n\r\n")) != NULL)
			break;
		must(client_read(c), "no answer to an upgrade");
	}
	size_t n = (size_t)(end + 4 - c->in.data);
	snprintf(head, sizeof(head), "%.*s", (int)n, c->in.data);
	buf_drop(&c->in, n);
	return head;
}

static struct client
upgraded(struct client c, const char *path)
{
	struct msg_done done;
	struct msg      m;

	web_say(&c, "GET %s HTTP/1.1\r\n" WEB_UPGRADE "\r\n", path);
	sup_until(MSG_HTTP_AUTH, &m);
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	must(strncmp(web_upgraded(&c), "HTTP/1.1 101", 12) == 0, "no upgrade");
	return c;
}

struct client
web_socket_at(const char *path)
{
	return upgraded(web_open(), path);
}

struct client
web_socket(void)
{
	return web_socket_at("/rpc/ws");
}

void
web_frame(struct client *c, unsigned first, const void *bytes, size_t n)
{
	static const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	unsigned char              head[14] = { (unsigned char)first };
	int                        wide = n < 126 ? 0 : n < 65536 ? 2 : 8;
	struct buf                 b = { 0 };

	head[1] = (unsigned char)(0x80 | (wide == 0 ? (int)n : wide == 2 ? 126 : 127));
	for (int i = 0; i < wide; i++)
		head[2 + i] = (unsigned char)((uint64_t)n >> 8 * (wide - 1 - i));
	memcpy(head + 2 + wide, mask, 4);
	buf_append(&b, head, 6 + (size_t)wide);
	buf_append(&b, bytes, n);
	for (size_t i = 0; i < n; i++)
		b.data[b.len - n + i] ^= (char)mask[i % 4];
	say_buf(c, &b);
}

void
web_text(struct client *c, const char *text)
{
	web_frame(c, OP_FIN | OP_TEXT, text, strlen(text));
}

/* At least n bytes are in; false at the end of the stream. */
static bool
await(struct client *c, size_t n)
{
	while (c->in.len < n)
		if (!client_read(c))
			return false;
	return true;
}

struct frame
web_next(struct client *c)
{
	struct frame         f = { .first = -1 };
	const unsigned char *p;

	buf_drop(&c->in, c->used);
	c->used = 0;
	if (!await(c, 2))
		return f;
	p = (unsigned char *)c->in.data;
	size_t wide = p[1] == 126 ? 2 : p[1] == 127 ? 8 : 0;
	if (!await(c, 2 + wide))
		return f;
	p = (unsigned char *)c->in.data;
	f.n = wide == 0 ? p[1] : 0;
	for (size_t i = 0; i < wide; i++)
		f.n = f.n << 8 | p[2 + i];
	if (!await(c, 2 + wide + f.n))
		return f;
	f.first = (unsigned char)c->in.data[0];
	f.bytes = c->in.data + 2 + wide;
	c->used = 2 + wide + f.n;
	return f;
}

bool
web_hears(struct client *c, const char *text)
{
	struct frame f = web_next(c);
	bool         same = f.first == (OP_FIN | OP_TEXT) && f.n == strlen(text) && memcmp(f.bytes, text, f.n) == 0;

	if (!same)
		diag("heard 0x%x %.*s", f.first, f.first == -1 ? 0 : (int)(f.n < 200 ? f.n : 200), f.bytes);
	return same;
}

const char *
web_close_code(struct client *c)
{
	static char  told[160];
	struct frame f = web_next(c);

	if (f.first == (OP_FIN | OP_CLOSE) && f.n >= 2)
		snprintf(told, sizeof(told), "%u %.*s", (unsigned char)f.bytes[0] << 8 | (unsigned char)f.bytes[1],
		    (int)f.n - 2, f.bytes + 2);
	else
		snprintf(told, sizeof(told), "no close frame but 0x%x of %zu bytes", f.first, f.n);
	return told;
}

bool
web_ends(struct client *c)
{
	struct frame f = web_next(c);

	client_close(c);
	return f.first == -1;
}
