/*
 * A worker whose sandbox stands talks to init, which a command may have taken over.  So it gives up all that it does not
 * need, from the outside in, as proto/host/confine.c does for the gateway:
 *
 *	bounding set	needs CAP_SETPCAP
 *	chroot		an empty directory; needs CAP_SYS_CHROOT
 *	identity	a uid of its own, see ids.h; as root of a range of uids only
 *	capabilities	all of them, and no_new_privs
 *	parent		the supervisor's death is ours; a change of uid would undo this
 *	rlimits		no core file, no process
 *	landlock	no file but those below the session's cgroups; no TCP
 *	seccomp		what supervisor/core/workercalls.c names
 *
 * What takes more is done by others: the supervisor writes the state file and removes the last directories; a worker
 * with all rights is started to reopen a network, and to sweep what is left.
 */
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "host/confine.h"
#include "host/landlock.h"
#include "worker.h"

static int
drop_bounding_set(struct worker *w, struct err *e)
{
	return confine_bounding_set(e);
}

static int
lock_root(struct worker *w, struct err *e)
{
	if (*w->root == '\0')
		return 0;
	if (chroot(w->root) == -1 || chdir("/") == -1)
		return err_sys(e, "%s", w->root);
	return 0;
}

/* The sandbox's gid stays among its groups: by it a file of a cgroup is given to init. */
static int
become_itself(struct worker *w, struct err *e)
{
	const struct ids *i = &w->cgroup.ids;
	gid_t             own = i->worker, shared = i->sandbox;

	if (!ids_differ(i))
		return 0;
	if (setgroups(1, &shared) == -1)
		return err_sys(e, "setgroups");
	if (setresgid(own, own, own) == -1)
		return err_sys(e, "setresgid %u", own);
	if (setresuid(i->worker, i->worker, i->sandbox) == -1)
		return err_sys(e, "setresuid %u", i->worker);
	return 0;
}

static int
drop_capabilities(struct worker *w, struct err *e)
{
	return confine_capabilities(e);
}

/* A worker ends when its channel does, but not one that was taken over. */
static int
end_with_parent(struct worker *w, struct err *e)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ? err_sys(e, "parent death signal") : 0;
}

static int
set_rlimits(struct worker *w, struct err *e)
{
	static const struct rlimit zero = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &zero) == -1 || setrlimit(RLIMIT_NPROC, &zero) == -1)
		return err_sys(e, "setrlimit");
	return 0;
}

/* Init is outside of the domain, and must be killed one day: signals do not end there. */
static int
deny_files(struct worker *w, struct err *e)
{
	struct landlock_rules s;
	int r = landlock_rules_open_scoped(&s, LL_ALL_FILES & ~LL_REFER, LL_ALL_NET, LL_SCOPE_ABSTRACT, e);

	if (r == 1) {
		log_debug("step=landlock skipped: this kernel has none");
		return 0;
	}
	if (r == 0)
		r = cgroup_allow(&w->cgroup, &s, e);
	if (r == 0)
		r = landlock_rules_restrict(&s, e);
	landlock_rules_close(&s);
	return r;
}

static int
filter_calls(struct worker *w, struct err *e)
{
	int r = confine_load(w->calls, e);

	fd_close(&w->calls);
	return r;
}

static const struct {
	const char *name;
	int (*fn)(struct worker *, struct err *);
} steps[] = {
	{ "bounding set", drop_bounding_set },
	{ "chroot", lock_root },
	{ "identity", become_itself },
	{ "capabilities", drop_capabilities },
	{ "parent", end_with_parent },
	{ "rlimits", set_rlimits },
	{ "landlock", deny_files },
	{ "seccomp", filter_calls },
};

int
confine(struct worker *w, struct err *e)
{
	w->confined = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].fn(w, e) == -1)
			return err_prefix(e, "confine the worker: %s", steps[i].name);
	return 0;
}
