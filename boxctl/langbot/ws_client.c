/*
 * The handshake is done with plain reads and writes under a deadline, byte by byte to its end, so that nothing behind it
 * is lost; from then on wslay speaks, and asks us for bytes.
 */
#include "langbot/ws_client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "text.h"

#define PORT "5410"

enum { SOCKET_BYTES = 256 * 1024, HANDSHAKE_MS = 10000, KEY_BYTES = 16, KEY_TEXT = 24, ACCEPT_TEXT = 28 };

/* ---- connecting ---- */

static int
connect_unix(const char *path, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	AUTO_FD int        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return err_sys(e, "socket");
	if (strlen(path) >= sizeof(to.sun_path))
		return err_set(e, E_INVALID, "socket path '%s': is too long", path);
	strcpy(to.sun_path, path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1)
		return err_sys(e, "cannot reach boxd at %s", path);
	return fd_take(&fd);
}

/* ws://host[:port][/], with [..] around an address of IPv6. */
static int
split_url(const char *url, char host[256], char port[16], struct err *e)
{
	const char *at = url + 5, *end, *colon;

	if (strncasecmp(url, "ws://", 5) != 0)
		return err_set(e, E_INVALID, "--url: '%s' does not begin with ws://", text_safe(url));
	if (*at == '[') {
		end = strchr(++at, ']');
		colon = end != NULL && end[1] == ':' ? end + 1 : NULL;
	} else {
		end = at + strcspn(at, ":/");
		colon = *end == ':' ? end : NULL;
	}
	if (end == NULL || end == at || end - at > 255)
		return err_set(e, E_INVALID, "--url: '%s' names no host", text_safe(url));
	snprintf(host, 256, "%.*s", (int)(end - at), at);
	size_t n = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
	if (colon != NULL && (n == 0 || n > 5 || (colon[1 + n] != '\0' && colon[1 + n] != '/')))
		return err_set(e, E_INVALID, "--url: '%s' names no port", text_safe(url));
	snprintf(port, 16, "%.*s", colon != NULL ? (int)n : (int)strlen(PORT), colon != NULL ? colon + 1 : PORT);
	return 0;
}

static int
connect_tcp(const char *url, char host[256], struct err *e)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo      *all = NULL;
	char                  port[16];

	if (split_url(url, host, port, e) == -1)
		return -1;
	int r = getaddrinfo(host, port, &want, &all);
	if (r != 0)
		return err_set(e, E_SYS, "cannot reach boxd at %s: %s", text_safe(url), gai_strerror(r));
	int fd = -1;
	for (struct addrinfo *a = all; a != NULL && fd == -1; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd != -1 && connect(fd, a->ai_addr, a->ai_addrlen) == -1) {
			int why = errno;

			fd_close(&fd);
			errno = why;
		}
	}
	freeaddrinfo(all);
	/* a frame's head and its payload are written one after the other: neither must wait for an acknowledgement */
	if (fd != -1)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd != -1 ? fd : err_sys(e, "cannot reach boxd at %s", text_safe(url));
}

/* ---- the handshake ---- */

static void
make_key(char key[KEY_TEXT + 1])
{
	unsigned char bytes[KEY_BYTES] = { 0 };

	(void)!getrandom(bytes, sizeof(bytes), 0);
	EVP_EncodeBlock((unsigned char *)key, bytes, sizeof(bytes));
}

static void
expected(const char *key, char accept[ACCEPT_TEXT + 1])
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	char          text[KEY_TEXT + 37];

	snprintf(text, sizeof(text), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
	SHA1((unsigned char *)text, strlen(text), digest);
	EVP_EncodeBlock((unsigned char *)accept, digest, sizeof(digest));
}

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int
wait_until(int fd, short events, int64_t deadline, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t       left = deadline - now_ms();

	if (left <= 0 || poll(&p, 1, (int)left) == 0)
		return err_set(e, E_CRASH, "boxd does not answer");
	return 0;
}

static int
send_all(int fd, const struct buf *b, int64_t deadline, struct err *e)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = send(fd, b->data + at, b->len - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, "send to boxd");
		else if (wait_until(fd, POLLOUT, deadline, e) == -1)
			return -1;
	}
	return 0;
}

