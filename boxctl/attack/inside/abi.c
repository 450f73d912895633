/*
 * The machine's other ways into the kernel.  A filter that knows one ABI only is passed by here: int 0x80 takes 32-bit
 * numbers, and bit 30 makes a call of the x32 ABI.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#ifdef __x86_64__

/* As syscall(2) answers. */
static long
trap(long nr, long a, long b, long c)
{
	long result;

	__asm__ volatile("push %%rbx\n\tmov %2, %%ebx\n\tint $0x80\n\tpop %%rbx"
			 : "=a"(result)
			 : "0"(nr), "r"((int)a), "c"(b), "d"(c), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	if ((int)result >= 0)
		return (int)result;
	errno = -(int)result;
	return -1;
}

enum { I386_GETPID = 20, I386_CLONE = 120, I386_SOCKETCALL = 102, X32_BIT = 0x40000000 };

static int
ask_pid(void *arg)
{
	return trap(I386_GETPID, 0, 0, 0) > 0 ? 0 : 1;
}

static bool
has_trap(struct report *r)
{
	if (in_child(ask_pid, NULL) == 0)
		return true;
	skips(r, "this kernel has no 32-bit calls, or the filter allows none");
	return false;
}

static void
by_trap(struct report *r, const void *arg)
{
	const struct raw *c = arg;

	if (!has_trap(r))
		return;
	long result = trap(c->nr, c->a[0], c->a[1], c->a[2]);
	if (result == 0 && c->nr == I386_CLONE)
		_exit(0);
	refused(r, result, "%s by int 0x80", c->name);
	if (result > 0 && c->nr == I386_CLONE)
		waitpid((pid_t)result, NULL, 0);
}

/* Not by its own call, but by the old one that takes a pointer: no filter can look behind it. */
static void
by_socketcall(struct report *r, const void *arg)
{
	static const uint32_t sockets[][3] = { { AF_VSOCK, SOCK_STREAM, 0 }, { AF_ALG, SOCK_SEQPACKET, 0 },
		{ AF_PACKET, SOCK_RAW, 0 }, { AF_NETLINK, SOCK_RAW, 9 }, { AF_BLUETOOTH, SOCK_RAW, 1 } };
	uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED || !has_trap(r)) {
		skips(r, "this kernel has no 32-bit calls");
		return;
	}
	for (size_t i = 0; i < COUNT(sockets); i++) {
		memcpy(low, sockets[i], sizeof(sockets[i]));
		failed(r, trap(I386_SOCKETCALL, 1, (long)low, 0), "socketcall, family %u", sockets[i][0]);
	}
}

static void
by_x32(struct report *r, const void *arg)
{
	const struct raw *c = arg;

	refused(r, syscall(c->nr | X32_BIT, c->a[0], c->a[1], c->a[2], 0, 0, 0), "%s by the x32 ABI", c->name);
}

#define TRAP(n, nr, ...) \
	ROW("abi.i386-" n, "the filter is passed by 32-bit calls", ANYWHERE, by_trap, RAW(n, nr, __VA_ARGS__))
#define X32(n, nr, ...) \
	ROW("abi.x32-" n, "the filter is passed by calls of the x32 ABI", ANYWHERE, by_x32, RAW(n, nr, __VA_ARGS__))

const struct attack abi_attacks[] = {
	TRAP("mount", 21, BAD, BAD, BAD),
	TRAP("umount", 22, BAD),
	TRAP("umount2", 52, BAD),
	TRAP("chroot", 61, BAD),
	TRAP("pivot_root", 217, BAD, BAD),
	TRAP("unshare", 310, 0x10000000),
	TRAP("clone", I386_CLONE, 0x10000011),
	TRAP("clone3", 435),
	TRAP("setns", 346, -1),
	TRAP("keyctl", 288, 9999),
	TRAP("add_key", 286, BAD, BAD),
	TRAP("bpf", 357, 9999),
	TRAP("init_module", 128, BAD, 0, BAD),
	TRAP("io_uring_setup", 425, 0, BAD),
	TRAP("open_tree", 428, -1, BAD, 1),
	TRAP("fsopen", 430, BAD),
	TRAP("userfaultfd", 374, 0x40000000),
	TRAP("perf_event_open", 336, BAD),
	TRAP("open_by_handle_at", 342, -1, BAD),
	{ "abi.i386-ptrace-init", "init is traced by a 32-bit call", INSIDE, by_trap,
	    RAW("ptrace(ATTACH)", 26, 16, 1) },
	{ "abi.i386-socketcall", "odd sockets by the old call", ANYWHERE, by_socketcall, NULL },
	X32("getpid", SYS_getpid, 0),
	X32("mount", SYS_mount, BAD, BAD, BAD),
	X32("unshare", SYS_unshare, 0x10000000),
	{ "abi.x32-ptrace-init", "init is traced by a call of the x32 ABI", INSIDE, by_x32,
	    RAW("ptrace(ATTACH)", 521, 16, 1) },
	{ .name = NULL },
};

#else

static void
no_other(struct report *r, const void *arg)
{
	skips(r, "these attacks are for x86-64");
}

const struct attack abi_attacks[] = {
	{ "abi.other", "the filter is passed by another ABI", ANYWHERE, no_other, NULL },
	{ .name = NULL },
};

#endif
