/*
 * The walls around the gateway, from the outside in.  The order matters:
 *
 *	bounding set	needs CAP_SETPCAP, which leaves with uid 0
 *	chroot		needs CAP_SYS_CHROOT, the same
 *	identity	groups first: without root they cannot be changed any more
 *	capabilities	what is left of them, and no way to gain new ones
 *	rlimits		NPROC counts processes of the uid we have by now
 *	landlock	no path can be opened even if the root were escaped
 *	seccomp		last, because it forbids every call above
 *
 * Not being root, or root of a user namespace that has no other uid (the supervisor
 * then names no directory), skips what only root can do.  Any failure is fatal, except that
 * a kernel may have no landlock.  RLIMIT_FSIZE stays: it would also stop writes
 * to memfds.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confining.h"
#include "log.h"
#include "ruleset.h"

/* ---- rights ---------------------------------------------------------------- */

static int
drop_bounding_set(const struct confinement *c, struct err *e)
{
	(void)c;
	return confining_bounding_set(e);
}

static int
lock_root(const struct confinement *c, struct err *e)
{
	if (chroot(c->root) == -1 || chdir("/") == -1)
		return err_sys(e, "%s", c->root);
	return 0;
}

static int
become_nobody(const struct confinement *c, struct err *e)
{
	uid_t id = (uid_t)c->uid;

	/* -1 means "leave it as it is" to the kernel */
	if (id == 0 || c->uid >= (uid_t)-1)
		return err_set(e, E_INVALID, "uid %lu is no place to go", c->uid);
	return confining_identity(id, id, e);
}

static int
drop_capabilities(const struct confinement *c, struct err *e)
{
	(void)c;
	return confining_capabilities(e);
}

static int
set_rlimits(const struct confinement *c, struct err *e)
{
	static const struct rlimit zero = { 0, 0 };

	(void)c;
	if (setrlimit(RLIMIT_CORE, &zero) == -1)
		return err_sys(e, "RLIMIT_CORE");
	if (setrlimit(RLIMIT_NPROC, &zero) == -1)
		return err_sys(e, "RLIMIT_NPROC");
	return 0;
}

/* ---- landlock ---------------------------------------------------------------- */

/* A ruleset that handles everything and has no rule allows nothing. */
static int
deny_files(const struct confinement *c, struct err *e)
{
	struct ruleset s;
	int            r = ruleset_open(&s, LL_ALL_FILES & ~LL_REFER, LL_ALL_NET, e);

	(void)c;
	if (r == 1) {
		log_debug("step=landlock skipped: this kernel has none");
		return 0;
	}
	if (r == 0)
		r = ruleset_restrict(&s, e);
	ruleset_close(&s);
	return r;
}

/* ---- seccomp ----------------------------------------------------------------- */

/* What the loop, memory, open sockets and memfds need.  Nothing makes a socket, a path or a process. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	/* create too: libev makes a new set when a closed socket lives on in another process */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(lseek),
	SCMP_SYS(pread64),
	SCMP_SYS(fstat),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	SCMP_SYS(sched_yield),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getrlimit),
	SCMP_SYS(prctl),
#endif
};

static const struct call_if allowed_if[] = {
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 }, /* no new code */
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFD },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFL },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_ADD_SEALS },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GET_SEALS },
	/* glibc's fstat */
	{ SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH },
};

static int
filter_calls(const struct confinement *c, struct err *e)
{
	(void)c;
	return confining_calls(
	    allowed, sizeof(allowed) / sizeof(allowed[0]), allowed_if, sizeof(allowed_if) / sizeof(allowed_if[0]), e);
}

/* ---- all of it --------------------------------------------------------------- */

static const struct {
	const char *name;
	bool        for_root;
	int (*fn)(const struct confinement *, struct err *);
} steps[] = {
	{ "bounding set", false, drop_bounding_set },
	{ "chroot", true, lock_root },
	{ "identity", true, become_nobody },
	{ "capabilities", false, drop_capabilities },
	{ "rlimits", false, set_rlimits },
	{ "landlock", false, deny_files },
	{ "seccomp", false, filter_calls },
};

int
confine(const struct confinement *c, struct err *e)
{
	bool root = geteuid() == 0 && c->root[0] != '\0';

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].for_root && !root)
			continue;
		if (steps[i].fn(c, e) == -1)
			return err_prefix(e, "%s", steps[i].name);
	}
	return 0;
}
