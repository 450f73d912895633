/*
 * Beside a loop, memory, open sockets and memfds a worker needs its session's cgroups (landlock lets it open nothing
 * else), to reap and kill init, and a channel to box-files.  No call here makes a process, executes a file, makes a
 * socket that reaches another process by a name, mounts, traces, or enters a namespace.  See workers/session/confine.c.
 */
#include "core/workercalls.h"

#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/socket.h>

#include "host/confine.h"

static const int calls[] = {
	SCMP_SYS(openat),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(wait4),
};

static const struct call_for calls_for[] = {
	/* its pidfds are init's and those of its scanners */
	{ SCMP_SYS(pidfd_send_signal), { 0, UINT32_MAX, 0 }, { 0, SIGKILL, 0 } },
	{ SCMP_SYS(socketpair), { UINT32_MAX, UINT32_MAX & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), UINT32_MAX },
	    { AF_UNIX, SOCK_SEQPACKET, 0 } },
	/* With uids of its own: nothing but its cgroups belongs to them, for landlock does not watch the first two. */
	{ SCMP_SYS(fchmodat), { 0 }, { 0 } },
	{ SCMP_SYS(fchownat), { 0 }, { 0 } },
	{ SCMP_SYS(getuid), { 0 }, { 0 } },
	/* the effective uid alone; the kernel lets it be the worker's or the sandbox's */
	{ SCMP_SYS(setresuid), { UINT32_MAX, 0, UINT32_MAX }, { UINT32_MAX, 0, UINT32_MAX } },
};

enum { FOR_ALL = 2 }; /* of these */

int
workercalls_compile(bool own_uids, struct err *e)
{
	const struct confinement all = {
		.calls = calls,
		.n_calls = sizeof(calls) / sizeof(calls[0]),
		.calls_for = calls_for,
		.n_calls_for = own_uids ? sizeof(calls_for) / sizeof(calls_for[0]) : FOR_ALL,
	};

	return confine_program("worker-calls", &all, e);
}
