#include "auth/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"

enum { BACKLOG = 128 };

static int
port_parse(const char *text, in_port_t *port)
{
	char *end;

	if (!isdigit((unsigned char)*text) || strlen(text) > 5)
		return -1;
	unsigned long n = strtoul(text, &end, 10);
	if (*end != '\0' || n > UINT16_MAX)
		return -1;
	*port = htons((in_port_t)n);
	return 0;
}

/* What is before the last colon, without its brackets. */
static int
host_parse(struct address *a, const char *text, size_t n)
{
	bool bracketed = n > 2 && text[0] == '[' && text[n - 1] == ']';
	char host[INET6_ADDRSTRLEN];

	if (bracketed) {
		text++;
		n -= 2;
	}
	if (n >= sizeof(host))
		return -1;
	memcpy(host, text, n);
	host[n] = '\0';
	if (bracketed) {
		a->at.v6.sin6_family = AF_INET6;
		a->len = sizeof(a->at.v6);
		return inet_pton(AF_INET6, host, &a->at.v6.sin6_addr) == 1 ? 0 : -1;
	}
	a->at.v4.sin_family = AF_INET;
	a->len = sizeof(a->at.v4);
	return inet_pton(AF_INET, host, &a->at.v4.sin_addr) == 1 ? 0 : -1;
}

int
address_parse(struct address *a, const char *text, struct err *e)
{
	const char *colon = strrchr(text, ':');
	in_port_t   port;

	*a = (struct address){ 0 };
	if (strcmp(text, "none") == 0)
		return 0;
	if (colon == NULL || host_parse(a, text, (size_t)(colon - text)) == -1 || port_parse(colon + 1, &port) == -1) {
		*a = (struct address){ 0 };
		return err_set(e, E_INVALID,
		    "'%s' is not an address and a port, such as 127.0.0.1:5410 or [::1]:5410, nor none",
		    log_escape(text, strlen(text)));
	}
	if (a->at.any.sa_family == AF_INET6)
		a->at.v6.sin6_port = port;
	else
		a->at.v4.sin_port = port;
	return 0;
}

const char *
address_text(const struct address *a, char out[ADDRESS_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (a->len == 0) {
		snprintf(out, ADDRESS_TEXT, "none");
	} else if (a->at.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->at.v6.sin6_addr, host, sizeof(host));
		snprintf(out, ADDRESS_TEXT, "[%s]:%u", host, ntohs(a->at.v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a->at.v4.sin_addr, host, sizeof(host));
		snprintf(out, ADDRESS_TEXT, "%s:%u", host, ntohs(a->at.v4.sin_port));
	}
	return out;
}

bool
address_is_loopback(const struct address *a)
{
	const struct in6_addr *v6 = &a->at.v6.sin6_addr;

	if (a->len == 0)
		return true;
	if (a->at.any.sa_family == AF_INET)
		return ntohl(a->at.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
}

void
address_net(const struct address *a, unsigned char net[ADDRESS_NET])
{
	memset(net, 0, ADDRESS_NET);
	if (a->len == 0)
		return;
	if (a->at.any.sa_family == AF_INET) {
		memset(net + 10, 0xff, 2);
		memcpy(net + 12, &a->at.v4.sin_addr, 4);
	} else {
		bool mapped = IN6_IS_ADDR_V4MAPPED(&a->at.v6.sin6_addr);
		memcpy(net, &a->at.v6.sin6_addr, mapped ? 16 : 8);
	}
}

static void
keep_tcp(struct address *a, int failed)
{
	if (failed || (a->at.any.sa_family != AF_INET && a->at.any.sa_family != AF_INET6))
		*a = (struct address){ 0 };
}

void
address_of_peer(struct address *a, int fd)
{
	*a = (struct address){ .len = sizeof(a->at) };
	keep_tcp(a, getpeername(fd, &a->at.any, &a->len));
}

void
address_of_socket(struct address *a, int fd)
{
	*a = (struct address){ .len = sizeof(a->at) };
	keep_tcp(a, getsockname(fd, &a->at.any, &a->len));
}

int
listen_open(const struct address *a, struct err *e)
{
	AUTO_FD int s = socket(a->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	const int   on = 1, off = 0;
	char        text[ADDRESS_TEXT];

	address_text(a, text);
	if (s == -1)
		return err_sys(e, "listen = %s: socket", text);
	/* connections of a boxd before us, which linger, are no reason to fail */
	/* connections inherit it: a small answer must not wait for the client's acknowledgement of the one before */
	(void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return err_sys(e, "listen = %s: SO_REUSEADDR", text);
	/* [::] is every address, whatever the machine's default is */
	if (a->at.any.sa_family == AF_INET6 && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == -1)
		return err_sys(e, "listen = %s: IPV6_V6ONLY", text);
	if ((bind(s, &a->at.any, a->len) == -1 || listen(s, BACKLOG) == -1)) {
		err_sys(e, "listen = %s", text);
		if (errno == EADDRINUSE)
			return err_set(e, E_CONFLICT,
			    "listen = %s: %s; another boxd or LangBot's own runtime? set listen in boxd.conf", text,
			    strerror(EADDRINUSE));
		return -1;
	}
	return fd_take(&s);
}

bool
listen_is_at(int fd, const struct address *wanted)
{
	struct address is;
	int            listens = 0;
	socklen_t      len = sizeof(listens);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1 || !listens)
		return false;
	address_of_socket(&is, fd);
	if (is.len != wanted->len || is.at.any.sa_family != wanted->at.any.sa_family)
		return false;
	if (is.at.any.sa_family == AF_INET)
		return is.at.v4.sin_addr.s_addr == wanted->at.v4.sin_addr.s_addr &&
		       (wanted->at.v4.sin_port == 0 || is.at.v4.sin_port == wanted->at.v4.sin_port);
	return memcmp(&is.at.v6.sin6_addr, &wanted->at.v6.sin6_addr, sizeof(struct in6_addr)) == 0 &&
	       (wanted->at.v6.sin6_port == 0 || is.at.v6.sin6_port == wanted->at.v6.sin6_port);
}
