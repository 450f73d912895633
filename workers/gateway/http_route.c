#include "http_route.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "utf8.h"

static const char SESSIONS[] = "/v1/sessions/", PROCESS[] = "managed-process/";

/* ---- paths ----------------------------------------------------------------------- */

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One segment, percent-decoded: a string of UTF-8 that is not empty; -1 if it is not. */
static int
decode(char *out, size_t size, const char *in, size_t n)
{
	struct buf same = { 0 };
	size_t     len = 0;

	for (size_t i = 0; i < n; i++) {
		int high = in[i] == '%' && i + 2 < n ? hex(in[i + 1]) : -1;
		int low = high != -1 ? hex(in[i + 2]) : -1;

		if (len + 1 >= size || (in[i] == '%' && (low == -1 || (high | low) == 0)))
			return -1;
		out[len++] = in[i] == '%' ? (char)(high << 4 | low) : in[i];
		i += in[i] == '%' ? 2 : 0;
	}
	out[len] = '\0';
	bool valid = utf8_append(&same, out, len) && !same.failed;
	buf_clear(&same);
	return len > 0 && valid ? 0 : -1;
}

/* <session>/managed-process/<process>/ws, or without the process. */
static unsigned
find_relay(struct http_route *r, const char *path, size_t n, const char **why)
{
	const char *slash = memchr(path, '/', n);
	size_t      session = slash == NULL ? n : (size_t)(slash - path);

	if (session == 0 || slash == NULL)
		return 404;
	const char *rest = slash + 1;
	size_t      len = n - session - 1;
	if (len <= strlen(PROCESS) || memcmp(rest, PROCESS, strlen(PROCESS)) != 0)
		return 404;
	rest += strlen(PROCESS);
	len -= strlen(PROCESS);
	const char *process = "default";
	size_t      named = strlen(process);
	if (len != 2 || memcmp(rest, "ws", 2) != 0) {
		if (len < 4 || memcmp(rest + len - 3, "/ws", 3) != 0 || memchr(rest, '/', len - 3) != NULL)
			return 404;
		process = rest;
		named = len - 3;
	}
	r->kind = ROUTE_RELAY;
	*why = "the path is not percent-encoded UTF-8, or too long";
	if (decode(r->session, sizeof(r->session), path, session) == -1 ||
	    decode(r->process, sizeof(r->process), process, named) == -1)
		return 400;
	return 0;
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
