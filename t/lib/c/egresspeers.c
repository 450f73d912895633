/* The other side: servers of the internet, and a name server. */
#include <arpa/inet.h>

#include "base/fd.h"
#include "egressbox.h"
#include "egressworld.h"
#include "tap.h"

/* ---- servers ------------------------------------------------------------------------ */

enum { GUESTS = 2048, CHUNK = 262144 };

struct serving {
	struct pollfd v[GUESTS + 1]; /* the first is the listener */
	uint64_t      bytes[GUESTS + 1];
	nfds_t        n;
	bool          echo;
};

static void
leave(struct serving *s, nfds_t i)
{
	close(s->v[i].fd);
	s->n--;
	s->v[i] = s->v[s->n];
	s->bytes[i] = s->bytes[s->n];
}

static void
tell_number(int fd, uint64_t n)
{
	char text[32];

	(void)!write(fd, text, (size_t)snprintf(text, sizeof(text), "%lu\n", n));
}

/* false: it is over. */
static bool
serve_one(struct serving *s, nfds_t i)
{
	static char bytes[CHUNK];
	ssize_t     n = read(s->v[i].fd, bytes, sizeof(bytes));

	if (n <= 0) {
		if (n == 0 && !s->echo)
			tell_number(s->v[i].fd, s->bytes[i]);
		return false;
	}
	s->bytes[i] += (uint64_t)n;
	for (ssize_t sent = 0, r; s->echo && sent < n; sent += r)
		if ((r = write(s->v[i].fd, bytes + sent, (size_t)(n - sent))) <= 0)
			return false;
	return true;
}

static void
serve(int listener, bool echo)
{
	static struct serving s;

	s.v[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	s.n = 1;
	s.echo = echo;
	for (;;) {
		s.v[0].events = s.n <= GUESTS ? POLLIN : 0;
		poll(s.v, s.n, -1);
		for (nfds_t i = s.n - 1; i > 0; i--)
			if (s.v[i].revents != 0 && !serve_one(&s, i))
				leave(&s, i);
		if (s.v[0].revents == 0)
			continue;
		s.bytes[s.n] = 0;
		s.v[s.n] = (struct pollfd){ .fd = accept(listener, NULL, NULL), .events = POLLIN };
		s.n += s.v[s.n].fd != -1;
	}
}

void
serve_echo(int listener)
{
	serve(listener, true);
}

void
serve_sink(int listener)
{
	serve(listener, false);
}

/* ---- names ----------------------------------------------------------------------------- */

enum { HEADER = 12, TYPE_A = 1, NXDOMAIN = 3 };

static const char *names;

/* The name of a question, with dots; where it ends. */
static size_t
read_name(const uint8_t *p, size_t n, char *name)
{
	size_t at = HEADER;

	*name = '\0';
	while (at < n && p[at] != 0 && at + p[at] < n) {
		name += sprintf(name, "%.*s.", p[at], (const char *)p + at + 1);
		at += p[at] + 1U;
	}
	if (*name == '\0' && at > HEADER)
		name[-1] = '\0';
	return at + 1;
}

static size_t
answer(uint8_t *p, size_t n)
{
	char     name[512], line[512];
	unsigned a[4], found = 0;
	size_t   end = read_name(p, n, name) + 4;
	bool     ipv4 = end <= n && p[end - 3] == TYPE_A;

	n = end;
	for (const char *t = names; *t != '\0'; t += strcspn(t, "\n"), t += *t == '\n') {
		if (sscanf(t, "%511s %u.%u.%u.%u", line, &a[0], &a[1], &a[2], &a[3]) != 5 ||
		    strcasecmp(line, name) != 0)
			continue;
		found++;
		if (!ipv4)
			continue;
		const uint8_t record[] = { 0xc0, HEADER, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, (uint8_t)a[0],
			(uint8_t)a[1], (uint8_t)a[2], (uint8_t)a[3] };
		memcpy(p + n, record, sizeof(record));
		n += sizeof(record);
		p[7]++;
	}
	p[2] = 0x81;
	p[3] = found > 0 ? 0x80 : 0x80 | NXDOMAIN;
	p[10] = p[11] = 0; /* EDNS is not spoken here */
	return n;
}

static void
serve_names(int s)
{
	uint8_t            p[4096];
	struct sockaddr_in from;

	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t   n = recvfrom(s, p, 1024, 0, (struct sockaddr *)&from, &len);

		if (n <= HEADER)
			continue;
		p[6] = p[7] = p[8] = p[9] = 0;
		sendto(s, p, answer(p, (size_t)n), 0, (struct sockaddr *)&from, len);
	}
}

void
net_names(const char *table)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(53) };
	AUTO_FD int        s = world_socket(world_net(), AF_INET, SOCK_DGRAM);
	int                on = 1;

	inet_pton(AF_INET, "9.9.9.9", &at.sin_addr);
	/* any address is local there, but not in the table that bind(2) asks */
	must(setsockopt(s, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) != -1 &&
		 bind(s, (struct sockaddr *)&at, sizeof(at)) != -1,
	    "name server: %s", strerror(errno));
	names = table;
	helper(serve_names, s);
}

static size_t
write_question(uint8_t *p, const char *name)
{
	size_t at = HEADER;

	memset(p, 0, HEADER);
	p[1] = 7;
	p[2] = 1; /* recursion */
	p[5] = 1;
	for (size_t n; *name != '\0'; name += n + (name[n] == '.')) {
		n = strcspn(name, ".");
		p[at++] = (uint8_t)n;
		memcpy(p + at, name, n);
		at += n;
	}
	memcpy(p + at, "\0\0\1\0\1", 5);
	return at + 5;
}

const char *
inside_resolve(const struct sandbox *box, const char *name)
{
	static char        text[256];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	uint8_t            p[4096];
	AUTO_FD int        s = world_socket(box->ns, AF_INET, SOCK_DGRAM);
	size_t             n = write_question(p, name), at = n, used = 0;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(sendto(s, p, n, 0, (struct sockaddr *)&to, sizeof(to)) != -1, "ask: %s", strerror(errno));
	ssize_t got_bytes = recv(s, p, sizeof(p), 0);
	text[0] = '\0';
	if (got_bytes < HEADER || (p[3] & 0xf) != 0) {
		snprintf(text, sizeof(text), "rcode %d", p[3] & 0xf);
		return text;
	}
	/* records of ours and of box-egress have a pointer as their name */
	for (int i = p[6] << 8 | p[7]; i > 0 && at + 16 <= (size_t)got_bytes && used < 200; i--, at += 16)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d.%d.%d.%d", used > 0 ? " " : "",
		    p[at + 12], p[at + 13], p[at + 14], p[at + 15]);
	return text;
}
