/*
 * A session's worker that was taken over can make any system call it likes.  So does this test: it stops the live
 * worker, makes it call, and tells what came of it.  t/lib/sh/taken_over_worker.sh says which calls, of which workers.
 *
 *	NAME                    run that script
 *	NAME PID CALL...        CALL: name,argument,...; an argument is a number, @text, !path (a socket's address)
 *	                        or % (what the last openat returned); = and ? before it are for who reads
 *	NAME PID                hold it, and answer CLOSE with "closed" while all of its sandbox lives
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

/* The calls that are tried, and those of a positive control. */
static const struct {
	const char *name;
	long        nr;
} calls[] = {
	{ "getpid", SYS_getpid },
	{ "openat", SYS_openat },
	{ "mkdirat", SYS_mkdirat },
	{ "unlinkat", SYS_unlinkat },
	{ "fchownat", SYS_fchownat },
	{ "fchmodat", SYS_fchmodat },
	{ "write", SYS_write },
	{ "recvfrom", SYS_recvfrom },
	{ "sendto", SYS_sendto },
	{ "close", SYS_close },
	{ "kill", SYS_kill },
	{ "tgkill", SYS_tgkill },
	{ "pidfd_open", SYS_pidfd_open },
	{ "setns", SYS_setns },
	{ "unshare", SYS_unshare },
	{ "ptrace", SYS_ptrace },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "execve", SYS_execve },
	{ "clone", SYS_clone },
	{ "socket", SYS_socket },
	{ "socketpair", SYS_socketpair },
	{ "connect", SYS_connect },
	{ "bind", SYS_bind },
	{ "mount", SYS_mount },
	{ "chroot", SYS_chroot },
	{ "setuid", SYS_setuid },
	{ "setgid", SYS_setgid },
	{ "setresuid", SYS_setresuid },
	{ "setgroups", SYS_setgroups },
	{ "bpf", SYS_bpf },
	{ "io_uring_setup", SYS_io_uring_setup },
	{ "perf_event_open", SYS_perf_event_open },
	{ "keyctl", SYS_keyctl },
	{ "name_to_handle_at", SYS_name_to_handle_at },
	{ "open_by_handle_at", SYS_open_by_handle_at },
	{ "prlimit64", SYS_prlimit64 },
	{ "mmap", SYS_mmap },
};

enum { CHANNEL = 3 }; /* to the supervisor */

static _Noreturn void
die(const char *what)
{
	printf("cannot %s: %s\n", what, strerror(errno));
	exit(1);
}

static long
number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].nr;
	errno = ENOSYS;
	die(name);
}

/* It waits in a system call, so the instruction before its place is one. */
static void
stop(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1)
		die("trace the worker");
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == -1 || waitpid(pid, NULL, 0) != pid)
		die("stop the worker");
}

/* Bytes for an argument, in memory below the stack that nothing uses. */
static unsigned long
put(pid_t pid, unsigned long *room, const void *bytes, size_t n)
{
	struct iovec here = { (void *)bytes, n };

	*room -= (n + 15) & ~15UL;
	struct iovec there = { (void *)*room, n };
	if (process_vm_writev(pid, &here, 1, &there, 1, 0) != (ssize_t)n)
		die("write to the worker's stack");
	return *room;
}

static long opened[256]; /* by the worker, to be closed again */
static int  nopened;

static unsigned long
argument(pid_t pid, unsigned long *room, const char *word)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (*word == '@')
		return put(pid, room, word + 1, strlen(word));
	if (*word == '%')
		return nopened > 0 ? (unsigned long)opened[nopened - 1] : ~0UL;
	if (*word != '!')
		return (unsigned long)strtol(word, NULL, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", word + 1);
	return put(pid, room, &at, sizeof(at));
}

