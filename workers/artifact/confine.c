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

#include "base/bounds.h"
#include "base/log.h"
#include "host/confine.h"
#include "host/landlock.h"

enum {
	IN_SOURCE = LL_READ_FILE | LL_READ_DIR,
	IN_COPY = LL_READ_FILE | LL_READ_DIR | LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_FILE | LL_REMOVE_DIR |
		  LL_MAKE_DIR | LL_MAKE_REG | LL_REFER,
};

#define MEMORY (256 * MIB) /* a manifest, what it lists, and its canonical text are a tenth of it */

/* Work on files by descriptor. */
static const int allowed[] = {
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(syncfs),
	SCMP_SYS(geteuid),
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
prepare_landlock(struct landlock_rules *s, int from, int to, struct err *e)
{
	int r = landlock_rules_open(s, LL_ALL_FILES, LL_ALL_NET, e);

	if (r == 0 && from != -1)
		r = landlock_rules_allow(s, from, IN_SOURCE, "the source", e);
	if (r == 0 && to != -1)
		r = landlock_rules_allow(s, to, IN_COPY, "the copy", e);
	return r;
}

int
confine(int from, int to, struct err *e)
{
	struct landlock_rules s = { .fd = -1 };
	int                   landlock = prepare_landlock(&s, from, to, e);

	if (landlock == 1)
		log_warn("this kernel has no landlock that would do: file modes alone keep box-artifact in its place");
	int keep = landlock == 0 && geteuid() == 0 ? CAP_DAC_READ_SEARCH : -1;
	int r = landlock == -1 || confine_bounding_set(e) == -1 || confine_capabilities_but(keep, e) == -1 ||
			set_rlimits(e) == -1 || (landlock == 0 && landlock_rules_restrict(&s, e) == -1)
		    ? -1
		    : 0;

	landlock_rules_close(&s);
	if (r == 0)
		r = confine_calls_beside_floor(allowed, sizeof(allowed) / sizeof(*allowed), NULL, 0, e);
	return r == -1 ? err_prefix(e, "confine") : 0;
}
