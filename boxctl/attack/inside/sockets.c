/* Kinds of sockets.  Local ones, TCP and UDP over IP, and routing's netlink are what programs use; the rest is drivers. */
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

enum { FAMILIES = 64, AF_MCTP_NR = 45, SOCK_OLD_PACKET = 10, NETLINKS = 32, PROTOCOL_MPTCP = 262 };

static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };

static bool
is_usual(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

static void
try_family(struct report *r, int family)
{
	int two[2];

	for (size_t i = 0; i < COUNT(types); i++) {
		failed(r, syscall(SYS_socket, family, types[i], 0), "socket family %d type %d", family, types[i]);
		failed(r, syscall(SYS_socketpair, family, types[i], 0, two), "socketpair family %d", family);
	}
}

static void
one_family(struct report *r, const void *arg)
{
	try_family(r, *(const int *)arg);
}

static void
every_family(struct report *r, const void *arg)
{
	for (int family = 0; family <= FAMILIES; family++)
		if (!is_usual(family))
			try_family(r, family);
	try_family(r, 255);
	try_family(r, -1);
}

/* The kernel looks at the lower half of the number only. */
static void
high_bits(struct report *r, const void *arg)
{
	static const long families[] = { AF_PACKET, AF_VSOCK, AF_ALG, AF_KEY };

	for (size_t i = 0; i < COUNT(families); i++)
		failed(r, syscall(SYS_socket, families[i] | 1L << 32, (long)SOCK_RAW, 0L), "family %ld with high bits",
		    families[i]);
	failed(r, syscall(SYS_socket, (long)AF_NETLINK, (long)SOCK_RAW, 9L | 1L << 32), "audit netlink with high bits");
}

static void
netlink(struct report *r, const void *arg)
{
	for (int protocol = 1; protocol < NETLINKS; protocol++)
		failed(r, socket(AF_NETLINK, SOCK_RAW, protocol), "netlink protocol %d", protocol);
}

static void
raw(struct report *r, const void *arg)
{
	static const int protocols[] = { IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_RAW, IPPROTO_GRE,
		IPPROTO_ESP };

	for (size_t i = 0; i < COUNT(protocols); i++)
		failed(r, socket(AF_INET, SOCK_RAW, protocols[i]), "raw socket, protocol %d", protocols[i]);
	failed(r, socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), "raw ICMPv6 socket");
	failed(r, socket(AF_INET6, SOCK_RAW, IPPROTO_RAW), "raw IPv6 socket");
	failed(r, socket(AF_INET, SOCK_OLD_PACKET, 0x300), "packet socket by its old type");
}

static void
ping(struct report *r, const void *arg)
{
	failed(r, socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), "ICMP socket");
	failed(r, socket(AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6), "ICMPv6 socket");
}

/* Options that need rights over the network. */
static void
options(struct report *r, const void *arg)
{
	int     s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	uint8_t table[96] = "filter";

	failed(r, setsockopt(s, SOL_SOCKET, SO_MARK, &one, sizeof(one)), "SO_MARK");
	failed(r, setsockopt(s, SOL_SOCKET, SO_DEBUG, &one, sizeof(one)), "SO_DEBUG");
	failed(r, setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &one, sizeof(one)), "SO_SNDBUFFORCE");
	failed(r, setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &one, sizeof(one)), "SO_RCVBUFFORCE");
	failed(r, setsockopt(s, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)), "IP_TRANSPARENT");
	failed(r, setsockopt(s, IPPROTO_IP, 64, table, sizeof(table)), "replace a packet filter");
	failed(r, setsockopt(s, IPPROTO_IPV6, 64, table, sizeof(table)), "replace an IPv6 packet filter");
}

/* Each is compiled into memory of which the whole machine has one budget. */
static void
filters(struct report *r, const void *arg)
{
	struct sock_filter all = { BPF_RET | BPF_K, 0, 0, UINT16_MAX };
	struct sock_fprog  program = { 1, &all };
	int                s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;

	failed(r, setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), "SO_ATTACH_FILTER");
	setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	failed(r, setsockopt(s, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)),
	    "SO_ATTACH_REUSEPORT_CBPF");
	close(s);
}

static void
mptcp(struct report *r, const void *arg)
{
	failed(r, socket(AF_INET, SOCK_STREAM, PROTOCOL_MPTCP), "MPTCP socket");
	failed(r, socket(AF_INET6, SOCK_STREAM, PROTOCOL_MPTCP), "MPTCP socket over IPv6");
}

#define FAMILY(n, nr, means) ROW("sockets." n, means, ANYWHERE, one_family, OF(int, nr))

const struct attack socket_attacks[] = {
	FAMILY("packet", AF_PACKET, "whole frames of the network are read and written"),
	FAMILY("vsock", AF_VSOCK, "the hypervisor, and what listens there"),
	FAMILY("bluetooth", AF_BLUETOOTH, "drivers of the host"),
	FAMILY("can", AF_CAN, "buses of machines"),
	FAMILY("alg", AF_ALG, "the kernel's cipher drivers"),
	FAMILY("xdp", AF_XDP, "frames of the network, past all filters"),
	FAMILY("key", AF_KEY, "the host's IPsec keys"),
	FAMILY("tipc", AF_TIPC, "a protocol with a history of holes"),
	FAMILY("rds", AF_RDS, "a protocol with a history of holes"),
	FAMILY("rxrpc", AF_RXRPC, "a protocol with a history of holes"),
	FAMILY("smc", AF_SMC, "remote memory"),
	FAMILY("nfc", AF_NFC, "drivers of the host"),
	FAMILY("kcm", AF_KCM, "a multiplexer with a history of holes"),
	FAMILY("qipcrtr", AF_QIPCRTR, "processors of a phone"),
	FAMILY("mctp", AF_MCTP_NR, "the machine's management bus"),
	FAMILY("pppox", AF_PPPOX, "network devices"),
	{ "sockets.families", "any driver behind a socket family", ANYWHERE, every_family, NULL },
	{ "sockets.high-bits", "the filter is passed by bits that the kernel does not look at", ANYWHERE, high_bits,
	    NULL },
	{ "sockets.netlink", "audit, packet filters, device events", ANYWHERE, netlink, NULL },
	{ "sockets.raw", "packets of any content", ANYWHERE, raw, NULL },
	{ "sockets.ping", "ICMP", ANYWHERE, ping, NULL },
	{ "sockets.filters", "memory for filters, of which all sandboxes of the machine share one budget", ANYWHERE,
	    filters, NULL },
	{ "sockets.mptcp", "a protocol with a history of holes", ANYWHERE, mptcp, NULL },
	{ "sockets.options", "rights over the network by a socket's options", INSIDE, options, NULL },
	{ .name = NULL },
};
