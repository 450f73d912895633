/* What the kernel keeps for sockets. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "hoards.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

static const char block[60000];

static long
socket_bytes(int fd)
{
	uint32_t  v[SK_MEMINFO_VARS] = { 0 };
	socklen_t n = sizeof(v);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, v, &n) == -1)
		return 0;
	return (long)v[SK_MEMINFO_RMEM_ALLOC] + v[SK_MEMINFO_WMEM_ALLOC] + v[SK_MEMINFO_WMEM_QUEUED] +
	       v[SK_MEMINFO_OPTMEM];
}

static void
widen(int fd)
{
	int most = 64 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
}

static struct sockaddr_in
loopback(in_port_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* A socket of our own on any port, and where it is. */
static int
bound(int type, struct sockaddr_in *at)
{
	socklen_t n = sizeof(*at);
	int       fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -1;
	*at = loopback(0);
	widen(fd);
	if (bind(fd, (struct sockaddr *)at, n) == -1 || getsockname(fd, (struct sockaddr *)at, &n) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

static long
one_udp(unsigned i)
{
	static int         from = -1;
	struct sockaddr_in to;
	long               before = -1, now;
	int                fd = bound(SOCK_DGRAM, &to);

	if (from == -1)
		from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	while ((now = socket_bytes(fd)) > before) { /* until one is dropped */
		before = now;
		for (int k = 0; k < 4; k++)
			(void)!sendto(from, block, sizeof(block), 0, (struct sockaddr *)&to, sizeof(to));
	}
	return now;
}

/* The first part of a datagram whose end never comes. */
static long
one_part(unsigned i)
{
	struct sockaddr_in to = loopback(htons(9));
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -1;
	if (sendto(fd, block, sizeof(block), MSG_MORE, (struct sockaddr *)&to, sizeof(to)) == -1)
		return -1;
	return socket_bytes(fd);
}

static int
connected(const struct sockaddr_in *to)
{
	struct timeval soon = { .tv_usec = 300000 }; /* who listens may have no room */
	int            fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -1;
	widen(fd);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == -1) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static long
fill(int fd)
{
	long sent = 0, n;

	while ((n = send(fd, block, sizeof(block), MSG_NOSIGNAL)) > 0)
		sent += n;
	return sent;
}

static long
one_tcp(unsigned i)
{
	static int                at = -1;
	static struct sockaddr_in to;

	if (at == -1 && ((at = bound(SOCK_STREAM, &to)) == -1 || listen(at, 128) == -1))
		return -1;
	int a = connected(&to), b = a == -1 ? -1 : accept4(at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (b == -1)
		return -1;
	widen(b);
	for (int k = 0; k < 2; k++) { /* the window may open a little later */
		fill(a);
		fill(b);
	}
	return socket_bytes(a) + socket_bytes(b);
}

/* Nobody accepts them, and what is sent to them waits; our own half is counted apart. */
static long
one_backlog(unsigned i)
{
	enum { AT_ONCE = 120 };
	static int                at = -1;
	static struct sockaddr_in to;

	if (i % AT_ONCE == 0 && ((at = bound(SOCK_STREAM, &to)) == -1 || listen(at, AT_ONCE) == -1))
		return -1;
	int fd = connected(&to);
	return fd == -1 ? -1 : fill(fd);
}

/* Requests whose answers nobody reads. */
static long
one_netlink(unsigned i)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
		char            pad[3];
	} ask = { .head = { sizeof(ask), RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0 } };
	long before = -1, now;
	int  fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd == -1)
		return -1;
	widen(fd);
	while ((now = socket_bytes(fd)) > before) {
		before = now;
		for (int k = 0; k < 64; k++)
			(void)!send(fd, &ask, sizeof(ask), 0);
	}
	return now;
}

/* All are made first: what counts sockets by what they have said sees none. */
static long
one_silent_netlink(unsigned i)
{
	enum { LEAST = 1024 };

	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) == -1 ? -1 : LEAST;
}

static long
one_pair(int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1)
		return -1;
	for (int k = 0; k < 2; k++) {
		widen(ends[k]);
		fill(ends[k]);
	}
	return socket_bytes(ends[0]) + socket_bytes(ends[1]);
}

static long
one_stream(unsigned i)
{
	return one_pair(SOCK_STREAM);
}

static long
one_datagram(unsigned i)
{
	return one_pair(SOCK_DGRAM);
}

