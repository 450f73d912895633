/*
 *	edges SOCKET ADDRESS TOKEN
 *
 * Sends what edgenative.c and edgelangbot.c make up, in batches: all edges of one field.  Two bystanders, one
 * native and one of LangBot's, were there before and must answer after each batch.  Prints "N requests, M failed".
 */
#include "edges.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "wire/mp.h"
#include "workers/gateway/langbot/json.h"

enum { PATIENCE_MS = 60000, PIPELINE = 100 /* under the 128 that may be in flight */ };

unsigned long edges_sent, edges_failed;

static struct peer bystanders[2];

static void __attribute__((noreturn)) die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- peers ---- */

static void
dial(struct peer *p, const struct sockaddr *at, socklen_t n)
{
	*p = (struct peer){ .fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), .next = 1 };
	if (p->fd == -1 || connect(p->fd, at, n) == -1)
		die("connect");
}

void
peer_native(struct peer *p, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	dial(p, (struct sockaddr *)&at, sizeof(at));
}

static bool
fill(struct peer *p)
{
	struct pollfd ready = { .fd = p->fd, .events = POLLIN };

	if (poll(&ready, 1, PATIENCE_MS) != 1 || buf_reserve(&p->in, 65536) == -1)
		return false;
	ssize_t n = read(p->fd, p->in.data + p->in.len, 65536);
	if (n > 0)
		p->in.len += (size_t)n;
	return n > 0;
}

void
peer_web(struct peer *p, const char *address, const char *token)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	char               host[64], hello[1024];
	const char        *colon = strrchr(address, ':');

	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	at.sin_port = htons((uint16_t)atoi(colon + 1));
	inet_pton(AF_INET, host, &at.sin_addr);
	dial(p, (struct sockaddr *)&at, sizeof(at));
	p->web = true;
	int   n = snprintf(hello, sizeof(hello),
	      "GET /rpc/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
		"X-LangBot-Instance-Id: inst-1\r\nX-LangBot-Box-Control-Token: %s\r\n\r\n",
	      token);
	char *end = NULL;
	if (write(p->fd, hello, (size_t)n) != n)
		die("handshake");
	while (end == NULL && fill(p))
		end = memmem(p->in.data, p->in.len, "\r\n\r\n", 4);
	if (end == NULL || memcmp(p->in.data, "HTTP/1.1 101", 12) != 0)
		die("no WebSocket");
	buf_drop(&p->in, (size_t)(end + 4 - p->in.data));
}

void
peer_close(struct peer *p)
{
	close(p->fd);
	buf_clear(&p->in);
}

/* The gateway may not read on before its answers are read. */
static void
put_all(struct peer *p, const char *bytes, size_t n)
{
	while (n > 0) {
		struct pollfd ready = { .fd = p->fd, .events = POLLIN | POLLOUT };
		ssize_t       sent = 0;

		if (poll(&ready, 1, PATIENCE_MS) != 1)
			die("the gateway does not read");
		if (ready.revents & POLLIN && !fill(p))
			return; /* closed: seen by who waits for the answer */
		if (ready.revents & POLLOUT)
			sent = send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent == -1 && errno != EAGAIN)
			return;
		bytes += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
	}
}

/* A whole text: its length in as few bytes as it takes, and a mask of zeros. */
static void
put_head(struct buf *frame, size_t n)
{
	size_t        width = n < 126 ? 0 : n < 65536 ? 2 : 8;
	unsigned char head[14] = { 0x81, (unsigned char)(0x80 | (width == 0 ? n : width == 2 ? 126 : 127)) };

	for (size_t i = 0; i < width; i++)
		head[2 + i] = (unsigned char)(n >> 8 * (width - 1 - i));
	buf_append(frame, (char *)head, 2 + width + 4);
}

void
peer_put(struct peer *p, const void *bytes, size_t n)
{
	struct buf frame = { 0 };

	if (p->web)
		put_head(&frame, n);
	buf_append(&frame, bytes, n);
	put_all(p, frame.data, frame.len);
	buf_clear(&frame);
	edges_sent++;
}

/* Length of the first whole message that has come, and of the head before it; false: not yet. */
static bool
web_length(const struct peer *p, size_t *head, size_t *n)
{
	const unsigned char *b = (const unsigned char *)p->in.data;

	if (p->in.len < 2)
		return false;
	*head = b[1] == 126 ? 4 : b[1] == 127 ? 10 : 2;
	if (p->in.len < *head)
		return false;
	*n = *head == 2 ? b[1] : 0;
	for (size_t i = 2; i < *head; i++)
		*n = *n << 8 | b[i];
	return p->in.len >= *head + *n;
}

static bool
native_length(const struct peer *p, size_t *head, size_t *n)
{
	struct mp_scan scan = { 0 };

	*head = 0;
	if (p->in.len == 0 || mp_scan(&scan, p->in.data, p->in.len, LIM_CONN_OUT) != MP_WHOLE)
		return false;
	*n = scan.pos;
	return true;
}

