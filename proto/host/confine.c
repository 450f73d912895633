#include "host/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memfd.h"
#include "host/landlock.h"

int
confine_bounding_set(struct err *e)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		/* EPERM: we may not, having no CAP_SETPCAP; no_new_privs keeps the set out of reach then */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1 && errno != EPERM)
			return err_sys(e, "drop capability %d", cap);
	}
	return 0;
}

int
confine_identity(uid_t uid, gid_t gid, struct err *e)
{
	if (setgroups(0, NULL) == -1)
		return err_sys(e, "setgroups");
	if (setresgid(gid, gid, gid) == -1)
		return err_sys(e, "setresgid %u", gid);
	if (setresuid(uid, uid, uid) == -1)
		return err_sys(e, "setresuid %u", uid);
	return 0;
}

int
confine_capabilities(struct err *e)
{
	return confine_capabilities_but(-1, e);
}

int
confine_capabilities_but(int kept, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   left[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (kept >= 0)
		left[kept / 32].effective = left[kept / 32].permitted = 1U << kept % 32;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return err_sys(e, "ambient set");
	if (syscall(SYS_capset, &head, left) == -1)
		return err_sys(e, "capset");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "dumpable");
	return 0;
}

static int
add_rules(scmp_filter_ctx ctx, const int *allowed, size_t n, const struct call_if *only_if, size_t n_if)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < n_if; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, only_if[i].nr, 1,
		    SCMP_CMP(only_if[i].arg, SCMP_CMP_MASKED_EQ, only_if[i].mask, only_if[i].wanted));
	return r;
}

/* abort(3), of ourselves only. */
static int
add_abort(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(
	    ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
}

/* Loads it, when r is 0, and releases it in any case. */
static int
load(scmp_filter_ctx ctx, int r, struct err *e)
{
	if (r == 0)
		r = add_abort(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx != NULL)
		seccomp_release(ctx);
	errno = -r;
	return r == 0 ? 0 : err_sys(e, "load the filter");
}

int
confine_calls(const int *allowed, size_t n, const struct call_if *only_if, size_t n_if, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	return load(ctx, ctx == NULL ? -ENOMEM : add_rules(ctx, allowed, n, only_if, n_if), e);
}

/* ---- a worker with sockets and no files -------------------------------------------- */

/*
 * From the outside in.  The order matters:
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
static int
drop_bounding_set(const struct confinement *c, struct err *e)
{
	return confine_bounding_set(e);
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
		return err_set(e, E_INVALID, "uid %lu is not a valid unprivileged uid", c->uid);
	return confine_identity(id, id, e);
}

static int
drop_capabilities(const struct confinement *c, struct err *e)
{
	return confine_capabilities(e);
}

static int
set_rlimits(const struct confinement *c, struct err *e)
{
	static const struct rlimit zero = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &zero) == -1)
		return err_sys(e, "RLIMIT_CORE");
	if (setrlimit(RLIMIT_NPROC, &zero) == -1)
		return err_sys(e, "RLIMIT_NPROC");
	return 0;
}

/* A ruleset that handles everything and has no rule allows nothing. */
static int
deny_files(const struct confinement *c, struct err *e)
{
	struct landlock_rules s;
	int                   r = landlock_rules_open(&s, LL_ALL_FILES & ~LL_REFER, c->net, e);

	if (r == 1) {
		log_debug("step=landlock skipped: this kernel has none");
		return 0;
	}
	if (r == 0)
		r = landlock_rules_restrict(&s, e);
	landlock_rules_close(&s);
	return r;
}

/* What a loop, memory, open sockets and memfds need.  Nothing makes a socket, a path or a process. */
static const int floor_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
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
	SCMP_SYS(getrlimit),
	SCMP_SYS(prctl),
#endif
};

static const struct call_if floor_calls_if[] = {
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 }, /* no new code */
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 }, { SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD }, { SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFD },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL }, { SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFL },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_ADD_SEALS }, { SCMP_SYS(fcntl), 1, UINT32_MAX, F_GET_SEALS },
	/* glibc's fstat */
	{ SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH },
#ifdef __SANITIZE_ADDRESS__
	{ SCMP_SYS(prlimit64), 0, UINT32_MAX, 0 }, /* our own */
#endif
};

static int
add_rule_for(scmp_filter_ctx ctx, const struct call_for *c)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, c->nr, 3, SCMP_A0(SCMP_CMP_MASKED_EQ, c->mask[0], c->wanted[0]),
	    SCMP_A1(SCMP_CMP_MASKED_EQ, c->mask[1], c->wanted[1]),
	    SCMP_A2(SCMP_CMP_MASKED_EQ, c->mask[2], c->wanted[2]));
}

static int
add_floor(scmp_filter_ctx ctx)
{
	if (ctx == NULL)
		return -ENOMEM;
	return add_rules(ctx, floor_calls, sizeof(floor_calls) / sizeof(floor_calls[0]), floor_calls_if,
	    sizeof(floor_calls_if) / sizeof(floor_calls_if[0]));
}

int
confine_calls_beside_floor(const int *more, size_t n, const struct call_if *more_if, size_t n_if, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int             r = add_floor(ctx);

	if (r == 0)
		r = add_rules(ctx, more, n, more_if, n_if);
	return load(ctx, r, e);
}

static int
add_all(scmp_filter_ctx ctx, const struct confinement *c)
{
	int r = add_floor(ctx);

	if (r == 0)
		r = add_rules(ctx, c->calls, c->n_calls, NULL, 0);
	for (size_t i = 0; r == 0 && i < c->n_calls_for; i++)
		r = add_rule_for(ctx, &c->calls_for[i]);
	return r;
}

static int
filter_calls(const struct confinement *c, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	return load(ctx, add_all(ctx, c), e);
}

/* A tree, not a list: the kernel walks it once for each call there is when it is loaded. */
int
confine_program(const char *name, const struct confinement *c, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	AUTO_FD int     fd = memfd_new(name, e);
	int             r = add_all(ctx, c);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0 && fd != -1)
		r = seccomp_export_bpf(ctx, fd);
	if (ctx != NULL)
		seccomp_release(ctx);
	if (fd == -1)
		return -1;
	errno = -r;
	if (r != 0)
		return err_sys(e, "make the filter of %s", name);
	return memfd_seal(fd, e) == -1 ? -1 : fd_take(&fd);
}

int
confine_load(int program, struct err *e)
{
	struct sock_filter code[BPF_MAXINSNS];
	int64_t            size = memfd_sealed_size(program, e);

	if (size == -1)
		return -1;
	if (size <= 0 || size > (int64_t)sizeof(code) || size % (int64_t)sizeof(*code) != 0 ||
	    pread(program, code, (size_t)size, 0) != (ssize_t)size)
		return err_set(e, E_INVALID, "a filter of %ld bytes is invalid", size);
	struct sock_fprog prog = { .len = (unsigned short)((size_t)size / sizeof(*code)), .filter = code };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)
		return err_sys(e, "load the filter");
	return 0;
}

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
confine_all(const struct confinement *c, struct err *e)
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
