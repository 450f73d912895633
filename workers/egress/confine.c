/*
 * The walls around box-egress: those of proto/host/confine.c.  It must make connections, so landlock forbids files and
 * not TCP, and it may have sockets of TCP and UDP: no other protocol's code in the kernel can be reached from here.
 */
#include "confine.h"

#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>

static const int calls[] = {
	SCMP_SYS(accept4),
	SCMP_SYS(connect),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(pread64),
};

/* Both ways to say it: with the protocol, or the only one of that type. */
#define SOCKETS(family, type, protocol)                                                                     \
	{                                                                                                   \
		SCMP_SYS(socket), { UINT32_MAX, UINT32_MAX & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), UINT32_MAX }, \
		{                                                                                           \
			family, type, protocol                                                              \
		}                                                                                           \
	}

static const struct call_for calls_for[] = {
	SOCKETS(AF_INET, SOCK_STREAM, 0),
	SOCKETS(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	SOCKETS(AF_INET, SOCK_DGRAM, 0),
	SOCKETS(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	SOCKETS(AF_INET6, SOCK_STREAM, 0),
	SOCKETS(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
	SOCKETS(AF_INET6, SOCK_DGRAM, 0),
	SOCKETS(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
};

int
confine(const struct confinement *c, struct err *e)
{
	struct confinement all = *c;

	all.calls = calls;
	all.n_calls = sizeof(calls) / sizeof(calls[0]);
	all.calls_for = calls_for;
	all.n_calls_for = sizeof(calls_for) / sizeof(calls_for[0]);
	return confine_all(&all, e);
}
