/*
 * The walls around box-artifact, from the outside in.  The order matters:
 *
 *	bounding set	needs CAP_SETPCAP
 *	capabilities	all, but for reading what others own; that one only where landlock says what can be read
 *	rlimits		no process, no file beyond the largest artifact, no more memory than a manifest can take
 *	landlock	the source to be read, the copy to be written, and no file elsewhere
 *	seccomp		no network, no program, no process; last, because it forbids the calls above
 *
 * It keeps boxd's uid, so that the copies are boxd's.  A kernel may have no landlock; then file modes are the wall.
 */
#include "confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bounds.h"
#include "confining.h"
#include "log.h"
#include "ruleset.h"

enum {
	IN_SOURCE = LL_READ_FILE | LL_READ_DIR,
	IN_COPY = LL_READ_FILE | LL_READ_DIR | LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_FILE | LL_REMOVE_DIR |
		  LL_MAKE_DIR | LL_MAKE_REG | LL_REFER,
};

#define MEMORY (256 * MIB) /* a manifest, what it lists, and its canonical text are a tenth of it */

static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(syncfs),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(geteuid),
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
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GET_SEALS },
};

static int
set_rlimits(struct err *e)
{
	static const struct {
		int           what;
		struct rlimit most;
	} limits[] = {
		{ RLIMIT_CORE, { 0, 0 } },
		{ RLIMIT_NPROC, { 0, 0 } },
		{ RLIMIT_FSIZE, { LIM_ARTIFACT_BYTES, LIM_ARTIFACT_BYTES } },
#ifndef __SANITIZE_ADDRESS__ /* whose shadow is larger than any limit */
		{ RLIMIT_AS, { MEMORY, MEMORY } },
#endif
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (setrlimit((__rlimit_resource_t)limits[i].what, &limits[i].most) == -1)
			return err_sys(e, "limit %d", limits[i].what);
	return 0;
}

/* 1: this kernel has none. */
static int
prepare_landlock(struct ruleset *s, int from, int to, struct err *e)
{
	int r = ruleset_open(s, LL_ALL_FILES, LL_ALL_NET, e);

	if (r == 0 && from != -1)
		r = ruleset_allow(s, from, IN_SOURCE, "the source", e);
	if (r == 0 && to != -1)
		r = ruleset_allow(s, to, IN_COPY, "the copy", e);
	return r;
}

int
confine(int from, int to, struct err *e)
{
	struct ruleset s = { .fd = -1 };
	int            landlock = prepare_landlock(&s, from, to, e);

	if (landlock == 1)
		log_warn("this kernel has no landlock that would do: file modes alone keep box-artifact in its place");
	int keep = landlock == 0 && geteuid() == 0 ? CAP_DAC_READ_SEARCH : -1;
	int r = landlock == -1 || confining_bounding_set(e) == -1 || confining_capabilities_but(keep, e) == -1 ||
			set_rlimits(e) == -1 || (landlock == 0 && ruleset_restrict(&s, e) == -1)
		    ? -1
		    : 0;

	ruleset_close(&s);
	if (r == 0)
		r = confining_calls(allowed, sizeof(allowed) / sizeof(*allowed), allowed_if,
		    sizeof(allowed_if) / sizeof(*allowed_if), e);
	return r == -1 ? err_prefix(e, "confine") : 0;
}