bool
peer_take(struct peer *p, struct buf *out)
{
	size_t head, n;

	while (!(p->web ? web_length : native_length)(p, &head, &n))
		if (!fill(p))
			return false;
	unsigned char kind = (unsigned char)p->in.data[0];
	buf_clear(out);
	buf_append(out, p->in.data + head, n);
	buf_drop(&p->in, head + n);
	if (p->web && kind == 0x88)
		return false;
	return !p->web || kind == 0x81 ? true : peer_take(p, out); /* a ping: the gateway's own */
}

uint64_t
reply_id(const struct peer *p, const struct buf *b)
{
	static const char seq[] = "{\"seq_id\": ";
	msgpack_unpacked  u;
	uint64_t          id = 0;
	size_t            off = 0;

	if (p->web)
		return b->len > sizeof(seq) && memcmp(b->data, seq, sizeof(seq) - 1) == 0
			   ? strtoull(b->data + sizeof(seq) - 1, NULL, 10)
			   : 0;
	msgpack_unpacked_init(&u);
	if (msgpack_unpack_next(&u, b->data, b->len, &off) == MSGPACK_UNPACK_SUCCESS &&
	    u.data.type == MSGPACK_OBJECT_ARRAY && u.data.via.array.size == 4 &&
	    u.data.via.array.ptr[0].via.u64 == ENV_REPLY)
		id = u.data.via.array.ptr[1].via.u64;
	msgpack_unpacked_destroy(&u);
	return id;
}

/* ---- batches ---- */

static void
put_ping(struct peer *p)
{
	struct msg_ping none;
	struct packet   packet = { .stream = true };
	struct err      e;
	char            text[128];

	if (p->web) {
		int n = snprintf(
		    text, sizeof(text), "{\"seq_id\": %lu, \"action\": \"__ping\", \"data\": {}}", p->next);
		peer_put(p, text, (size_t)n);
	} else if (msg_encode(&packet, MSG_PING, p->next, 0, &none, &e) == 0)
		peer_put(p, packet.bytes.data, packet.bytes.len);
	packet_clear(&packet);
	p->next++;
}

static void
blame(const struct batch *b, const char *why, uint64_t id)
{
	printf("# %s: %s (%lu of it)\n", b->what, why, id - b->first);
	edges_failed++;
}

static bool
is_alive(struct peer *p)
{
	struct buf b = { 0 };
	uint64_t   id = p->next;
	bool       answered;

	put_ping(p);
	answered = peer_take(p, &b) && reply_id(p, &b) == id;
	if (!answered)
		printf("# instead of a reply: %.*s\n", (int)b.len, b.data);
	buf_clear(&b);
	return answered;
}

/* It is declared, and somebody on its way has no handler for it. */
static bool
is_unserved(const struct buf *b)
{
	static const char *const texts[] = { " is not for clients", " takes no ", " is not served" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (memmem(b->data, b->len, texts[i], strlen(texts[i])) != NULL)
			return true;
	return false;
}

void
batch_begin(struct batch *b, struct peer *p, const char *what)
{
	*b = (struct batch){ .peer = p, .first = p->next, .what = what };
}

void
batch_end(struct batch *b)
{
	struct peer *p = b->peer;
	size_t       n = p->next - b->first, left = n;
	struct buf   m = { 0 };
	bool        *answered = calloc(n + 1, sizeof(*answered));

	while (left > 0) {
		uint64_t id;

		if (!peer_take(p, &m)) {
			uint64_t first = 0;
			while (first < n && answered[first])
				first++;
			blame(b, "closed, or not answered", b->first + first);
			printf("0 requests: the connection is gone\n");
			exit(1);
		}
		id = reply_id(p, &m);
		if (id == 0)
			continue; /* output */
		if (id < b->first || id >= p->next || answered[id - b->first])
			blame(b, "an answer to nothing, or a second one", id);
		else {
			if (is_unserved(&m))
				blame(b, "nobody serves it", id);
			answered[id - b->first] = true;
			left--;
		}
	}
	for (int i = 0; i < 2; i++)
		if (!is_alive(&bystanders[i])) {
			blame(b, "a bystander was cut off", b->first);
			printf("0 requests: a bystander is gone\n");
			exit(1);
		}
	free(answered);
	buf_clear(&m);
}

int
main(int argc, char **argv)
{
	struct peer p;

	if (argc != 4)
		return 2;
	alarm(600); /* no measure of speed: a test that hangs should end one day */
	log_init("edges", LOG_ERROR);
	setvbuf(stdout, NULL, _IOLBF, 0);
	peer_native(&bystanders[0], argv[1]);
	peer_web(&bystanders[1], argv[2], argv[3]);
	peer_native(&p, argv[1]);
	edges_native(&p);
	printf("# native: %lu requests\n", edges_sent);
	peer_close(&p);
	peer_web(&p, argv[2], argv[3]);
	edges_langbot(&p);
	printf("# LangBot: %lu requests\n", edges_sent);
	edges_envelope(&p);
	peer_close(&p);
	peer_close(&bystanders[0]);
	peer_close(&bystanders[1]);
	printf("%s requests, %lu failed\n", edges_sent > 10000 ? "many" : "few", edges_failed);
	return edges_failed > 0;
}
