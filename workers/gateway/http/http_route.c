#include "http/http_route.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

static const char SESSIONS[] = "/v1/sessions/";

/* ---- paths ----------------------------------------------------------------------- */

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that an escape stands for, at the front of p[0..n); -1: it is not an escape, or it is NUL, which no name has. */
static int
escaped(const char *p, size_t n)
{
	int high = n >= 3 ? hex(p[1]) : -1;
	int low = n >= 3 ? hex(p[2]) : -1;

	return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

struct segment {
	const char *at;
	size_t      n;
};

/* A string of UTF-8 that is not empty; -1 if it is not, or does not fit. */
static int
decode(char out[LIM_NAME + 1], struct segment s)
{
	struct buf same = { 0 };
	size_t     len = 0;

	while (s.n > 0) {
		int    c = *s.at == '%' ? escaped(s.at, s.n) : *s.at;
		size_t used = *s.at == '%' ? 3 : 1;

		if (c == -1 || len == LIM_NAME)
			return -1;
		out[len++] = (char)c;
		s.at += used;
		s.n -= used;
	}
	out[len] = '\0';
	bool valid = utf8_append(&same, out, len) && !same.failed;
	buf_clear(&same);
	return len > 0 && valid ? 0 : -1;
}

/* The segments of path[0..n); more than there is room for are none of ours. */
static size_t
split(const char *path, size_t n, struct segment *v, size_t most)
{
	const char *end = path + n;
	size_t      count = 0;

	for (; count < most && path <= end; count++) {
		const char *slash = memchr(path, '/', (size_t)(end - path));

		v[count] = (struct segment){ path, (size_t)((slash != NULL ? slash : end) - path) };
		path = slash != NULL ? slash + 1 : end + 1;
	}
	return path <= end ? most + 1 : count;
}

static bool
is_word(struct segment s, const char *word)
{
	return s.n == strlen(word) && memcmp(s.at, word, s.n) == 0;
}

/* <session>/managed-process/<process>/ws, or without the process. */
static unsigned
find_relay(struct http_route *r, const char *path, size_t n, const char **why)
{
	struct segment v[4], process = { "default", strlen("default") };
	size_t         count = split(path, n, v, 4);

	if (count < 3 || count > 4 || !is_word(v[1], "managed-process") || !is_word(v[count - 1], "ws"))
		return 404;
	if (count == 4)
		process = v[2];
	if (v[0].n == 0 || process.n == 0)
		return 404;
	r->kind = ROUTE_RELAY;
	*why = "the path is not percent-encoded UTF-8, or too long";
	return decode(r->session, v[0]) == -1 || decode(r->process, process) == -1 ? 400 : 0;
}

unsigned
http_route_find(struct http_route *r, const char *target, const char **why)
{
	static const struct {
		const char          *path;
		enum http_route_kind kind;
	} plain[] = { { "/healthz", ROUTE_HEALTH }, { "/readyz", ROUTE_READY }, { "/rpc/ws", ROUTE_RPC } };
	size_t n = strcspn(target, "?");

	*r = (struct http_route){ .kind = ROUTE_NONE };
	*why = "Not Found";
	if (*target != '/' || strchr(target, '#') != NULL) {
		*why = "the target must be a path";
		return 400;
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strlen(plain[i].path) == n && memcmp(plain[i].path, target, n) == 0) {
			r->kind = plain[i].kind;
			return 0;
		}
	if (n > strlen(SESSIONS) && memcmp(target, SESSIONS, strlen(SESSIONS)) == 0)
		return find_relay(r, target + strlen(SESSIONS), n - strlen(SESSIONS), why);
	return 404;
}

/* ---- names ------------------------------------------------------------------------- */

static bool
is_port(const char *p)
{
	size_t n = strspn(p, "0123456789");

	return n <= 5 && p[n] == '\0';
}

/* The name or address in host[0..n). */
static bool
is_ours(const char *host, size_t n, const struct strs *names)
{
	char           name[256];
	struct in_addr v4;

	if (n == 0 || n >= sizeof(name))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	if (inet_pton(AF_INET, name, &v4) == 1 || strcasecmp(name, "localhost") == 0)
		return true;
	for (size_t i = 0; i < names->n; i++)
		if (strcasecmp(name, names->v[i]) == 0)
			return true;
	return false;
}

bool
http_host_is_ours(const char *host, const struct strs *names)
{
	char            name[INET6_ADDRSTRLEN];
	struct in6_addr v6;

	if (*host != '[') {
		size_t n = strcspn(host, ":");
		return (host[n] == '\0' || is_port(host + n + 1)) && is_ours(host, n, names);
	}
	size_t n = strcspn(host + 1, "]");
	if (n >= sizeof(name) || host[1 + n] != ']')
		return false;
	memcpy(name, host + 1, n);
	name[n] = '\0';
	const char *rest = host + n + 2;
	return inet_pton(AF_INET6, name, &v6) == 1 && (*rest == '\0' || (*rest == ':' && is_port(rest + 1)));
}

bool
http_origin_is_listed(const char *origin, const struct strs *origins)
{
	for (size_t i = 0; i < origins->n; i++)
		if (strcasecmp(origin, origins->v[i]) == 0)
			return true;
	return false;
}

uint64_t
http_generation(const char *text)
{
	uint64_t n = 0;

	if (*text < '1' || *text > '9')
		return 0;
	for (; *text != '\0'; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (*text < '0' || *text > '9' || n > (UINT64_MAX - digit) / 10)
			return 0;
		n = n * 10 + digit;
	}
	return n;
}
