/*
 * A filter of our own stands beside the policy: where both have an opinion the kernel
 * takes the stricter one, so what the policy refuses is never asked.  Only socket() is
 * looked at, and its arguments are plain numbers: what we decide about is what is done.
 *
 * The number of living sockets comes from /proc/net/protocols, which counts all of the
 * namespace, bound or not.  A socket that we allow is made a moment later.  So more can
 * be made than allowed, by as many as there are tasks that ask at the same time: the
 * limit of processes bounds them.
 *
 * We never wait here.  A request of a task that died meanwhile is gone (ENOENT).  One
 * that is interrupted is asked again.  The kernel asks no one twice at the same time, and
 * there is one of us, so receiving what poll announced does not block.
 *
 * Some machines have no such requests: an old kernel, or a container whose own manager
 * listens already (EBUSY).  Then all are refused, and getaddrinfo lives with that.
 */
#include "netlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bounds.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#ifdef __x86_64__
enum { ABI = AUDIT_ARCH_X86_64, SECOND_ABI = AUDIT_ARCH_I386, SECOND_SOCKET = 359 };
#elif defined(__aarch64__)
enum { ABI = AUDIT_ARCH_AARCH64, SECOND_ABI = AUDIT_ARCH_ARM, SECOND_SOCKET = 281 };
#else
#error "which number has socket() in the ABIs of this machine?"
#endif

enum { ARG0 = offsetof(struct seccomp_data, args) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0) };

/* The row of netlink is behind those of some forty other protocols. */
enum { PROTOCOLS = 16384 };

static int
install(uint32_t action, unsigned long flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ABI, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 3, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SECOND_ABI, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECOND_SOCKET, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* "NETLINK   1096      3 ...": name, size of one, how many.  UINT64_MAX: cannot be told. */
static uint64_t
count(int protocols)
{
	char    text[PROTOCOLS];
	size_t  n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && (got = pread(protocols, text + n, sizeof(text) - 1 - n, (off_t)n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	char *row = strstr(text, "\nNETLINK ");
	if (row == NULL)
		return UINT64_MAX;
	strtoull(row + strlen("\nNETLINK "), &row, 10);
	return strtoull(row, NULL, 10);
}

static void
netlinks_answer(const struct netlinks *s, uint64_t id)
{
	struct seccomp_notif_resp yes = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	struct seccomp_notif_resp no = { .id = id, .error = -ENOBUFS };
	uint64_t                  now = count(s->protocols);
	bool                      is_fine = now != UINT64_MAX && now < s->before + LIM_NETLINKS;

	if (ioctl(s->listener.fd, SECCOMP_IOCTL_NOTIF_SEND, is_fine ? &yes : &no) == -1)
		return; /* it is not waiting any more */
}

static void
on_request(struct source *source, uint32_t events)
{
	struct netlinks     *s = (struct netlinks *)source; /* its first member */
	struct seccomp_notif ask = { 0 };

	if ((events & EPOLLIN) != 0 && ioctl(source->fd, SECCOMP_IOCTL_NOTIF_RECV, &ask) == 0)
		netlinks_answer(s, ask.id);
}

void
netlinks_open(struct netlinks *s)
{
	*s = (struct netlinks){ .listener = { .fd = -1, .ready = on_request } };
	s->protocols = open("/proc/self/net/protocols", O_RDONLY | O_CLOEXEC);
	s->before = s->protocols == -1 ? UINT64_MAX : count(s->protocols);
}

/* A kernel with larger structures than those we were built with would write behind ours. */
static bool
can_be_asked(const struct netlinks *s)
{
	struct seccomp_notif_sizes sizes = { 0 };

	return s->before != UINT64_MAX && syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
	       sizes.seccomp_notif <= sizeof(struct seccomp_notif) &&
	       sizes.seccomp_notif_resp <= sizeof(struct seccomp_notif_resp);
}

int
netlinks_guard(struct netlinks *s, struct loop *l, struct err *e)
{
	static const unsigned long asks = SECCOMP_FILTER_FLAG_NEW_LISTENER;

	if (can_be_asked(s)) {
		s->listener.fd = install(SECCOMP_RET_USER_NOTIF, asks | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
		if (s->listener.fd == -1)
			s->listener.fd = install(SECCOMP_RET_USER_NOTIF, asks);
	}
	if (s->listener.fd >= 0)
		return loop_watch(l, &s->listener, EPOLLIN, e);
	if (install(SECCOMP_RET_ERRNO | EPROTONOSUPPORT, 0) == -1)
		return err_sys(e, "install the seccomp program for netlink");
	return 0;
}