/* Up to the empty line, and what came behind it; the length of the head, or -1. */
static ssize_t
read_head(int fd, struct buf *in, int64_t deadline, struct err *e)
{
	char *end;

	while (in->len == 0 || (end = memmem(in->data, in->len, "\r\n\r\n", 4)) == NULL) {
		if (in->len > LIM_HTTP_HEADER)
			return err_set(e, E_PROTO, "the server is not boxd: its headers have no end");
		if (buf_reserve(in, 4096) == -1)
			return err_set(e, E_SYS, "no memory for an answer");
		ssize_t n = recv(fd, in->data + in->len, 4096, MSG_DONTWAIT);
		if (n > 0)
			in->len += (size_t)n;
		else if (n == 0)
			return err_set(e, E_CRASH, "boxd closed the connection without an answer");
		else if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, "read from boxd");
		else if (wait_until(fd, POLLIN, deadline, e) == -1)
			return -1;
	}
	return end + 4 - in->data;
}

/* The value of a header, in head[0..n), or NULL. */
static const char *
header(const char *head, size_t n, const char *name, size_t *len)
{
	size_t want = strlen(name);

	for (const char *line = head, *end = head + n, *next; line < end; line = next) {
		const char *cr = memchr(line, '\r', (size_t)(end - line));

		if (cr == NULL)
			break;
		next = cr + 2;
		if ((size_t)(cr - line) <= want || line[want] != ':' || strncasecmp(line, name, want) != 0)
			continue;
		line += want + 1;
		while (line < cr && (*line == ' ' || *line == '\t'))
			line++;
		while (cr > line && (cr[-1] == ' ' || cr[-1] == '\t'))
			cr--;
		*len = (size_t)(cr - line);
		return line;
	}
	return NULL;
}

/* "HTTP/1.1 401 Unauthorized" and the first words of its body. */
static int
refused(const struct buf *in, size_t head, struct err *e)
{
	size_t line = (size_t)((char *)memchr(in->data, '\r', head) - in->data), n = in->len - head;
	char   status[128], body[256];

	snprintf(status, sizeof(status), "%.*s", (int)line, in->data);
	snprintf(body, sizeof(body), "%.*s", (int)(n < 255 ? n : 255), in->data + head);
	err_set(e, E_DENIED, "boxd refused: %s", text_safe(status));
	if (body[0] != '\0')
		snprintf(e->text + strlen(e->text), sizeof(e->text) - strlen(e->text), ": %s", text_safe(body));
	return -1;
}

static int
check_answer(const struct buf *in, size_t head, const char *key, struct err *e)
{
	char        want[ACCEPT_TEXT + 1];
	size_t      n = 0;
	const char *accept = header(in->data, head, "Sec-WebSocket-Accept", &n);

	if (head < 12 || strncmp(in->data, "HTTP/1.1 ", 9) != 0)
		return err_set(e, E_PROTO, "the server is not boxd: it does not speak HTTP");
	if (strncmp(in->data + 9, "101", 3) != 0)
		return refused(in, head, e);
	expected(key, want);
	if (accept == NULL || n != ACCEPT_TEXT || memcmp(accept, want, n) != 0)
		return err_set(e, E_PROTO, "the server is not boxd: its handshake is wrong");
	return 0;
}

static int
shake_hands(struct ws_client *c, const char *host, const struct ws_where *where, struct err *e)
{
	struct buf ask = { 0 };
	char       key[KEY_TEXT + 1];
	int64_t    deadline = now_ms() + HANDSHAKE_MS;
	bool       v6 = strchr(host, ':') != NULL;

	make_key(key);
	buf_printf(&ask,
	    "GET %s HTTP/1.1\r\nHost: %s%s%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
	    where->path, v6 ? "[" : "", host, v6 ? "]" : "", key, where->headers);
	int r = ask.failed ? err_set(e, E_SYS, "no memory for a request") : send_all(c->fd, &ask, deadline, e);
	buf_clear(&ask);
	ssize_t head = r == 0 ? read_head(c->fd, &c->in, deadline, e) : -1;
	if (head == -1 || check_answer(&c->in, (size_t)head, key, e) == -1)
		return -1;
	buf_drop(&c->in, (size_t)head);
	return 0;
}

/* ---- wslay asks ---- */

