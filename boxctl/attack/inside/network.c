/*
 * With the network off there is a loopback and nothing else.  All addresses are for documentation, or the
 * host's own, which boxctl passes: nothing is sent to anybody if a wall should be open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

enum { WAIT_MS = 2000, DATAGRAM_MS = 300, MPTCP = 262, FASTOPEN = 0x20000000 };

#define TEST_NET "192.0.2.1"
#define TEST_NET6 "2001:db8::1"

struct reach {
	int         family, type, protocol;
	const char *address;
	int         port;
};

static socklen_t
address_of(const struct reach *to, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (to->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)to->port) };
		inet_pton(AF_INET, to->address, &in->sin_addr);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)to->port) };
	inet_pton(AF_INET6, to->address, &in6->sin6_addr);
	return sizeof(*in6);
}

/* -1 and errno when it is refused at once or within a moment; silence means that there is a way. */
static long
connect_to(const struct reach *to)
{
	struct sockaddr_storage address;
	socklen_t               len = address_of(to, &address), size = sizeof(int);
	int                     error = 0;
	int                     s = socket(to->family, to->type | SOCK_CLOEXEC | SOCK_NONBLOCK, to->protocol);

	if (s == -1)
		return -1;
	bool is_datagram = to->type == SOCK_DGRAM;
	if ((connect(s, (struct sockaddr *)&address, len) == -1 && errno != EINPROGRESS) ||
	    (is_datagram && send(s, "boxd", 4, MSG_NOSIGNAL) == -1))
		error = errno;
	if (error == 0) { /* an error that arrives later: also "nobody listens here", for a datagram */
		struct pollfd p = { .fd = s, .events = is_datagram ? POLLIN : POLLOUT };

		poll(&p, 1, is_datagram ? DATAGRAM_MS : WAIT_MS);
		getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size);
	}
	close(s);
	errno = error;
	return error == 0 ? 0 : -1;
}

/* Anything but "there is no way": a refusal by a peer would mean that a packet got there. */
static void
unreachable(struct report *r, const void *arg)
{
	const struct reach *to = arg;
	long                result = connect_to(to);

	if (result == -1 && (errno == ECONNREFUSED || errno == ETIMEDOUT))
		works(r, "%s is reached, and answers %s", to->address, strerrorname_np(errno));
	else
		failed(r, result, "%s port %d", to->address, to->port);
}

static void
broadcast(struct report *r, const void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { INADDR_BROADCAST } };
	int                s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	failed(r, sendto(s, "boxd", 4, 0, (struct sockaddr *)&to, sizeof(to)), "broadcast");
}

static void
fast_open(struct report *r, const void *arg)
{
	const struct reach      to = { AF_INET, SOCK_STREAM, 0, TEST_NET, 80 };
	struct sockaddr_storage address;
	socklen_t               len = address_of(&to, &address);
	int                     s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	long n = sendto(s, "boxd", 4, FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&address, len);
	if (n == -1 && errno == EINPROGRESS)
		works(r, "a connection with data in its first packet begins");
	failed(r, n, "TCP fast open");
}

/* A question about a name to everybody who could answer: the resolvers that are configured, and the usual places. */
static void
dns(struct report *r, const void *arg)
{
	static const char question[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\4boxd\7example\0\0\1\0\1";
	const char       *servers[8] = { "127.0.0.1", "127.0.0.53", "10.0.2.3" };
	char              text[4096], answer[512];
	size_t            n = 3;

	slurp("/etc/resolv.conf", text, sizeof(text));
	for (char *line = strtok(text, "\n"); line != NULL && n < COUNT(servers); line = strtok(NULL, "\n"))
		if (strncmp(line, "nameserver ", 11) == 0 && strchr(line, ':') == NULL)
			servers[n++] = line + 11;
	for (size_t i = 0; i < n; i++) {
		const struct reach      to = { AF_INET, SOCK_DGRAM, 0, servers[i], 53 };
		struct sockaddr_storage address;
		socklen_t               len = address_of(&to, &address);
		int                     s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		long                    sent = connect(s, (struct sockaddr *)&address, len);

		if (sent == 0)
			sent = send(s, question, sizeof(question) - 1, MSG_NOSIGNAL);
		poll(&(struct pollfd){ .fd = s, .events = POLLIN }, sent > 0 ? 1 : 0, 500);
		if (sent > 0)
			sent = recv(s, answer, sizeof(answer), MSG_DONTWAIT);
		failed(r, sent, "ask %s for a name", servers[i]);
		close(s);
	}
}

static void
devices(struct report *r, const void *arg)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i != NULL && i->if_name != NULL; i++)
		if (strcmp(i->if_name, "lo") != 0)
			works(r, "there is a device %s", i->if_name);
	if (all != NULL)
		if_freenameindex(all);
	holds(r, "no device but lo");
}

/* ---- changing it ---- */

struct change {
	struct nlmsghdr head;
	char            body[64];
};

/* The kernel asks for the right before it reads the body. */
static long
ask_netlink(int type)
{
	struct change change = { .head = { .nlmsg_len = sizeof(change),
				     .nlmsg_type = (unsigned short)type,
				     .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE } };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char            rest[256];
	} answer;
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (s == -1 || send(s, &change, sizeof(change), 0) == -1)
		return -1;
	poll(&(struct pollfd){ .fd = s, .events = POLLIN }, 1, WAIT_MS);
	ssize_t n = recv(s, &answer, sizeof(answer), MSG_DONTWAIT);
	close(s);
	if (n < (ssize_t)(sizeof(answer.head) + sizeof(int)))
		return -1;
	errno = -answer.error.error;
	return answer.error.error == 0 ? 0 : -1;
}

