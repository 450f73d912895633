#include "dnsbox.h"

#include <arpa/inet.h>

#include "base/fd.h"
#include "dnswire.h"
#include "tap.h"

enum { HELD = 512 };

struct ev_loop  *loop;
struct namebox   server;
struct resolver *resolver;

/* ---- the server's answers, by the first label of the name ---------------------------------- */

size_t                    n_held;
static struct nb_question held[HELD];

static void
start_answer(struct buf *b, const struct nb_question *q, unsigned flags, unsigned an, unsigned ns)
{
	wire_head(b, q->id, QR | RD | RA | flags, 1, an, ns, 0);
	wire_question(b, q->name, q->type);
}

static void
answer_plain(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 0, 1, 0);
	if (q->type == T_TXT)
		wire_record(b, q->name, T_TXT, 300, "\5hello", 6);
	else
		wire_address(b, q->name, 300, q->type == T_AAAA ? "2606::1" : "93.184.216.34");
}

static void
answer_chain(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 0, 4, 0);
	wire_pointing(b, q->name, T_CNAME, "", 0, "cdn.other");
	wire_pointing(b, "cdn.other", T_CNAME, "", 0, "edge.other");
	wire_address(b, "edge.other", 60, "10.0.0.1");
	wire_address(b, "edge.other", 60, "1.1.1.1");
}

/* Too long for any UDP: there the server says so. */
static void
answer_long(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, q->is_tcp ? 0 : TC, q->is_tcp ? 50 : 0, 0);
	for (int i = 0; q->is_tcp && i < 50; i++)
		wire_record(b, q->name, T_TXT, 300,
		    "\x27"
		    "a text that is about as long as this one",
		    40);
}

/* Three kilobytes by TCP, which fill a socket soon. */
static void
answer_some(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 0, 20, 0);
	for (int i = 0; i < 20; i++)
		wire_record(b, q->name, T_TXT, 300,
		    "\x1f"
		    "a text for 512 bytes and more..",
		    32);
}

static void
answer_none(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 3, 0, 1);
	wire_soa(b, "test", 60);
}

static void
answer_failure(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 2, 0, 0);
}

static void
answer_loop(struct buf *b, const struct nb_question *q)
{
	start_answer(b, q, 0, 1, 0);
	wire_record(b, q->name, T_CNAME, 300, "\xc0\xff", 2);
	b->data[b->len - 1] = (char)(b->len - 2);
}

static void
answer_cut(struct buf *b, const struct nb_question *q)
{
	answer_plain(b, q);
	b->len -= 3;
}

/* Before the right answer, all that somebody could send who does not know the question. */
static void
answer_after_others(struct buf *b, const struct nb_question *q)
{
	struct nb_question other = *q;

	other.id ^= 0x55aa;
	start_answer(b, &other, 0, 1, 0);
	wire_address(b, q->name, 300, "6.6.6.6");
	namebox_send(q, b->data, b->len);
	b->len = 0;
	other = *q;
	strcpy(other.name, "evil.test");
	start_answer(b, &other, 0, 1, 0);
	wire_address(b, q->name, 300, "6.6.6.6");
	namebox_send(q, b->data, b->len);
	b->len = 0;
	namebox_send(q, "\0\0\0\0\0", 5);
	wire_head(b, q->id, QR | RA, 0, 0, 0, 0);
	namebox_send(q, b->data, b->len);
	b->len = 0;
	answer_plain(b, q);
}

static const struct {
	const char *label;
	void (*make)(struct buf *, const struct nb_question *);
} answers[] = {
	{ "a", answer_plain },
	{ "chain", answer_chain },
	{ "long", answer_long },
	{ "some", answer_some },
	{ "nx", answer_none },
	{ "fail", answer_failure },
	{ "loop", answer_loop },
	{ "cut", answer_cut },
	{ "others", answer_after_others },
};

static void
answer(const struct nb_question *q)
{
	struct buf b = { 0 };
	size_t     n = strcspn(q->name, ".");

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (strlen(answers[i].label) == n && strncmp(q->name, answers[i].label, n) == 0)
			answers[i].make(&b, q);
	if (b.len == 0)
		answer_plain(&b, q);
	namebox_send(q, b.data, b.len);
	buf_clear(&b);
}

void
dnsbox_asked(struct namebox *b, const struct nb_question *q)
{
	if (strncmp(q->name, "hold", 4) == 0) {
		must(n_held != HELD, "too many questions to hold");
		held[n_held++] = *q;
	} else if (strncmp(q->name, "never", 5) != 0)
		answer(q);
}

void
release(void)
{
	for (size_t i = 0; i < n_held; i++)
		answer(&held[i]);
	n_held = 0;
}

/* ---- a session ---------------------------------------------------------------------------- */

struct session s;

static void
append(char text[4096], const char *name, const char *rest)
{
	size_t n = strlen(text);

	snprintf(text + n, 4096 - n, "%s%s%s", n > 0 ? " " : "", name, rest);
}