/* wslay reads and writes in pieces of 4 KiB; the socket is asked for many of them at once. */
static ssize_t
in_fill(struct ws_client *c)
{
	ssize_t n;

	c->in.len = c->in_at = 0;
	if (buf_reserve(&c->in, SOCKET_BYTES) == -1) {
		errno = ENOMEM;
		return -1;
	}
	do
		n = recv(c->fd, c->in.data, SOCKET_BYTES, MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	c->in.len = n > 0 ? (size_t)n : 0;
	c->closed = c->closed || n == 0;
	return n;
}

static ssize_t
on_recv(wslay_event_context_ptr ctx, uint8_t *to, size_t n, int flags, void *arg)
{
	struct ws_client *c = arg;

	if (c->paused || (c->in_at == c->in.len && in_fill(c) <= 0)) {
		wslay_event_set_error(ctx,
		    c->paused || (!c->closed && errno == EAGAIN) ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	n = n < c->in.len - c->in_at ? n : c->in.len - c->in_at;
	memcpy(to, c->in.data + c->in_at, n);
	c->in_at += n;
	return (ssize_t)n;
}

/* 0 all of it is sent, 1 not yet, -1 it cannot be. */
static int
out_flush(struct ws_client *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n == -1 && errno == EAGAIN)
			return 1;
		if (n == -1 && errno != EINTR)
			return -1;
		c->out_at += n > 0 ? (size_t)n : 0;
	}
	c->out.len = c->out_at = 0;
	return 0;
}

static ssize_t
on_send(wslay_event_context_ptr ctx, const uint8_t *bytes, size_t n, int flags, void *arg)
{
	struct ws_client *c = arg;
	int               r = c->out.len < SOCKET_BYTES ? 0 : out_flush(c);

	if (r == 0) {
		buf_append(&c->out, bytes, n);
		r = c->out.failed ? -1 : 0;
	}
	if (r == 0)
		return (ssize_t)n;
	wslay_event_set_error(ctx, r == 1 ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static int
on_mask(wslay_event_context_ptr ctx, uint8_t *to, size_t n, void *arg)
{
	if (getrandom(to, n, 0) == (ssize_t)n)
		return 0;
	wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static void
on_message(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
	struct ws_client *c = arg;
	size_t            n = m->msg_length;

	if (m->opcode == WSLAY_TEXT_FRAME) {
		c->on_text(c->arg, (const char *)m->msg, n);
	} else if (m->opcode == WSLAY_CONNECTION_CLOSE) {
		c->closed = true;
		c->code = n >= 2 ? m->status_code : 0;
		snprintf(c->reason, sizeof(c->reason), "%.*s", n > 2 ? (int)(n - 2) : 0, (const char *)m->msg + 2);
	}
}

/* ---- the whole ---- */

int
ws_client_open(struct ws_client *c, const struct ws_where *where, struct err *e)
{
	static const struct wslay_event_callbacks ask = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.genmask_callback = on_mask,
		.on_msg_recv_callback = on_message,
	};
	char host[256] = "localhost";

	c->fd = where->url != NULL ? connect_tcp(where->url, host, e) : connect_unix(where->socket, e);
	if (c->fd == -1 || shake_hands(c, host, where, e) == -1)
		return -1;
	if (wslay_event_context_client_init(&c->ctx, &ask, c) != 0)
		return err_set(e, E_SYS, "no memory for a connection");
	wslay_event_config_set_max_recv_msg_length(c->ctx, LIM_WS_MESSAGE);
	return 0;
}

void
ws_client_close(struct ws_client *c)
{
	if (c->ctx != NULL)
		wslay_event_context_free(c->ctx);
	c->ctx = NULL;
	fd_close(&c->fd);
	buf_clear(&c->in);
	buf_clear(&c->out);
}

int
ws_client_send(struct ws_client *c, const char *text, size_t n, struct err *e)
{
	const struct wslay_event_msg m = { WSLAY_TEXT_FRAME, (const uint8_t *)text, n };

	if (wslay_event_queue_msg(c->ctx, &m) != 0)
		return err_set(e, E_SYS, "a message of %zu bytes cannot be sent", n);
	return 0;
}

size_t
ws_client_queued(const struct ws_client *c)
{
	return wslay_event_get_queued_msg_length(c->ctx) + c->out.len - c->out_at;
}

bool
ws_client_has_input(const struct ws_client *c)
{
	return !c->paused && c->in_at < c->in.len;
}

short
ws_client_events(const struct ws_client *c)
{
	bool reads = !c->paused && wslay_event_want_read(c->ctx);

	return (short)((reads ? POLLIN : 0) | (wslay_event_want_write(c->ctx) || c->out_at < c->out.len ? POLLOUT : 0));
}

int
ws_client_run(struct ws_client *c, short revents, struct err *e)
{
	bool lost = false;

	if ((revents & ~POLLOUT) != 0 || c->in_at < c->in.len)
		lost = !c->paused && wslay_event_recv(c->ctx) != 0;
	if (!lost && wslay_event_want_write(c->ctx))
		lost = wslay_event_send(c->ctx) != 0;
	lost = lost || out_flush(c) == -1;
	return lost && !c->closed ? err_set(e, E_CRASH, "the connection to boxd is lost") : 0;
}

void
ws_client_finish(struct ws_client *c, unsigned code)
{
	wslay_event_queue_close(c->ctx, (uint16_t)code, NULL, 0);
}