static void
netlink_changes(struct report *r, const void *arg)
{
	static const struct {
		const char *name;
		int         type;
	} changes[] = { { "a device", RTM_NEWLINK }, { "an address", RTM_NEWADDR }, { "a route", RTM_NEWROUTE },
		{ "a neighbour", RTM_NEWNEIGH }, { "a rule", RTM_NEWRULE }, { "a queue", RTM_NEWQDISC },
		{ "a filter", RTM_NEWTFILTER } };

	for (size_t i = 0; i < COUNT(changes); i++)
		refused(r, ask_netlink(changes[i].type), "add %s by netlink", changes[i].name);
}

static void
ioctl_changes(struct report *r, const void *arg)
{
	static const unsigned long calls[] = { SIOCSIFADDR, SIOCSIFFLAGS, SIOCSIFMTU, SIOCSIFNAME, SIOCSIFHWADDR };
	struct ifreq               device = { .ifr_name = "lo" };
	struct rtentry             route = { .rt_dst = { .sa_family = AF_INET } };
	int                        s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (size_t i = 0; i < COUNT(calls); i++)
		refused(r, ioctl(s, calls[i], &device), "change lo by ioctl 0x%lx", calls[i]);
	refused(r, ioctl(s, SIOCADDRT, &route), "add a route by ioctl");
}

/* ---- the host, as boxctl describes it ---- */

/* "address:port", the address perhaps with colons of its own. */
static void
host_listener(struct report *r, const void *arg)
{
	const char *text;

	for (unsigned i = 0; (text = param(arg, i)) != NULL; i++) {
		const char *colon = strrchr(text, ':');
		char        address[64];

		if (colon == NULL)
			continue;
		snprintf(address, sizeof(address), "%.*s", (int)(colon - text), text);
		const struct reach to = { strchr(address, ':') != NULL ? AF_INET6 : AF_INET,
			strcmp(arg, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM, 0, address, atoi(colon + 1) };
		failed(r, connect_to(&to), "%s %s", (const char *)arg, text);
	}
	if (r->tries == 0)
		skips(r, "needs boxctl's half");
}

static void
host_abstract(struct report *r, const void *arg)
{
	const char        *name = param("abstract", 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int                s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (name == NULL || strlen(name) + 1 > sizeof(to.sun_path)) {
		skips(r, "needs boxctl's half");
		return;
	}
	memcpy(to.sun_path + 1, name, strlen(name));
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	failed(r, connect(s, (struct sockaddr *)&to, len), "connect to the host's abstract socket");
}

#define REACH(n, means, ...) ROW("network." n, means, INSIDE, unreachable, OF(struct reach, __VA_ARGS__))

const struct attack network_attacks[] = {
	REACH("tcp", "data leaves by TCP", AF_INET, SOCK_STREAM, 0, TEST_NET, 80),
	REACH("udp", "data leaves by UDP", AF_INET, SOCK_DGRAM, 0, TEST_NET, 53),
	REACH("tcp6", "data leaves by TCP over IPv6", AF_INET6, SOCK_STREAM, 0, TEST_NET6, 80),
	REACH("udp6", "data leaves by UDP over IPv6", AF_INET6, SOCK_DGRAM, 0, TEST_NET6, 53),
	REACH("mapped", "data leaves by an IPv4 address in an IPv6 one", AF_INET6, SOCK_STREAM, 0, "::ffff:" TEST_NET,
	    80),
	REACH("mptcp", "data leaves by MPTCP", AF_INET, SOCK_STREAM, MPTCP, TEST_NET, 80),
	REACH("sctp", "data leaves by SCTP", AF_INET, SOCK_STREAM, IPPROTO_SCTP, TEST_NET, 80),
	REACH("udplite", "data leaves by UDP-Lite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, TEST_NET, 53),
	REACH("metadata", "a cloud's keys at its metadata address", AF_INET, SOCK_STREAM, 0, "169.254.169.254", 80),
	REACH("multicast", "data leaves by multicast", AF_INET, SOCK_DGRAM, 0, "224.0.0.251", 5353),
	REACH("linklocal6", "neighbours on the host's network", AF_INET6, SOCK_DGRAM, 0, "fe80::1", 9),
	{ "network.broadcast", "data leaves by broadcast", INSIDE, broadcast, NULL },
	{ "network.fastopen", "data leaves with a connection's first packet", INSIDE, fast_open, NULL },
	{ "network.dns", "data leaves in questions for names", INSIDE, dns, NULL },
	{ "network.devices", "a device of the host", ANYWHERE, devices, NULL },
	{ "network.netlink-changes", "devices, routes and filters are made", INSIDE, netlink_changes, NULL },
	{ "network.ioctl-changes", "devices and routes are changed", INSIDE, ioctl_changes, NULL },
	{ "network.host-tcp", "services of the host, on its loopback and its addresses", INSIDE, host_listener, "tcp" },
	{ "network.host-udp", "services of the host by UDP", INSIDE, host_listener, "udp" },
	{ "network.host-abstract", "services of the host behind abstract sockets: a desktop, a bus, an engine", INSIDE,
	    host_abstract, NULL },
	{ .name = NULL },
};