static void
on_judge(void *arg, const char *name, struct verdict *v)
{
	struct session *x = arg;

	x->judged++;
	append(x->asked, name, "");
	*v = (struct verdict){ .allowed = strncmp(name, "deny", 4) != 0 };
}

static bool
on_address(void *arg, const char *name, const struct netaddr *a, uint32_t ttl)
{
	struct session *x = arg;
	char            rest[NETADDR_TEXT + 32], text[NETADDR_TEXT];

	if (netrange_of(a) != NULL) {
		x->refused_addresses++;
		return false;
	}
	snprintf(rest, sizeof(rest), "=%s/%u", netaddr_text(a, text), ttl);
	append(x->told, name, rest);
	return true;
}

static void
on_over_limit(void *arg)
{
	((struct session *)arg)->over_limit++;
}

static const struct dns_ops ops = { .judge = on_judge, .address = on_address, .over_limit = on_over_limit };

void
session_open(uint64_t bytes_per_minute)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          len = sizeof(a);
	struct err         e = { 0 };
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	s = (struct session){ .udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) };
	must(fd != -1 && s.udp != -1 && bind(fd, (struct sockaddr *)&a, len) != -1 &&
		 getsockname(fd, (struct sockaddr *)&a, &len) != -1 && connect(s.udp, (struct sockaddr *)&a, len) != -1,
	    "no sockets for a session");
	s.dns = dns_open(loop, resolver, fd, bytes_per_minute, &ops, &s, &e);
	must(s.dns != NULL, "dns_open: %s", e.text);
}

void
session_close(void)
{
	dns_close(&s.dns);
	fd_close(&s.udp);
}

/* ---- a client by UDP ------------------------------------------------------------------------ */

uint8_t got[65536];
size_t  n_got;

void
say(const void *bytes, size_t n)
{
	must(send(s.udp, bytes, n, 0) == (ssize_t)n, "send: %s", strerror(errno));
}

bool
hear(void)
{
	ssize_t n = recv(s.udp, got, sizeof(got), MSG_DONTWAIT);

	n_got = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

void
ask_udp(unsigned id, const char *name, unsigned type)
{
	struct buf b = { 0 };

	wire_ask(&b, id, name, type);
	say(b.data, b.len);
	buf_clear(&b);
}

unsigned
got_id(void)
{
	return (unsigned)(got[0] << 8 | got[1]);
}

const char *
lookup(const char *name, unsigned type)
{
	ask_udp(4711, name, type);
	UNTIL(hear());
	return got_id() == 4711 ? wire_text(got, n_got) : "another's reply";
}

/* ---- a client by TCP ------------------------------------------------------------------------ */

struct client
client_open(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != -1, "socketpair: %s", strerror(errno));
	dns_take(s.dns, pair[1]);
	return (struct client){ .fd = pair[0] };
}

void
client_close(struct client *c)
{
	fd_close(&c->fd);
	buf_clear(&c->in);
}

bool
client_say(struct client *c, const void *bytes, size_t n)
{
	return send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

void
put_framed(struct buf *b, unsigned id, const char *name, unsigned type)
{
	struct buf q = { 0 };

	wire_ask(&q, id, name, type);
	wire_u16(b, (unsigned)q.len);
	buf_append(b, q.data, q.len);
	buf_clear(&q);
}

bool
client_ask(struct client *c, unsigned id, const char *name, unsigned type)
{
	struct buf b = { 0 };

	put_framed(&b, id, name, type);
	bool said = client_say(c, b.data, b.len);
	buf_clear(&b);
	return said;
}

bool
client_hear(struct client *c)
{
	char    bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		buf_append(&c->in, bytes, (size_t)n);
	if (n == 0 || (n == -1 && errno != EAGAIN))
		c->ended = true;
	if (c->in.len < 2)
		return false;
	n_got = (size_t)((uint8_t)c->in.data[0] << 8 | (uint8_t)c->in.data[1]);
	if (c->in.len - 2 < n_got)
		return false;
	memcpy(got, c->in.data + 2, n_got);
	buf_drop(&c->in, 2 + n_got);
	return true;
}

const char *
client_lookup(struct client *c, const char *name, unsigned type)
{
	client_ask(c, 4712, name, type);
	UNTIL(client_hear(c) || c->ended);
	return c->ended ? "closed" : wire_text(got, n_got);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void
dnsbox_resolver(void)
{
	struct err  e = { 0 };
	const char *address = server.address;

	resolver = resolver_open(loop, &(struct strs){ 1, &address }, DNSBOX_SOCKETS, &e);
	must(resolver != NULL, "resolver_open: %s", e.text);
}

void
dnsbox_open(void)
{
	signal(SIGPIPE, SIG_IGN);
	loop = ev_default_loop(EVFLAG_AUTO);
	namebox_open(&server, loop, dnsbox_asked);
	dnsbox_resolver();
}

void
dnsbox_close(void)
{
	resolver_close(&resolver);
	namebox_close(&server);
	ev_loop_destroy(loop);
}
