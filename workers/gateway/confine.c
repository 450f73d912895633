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
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"
#include "log.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

/* ---- rights ---------------------------------------------------------------- */

static int
drop_bounding_set(const struct confinement *c, struct err *e)
{
	(void)c;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		/* EPERM: we may not, having no CAP_SETPCAP; no_new_privs keeps the set out of reach then */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1 && errno != EPERM)
			return err_sys(e, "drop capability %d", cap);
	}
	return 0;
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
	if (setgroups(0, NULL) == -1)
		return err_sys(e, "setgroups");
	if (setresgid(id, id, id) == -1)
		return err_sys(e, "setresgid %u", id);
	if (setresuid(id, id, id) == -1)
		return err_sys(e, "setresuid %u", id);
	return 0;
}

static int
drop_capabilities(const struct confinement *c, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void)c;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return err_sys(e, "ambient set");
	if (syscall(SYS_capset, &head, none) == -1)
		return err_sys(e, "capset");
	/* nobody of our uid may look into our memory or trace us */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "dumpable");
	return 0;
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

/* As the newest kernel we know has it; older ones take it while what they do not know is 0. */
struct ruleset {
	uint64_t fs, net, scoped;
};

static struct ruleset
everything(long abi)
{
	struct ruleset r = { .fs = (1ULL << 13) - 1 };

	if (abi >= 2)
		r.fs |= 1ULL << 13; /* REFER */
	if (abi >= 3)
		r.fs |= 1ULL << 14; /* TRUNCATE */
	if (abi >= 5)
		r.fs |= 1ULL << 15; /* IOCTL_DEV */
	if (abi >= 4)
		r.net = 3; /* BIND_TCP, CONNECT_TCP */
	if (abi >= 6)
		r.scoped = 3; /* abstract Unix sockets, signals */
	return r;
}

static int
deny_files(const struct confinement *c, struct err *e)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U /* ask for the version */);

	(void)c;
	if (abi == -1 && (errno == ENOSYS || errno == EOPNOTSUPP)) {
		log_debug("step=landlock skipped: this kernel has none");
		return 0;
	}
	if (abi == -1)
		return err_sys(e, "ask for the version");
	struct ruleset all = everything(abi);
	/* a ruleset that handles everything and has no rule allows nothing */
	AUTO_FD int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0U);
	if (fd == -1)
		return err_sys(e, "make a ruleset");
	if (syscall(SYS_landlock_restrict_self, fd, 0U) == -1)
		return err_sys(e, "restrict");
	return 0;
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

/* Calls with one argument that decides: (value & mask) == wanted. */
static const struct {
	int      nr;
	unsigned arg;
	uint64_t mask, wanted;
} allowed_if[] = {
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
add_rules(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < sizeof(allowed_if) / sizeof(allowed_if[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed_if[i].nr, 1,
		    SCMP_CMP(allowed_if[i].arg, SCMP_CMP_MASKED_EQ, allowed_if[i].mask, allowed_if[i].wanted));
	if (r == 0) /* abort(3), of ourselves only */
		r = seccomp_rule_add(
		    ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	return r;
}

static int
filter_calls(const struct confinement *c, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int             r = -ENOMEM;

	(void)c;
	if (ctx != NULL)
		r = add_rules(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx != NULL)
		seccomp_release(ctx);
	errno = -r;
	return r == 0 ? 0 : err_sys(e, "load the filter");
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