static long
one_member(unsigned i)
{
	enum { GROUPS = 300 };
	struct ipv6_mreq group = { .ipv6mr_interface = 1 };
	int              fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned         n = 0;

	memcpy(&group.ipv6mr_multiaddr, "\xff\x02", 2);
	for (; n < GROUPS; n++) {
		memcpy(&group.ipv6mr_multiaddr.s6_addr[8], &n, sizeof(n));
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &group, sizeof(group)) == -1)
			break;
	}
	return n == 0 ? -1 : socket_bytes(fd);
}

static long
one_keyed(unsigned i)
{
	enum { KEYS = 1000 };
	struct tcp_md5sig key = { .tcpm_keylen = 8 };
	int               fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned          n = 0;

	for (; n < KEYS; n++) {
		struct sockaddr_in peer = loopback(0);

		peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK + n);
		memcpy(&key.tcpm_addr, &peer, sizeof(peer));
		if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key)) == -1)
			break;
	}
	return n == 0 ? -1 : socket_bytes(fd);
}

/* Headers that every packet of the socket is to have.  It has no address, so no list of sockets has it. */
static long
one_headed(unsigned i)
{
	static const struct cmsghdr other = { .cmsg_len = sizeof(block), .cmsg_level = SOL_SOCKET + 1 };
	static char                 headers[sizeof(block)] __attribute__((aligned(8)));
	int                         fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(headers, &other, sizeof(other));
	if (fd == -1 || setsockopt(fd, IPPROTO_IPV6, IPV6_2292PKTOPTIONS, headers, sizeof(headers)) == -1)
		return -1;
	return socket_bytes(fd);
}

/* Descriptors on their way, which no process has open any more. */
static int
send_away(const int *fds, size_t n)
{
	int           ends[2];
	char          control[CMSG_SPACE(sizeof(*fds) * 250)] __attribute__((aligned(8))) = { 0 };
	struct iovec  byte = { control, 1 };
	struct msghdr m = { .msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(n * sizeof(*fds)) };

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1)
		return -1;
	struct cmsghdr *c = (struct cmsghdr *)control;
	*c = (struct cmsghdr){ CMSG_LEN(n * sizeof(*fds)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), fds, n * sizeof(*fds));
	long r = sendmsg(ends[0], &m, 0);
	int  error = errno;
	for (size_t k = 0; k < n; k++)
		close(fds[k]);
	errno = error;
	return r == -1 ? -1 : 0;
}

static long
one_flight(unsigned i)
{
	enum { AT_ONCE = 250, LEAST = 400 };
	int fds[AT_ONCE];

	for (int k = 0; k < AT_ONCE; k++)
		fds[k] = eventfd(0, EFD_CLOEXEC);
	return send_away(fds, AT_ONCE) == -1 ? -1 : (long)AT_ONCE * LEAST;
}

/* Shared memory that only a message has. */
static long
one_passed(unsigned i)
{
	int fd = memfd_create("hoard", MFD_CLOEXEC);

	if (fd == -1 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
		return -1;
	return send_away(&fd, 1) == -1 ? -1 : (long)sizeof(block);
}

const struct attack socket_hoards[] = {
	HOARD_OF("udp", "memory of the whole machine, in datagrams that nobody reads", one_udp),
	HOARD_OF("udp-parts", "memory of the whole machine, in datagrams without an end", one_part),
	HOARD_OF("tcp", "memory of the whole machine, in streams that nobody reads", one_tcp),
	HOARD_OF("tcp-backlog", "memory of the whole machine, in connections that nobody accepts", one_backlog),
	HOARD_OF("tcp-keys", "memory of the whole machine, in keys for peers", one_keyed),
	HOARD_OF("netlink", "memory of the whole machine, in answers that nobody reads", one_netlink),
	HOARD_OF("netlink-silent", "netlink sockets without a limit", one_silent_netlink),
	HOARD_OF("unix-stream", "memory of the whole machine, in local streams", one_stream),
	HOARD_OF("unix-datagram", "memory of the whole machine, in local datagrams", one_datagram),
	HOARD_OF("unix-flight", "open files of the whole machine, on their way to nobody", one_flight),
	HOARD_OF("passed-memory", "memory of the whole machine, in files on their way to nobody", one_passed),
	HOARD_OF(
	    "packet-headers", "memory of the whole machine, in headers of packets that are never sent", one_headed),
	HOARD_OF("multicast", "memory of the whole machine, in groups that are listened to", one_member),
	{ .name = NULL },
};
