/*
 * The walls around box-store, from the outside in.  The order matters:
 *
 *	bounding set	needs CAP_SETPCAP, which leaves with uid 0
 *	identity	the owner of the skills root; what packages hold is theirs, and theirs alone
 *	capabilities	what is left of them, and no way to gain new ones
 *	rlimits		no core: it would hold what users uploaded
 *	landlock	the skills root and the default workspace, and no file elsewhere
 *	seccomp		no network, no program, no other kind of process; last, because it forbids the calls above
 *
 * A kernel may have no landlock; then the owner's rights are the wall.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "fs/places.h"
#include "host/confine.h"
#include "host/landlock.h"

enum {
	IN_SKILLS = LL_READ_FILE | LL_READ_DIR | LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_FILE | LL_REMOVE_DIR |
		    LL_MAKE_DIR | LL_MAKE_REG | LL_REFER,
	IN_WORKSPACE = LL_READ_FILE | LL_READ_DIR | LL_MAKE_DIR,
};

#define JOB_MEMORY (512 * MIB)       /* reading and encoding a full list of skills takes a tenth of it */
#define JOB_FILE (2 * LIM_ZIP_TOTAL) /* no single file, and no answer, is as large */

static int
become_owner(const struct store *st, struct err *e)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (places_owner(st, &uid, &gid, e) == -1)
		return -1;
	/* root of a user namespace may have no other uid to go to, and no say about groups */
	if (uid == geteuid() && gid == getegid() && setgroups(0, NULL) == -1 && errno == EPERM)
		return 0;
	return confine_identity(uid, gid, e);
}

static int
set_rlimits(struct err *e)
{
	static const struct rlimit none = { 0, 0 };

	return setrlimit(RLIMIT_CORE, &none) == -1 ? err_sys(e, "RLIMIT_CORE") : 0;
}

static int
only_our_files(const struct store *st, struct err *e)
{
	struct landlock_rules s;
	int                   r = landlock_rules_open(&s, LL_ALL_FILES, LL_ALL_NET, e);

	if (r == 1) {
		log_warn("this kernel has no landlock that would do: file modes alone keep box-store in its place");
		return 0;
	}
	if (r == 0)
		r = landlock_rules_allow(&s, st->skills, IN_SKILLS, "the skills root", e);
	if (r == 0 && st->workspace != -1)
		r = landlock_rules_allow(&s, st->workspace, IN_WORKSPACE, "the default workspace", e);
	if (r == 0)
		r = landlock_rules_restrict(&s, e);
	landlock_rules_close(&s);
	return r;
}

/* Work on files by descriptor, and a process for each request. */
static const int allowed[] = {
	SCMP_SYS(socketpair), /* to a request's own process; AF_UNIX without a name */
	SCMP_SYS(fallocate),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(readlink), /* of a descriptor, for its path */
	SCMP_SYS(readlinkat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(faccessat2),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(linkat),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(chmod),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(flock),
	SCMP_SYS(fsync),
	SCMP_SYS(syncfs),
	SCMP_SYS(wait4),
	SCMP_SYS(kill),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(geteuid),
	SCMP_SYS(getppid),
};

enum { NEW_NAMESPACES = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS };

static const struct call_if allowed_if[] = {
	{ SCMP_SYS(clone), 0, (uint64_t)NEW_NAMESPACES | CLONE_NEWCGROUP, 0 }, /* fork */
	{ SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_PDEATHSIG }, { SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_NAME },
	{ SCMP_SYS(prlimit64), 0, UINT32_MAX, 0 }, /* our own */
};

static int
filter_calls(struct err *e)
{
	return confine_calls_beside_floor(
	    allowed, sizeof(allowed) / sizeof(allowed[0]), allowed_if, sizeof(allowed_if) / sizeof(allowed_if[0]), e);
}

int
confine(const struct store *st, struct err *e)
{
	if (confine_bounding_set(e) == -1 || become_owner(st, e) == -1 || confine_capabilities(e) == -1 ||
	    set_rlimits(e) == -1 || only_our_files(st, e) == -1 || filter_calls(e) == -1)
		return err_prefix(e, "confine");
	return 0;
}

int
confine_job(pid_t store, bool large_files, struct err *e)
{
#ifndef __SANITIZE_ADDRESS__ /* whose shadow is larger than any limit */
	static const struct rlimit memory = { JOB_MEMORY, JOB_MEMORY };

	if (setrlimit(RLIMIT_AS, &memory) == -1)
		return err_sys(e, "RLIMIT_AS");
#endif
	static const struct rlimit file = { JOB_FILE, JOB_FILE };

	if (!large_files && setrlimit(RLIMIT_FSIZE, &file) == -1)
		return err_sys(e, "RLIMIT_FSIZE");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		return err_sys(e, "PR_SET_PDEATHSIG");
	/* it may have died before that */
	if (getppid() != store)
		return err_set(e, E_CRASH, "box-store is gone");
	return 0;
}