/* What the call returned. */
static long
make(pid_t pid, const struct user_regs_struct *was, char *call)
{
	unsigned long           a[6] = { 0 }, room = (was->rsp - 4096) & ~15UL;
	struct user_regs_struct r = *was;
	int                     status;

	r.rax = (unsigned long)number_of(strsep(&call, ","));
	for (int i = 0; i < 6 && call != NULL; i++)
		a[i] = argument(pid, &room, strsep(&call, ","));
	r.orig_rax = ~0UL;
	r.rip -= 2;
	r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
	if (ptrace(PTRACE_SETREGS, pid, NULL, &r) == -1 || ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == -1)
		die("make the worker go on");
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		die("see the call return");
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) == -1)
		die("read the result");
	return (long)r.rax;
}

static int
inject(pid_t pid, int n, char **list)
{
	struct user_regs_struct was;

	stop(pid);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &was) == -1)
		die("read registers");
	for (int i = 0; i < n; i++) {
		printf("%s: ", list[i]);
		long r = make(pid, &was, list[i] + strspn(list[i], "=?"));
		printf("%s\n", r < 0 && r > -4096 ? strerrorname_np((int)-r) : "done");
		if (r >= 0 && strstr(list[i], "openat") != NULL && nopened < 256)
			opened[nopened++] = r;
	}
	while (nopened > 0) {
		char text[32];

		snprintf(text, sizeof(text), "close,%ld", opened[--nopened]);
		make(pid, &was, text);
	}
	was.orig_rax = ~0UL;
	was.rax = (unsigned long)-EINTR; /* its loop looks again */
	if (ptrace(PTRACE_SETREGS, pid, NULL, &was) == -1 || ptrace(PTRACE_DETACH, pid, NULL, NULL) == -1)
		die("leave the worker");
	return 0;
}

/* The next packet from the supervisor is CLOSE with this id: [0, id, "close", {}]. */
static bool
is_close(pid_t pid, const struct user_regs_struct *was, unsigned char id[9])
{
	unsigned long at = (was->rsp - 2048) & ~15UL;
	unsigned char bytes[128] = { 0 };
	char          call[64];
	struct iovec  here = { bytes, sizeof(bytes) }, there = { (void *)at, sizeof(bytes) };

	snprintf(call, sizeof(call), "recvfrom,%d,%lu,%zu,%d", CHANNEL, at, sizeof(bytes), MSG_DONTWAIT);
	if (make(pid, was, call) < 11 || process_vm_readv(pid, &here, 1, &there, 1, 0) == -1)
		return false;
	memcpy(id, bytes + 2, 9);
	return memcmp(bytes + 11,
		   "\xa5"
		   "close",
		   6) == 0;
}

/* Ends when the supervisor has killed it. */
static int
lie(pid_t pid)
{
	struct user_regs_struct was;
	unsigned char           closed[13] = { 0x94, 1, [11] = 0xc0, 0x80 };
	char                    call[64];

	stop(pid);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &was) == -1)
		die("read registers");
	puts("held");
	fflush(stdout);
	while (!is_close(pid, &was, closed + 2))
		usleep(1000);
	unsigned long room = (was.rsp - 2048) & ~15UL;
	unsigned long at = put(pid, &room, closed, sizeof(closed));
	snprintf(call, sizeof(call), "sendto,%d,%lu,%zu,0", CHANNEL, at, sizeof(closed));
	puts("lies");
	fflush(stdout);
	make(pid, &was, call);
	return waitpid(pid, NULL, __WALL) == pid ? 0 : 1;
}

#else

static int
lie(pid_t pid)
{
	return 2;
}

static int
inject(pid_t pid, int n, char **list)
{
	(void)pid, (void)n, (void)list;
	return 2;
}

#endif

int
main(int argc, char **argv)
{
#if !defined(__x86_64__)
	if (argc == 1)
		return puts("1..0 # SKIP the system calls are made as x86_64 does") < 0;
#endif
	if (argc == 2)
		return lie(atoi(argv[1]));
	if (argc > 2)
		return inject(atoi(argv[1]), argc - 2, argv + 2);
	setenv("INJECT", argv[0], 1);
	execlp("sh", "sh", "t/lib/sh/taken_over_worker.sh", NULL);
	return 1;
}
