/*
 * A session's cgroups and the slots in them, on the real hierarchies of this machine:
 * a slot's own memory limit, who is counted where, and that all of it goes again.
 */
#include "tap.h"
#include "workers/session/sandbox/cgroup.h"

static struct cg_found found;
static char            dirs[1 + CG__COUNT][PATH_MAX];

/* As the supervisor does where v2 has the controllers. */
static bool
hand_on(void)
{
	char file[PATH_MAX + 32];

	if (!found.v2[CG_MEMORY] || !found.v2[CG_PIDS])
		return false;
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%.4000s/cgroup.subtree_control", i == 0 ? found.unified.dir : dirs[0]);
		cgroup_write(AT_FDCWD, file, "+memory +pids");
	}
	return true;
}

/* Our directories, where the supervisor would make its own. */
static struct msg_cgroups
places(bool with_v2)
{
	for (int k = -1; k < CG__COUNT; k++) {
		const struct cg_place *p = k == -1 ? &found.unified : &found.v1[k];
		bool                   use = k == -1 ? with_v2 : k != CG_FREEZER || !with_v2;

		dirs[1 + k][0] = '\0';
		if (use && p->dir[0] != '\0')
			snprintf(dirs[1 + k], PATH_MAX, "%.4000s/20-slots-%d", p->dir, (int)getpid());
		if (dirs[1 + k][0] != '\0')
			mkdir(dirs[1 + k], 0755);
	}
	return (struct msg_cgroups){ dirs[0], with_v2 && hand_on(), dirs[1], dirs[2], dirs[3], dirs[4] };
}

static void
remove_places(void)
{
	for (int i = 0; i < 1 + CG__COUNT; i++)
		if (dirs[i][0] != '\0' && rmdir(dirs[i]) == -1)
			diag("%s stays", dirs[i]);
}

/* A child in this slot that touches so much memory; how it ended. */
static int
eat(const struct cgroup *c, int slot, size_t mib)
{
	int   status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (int k = 0; k < CG__COUNT; k++)
			if (c->slots[slot].join[k] >= 0 && write(c->slots[slot].join[k], "0", 1) == -1)
				_exit(2);
		if (c->base.v2_limits && cgroup_write(c->slots[slot].dir, "cgroup.procs", "0") == -1)
			_exit(2);
		char *p = malloc(mib << 20);
		if (p == NULL)
			_exit(3);
		memset(p, 1, mib << 20);
		_exit(p[mib] == 1 ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	return status;
}

static bool
was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void
limits_one_slot(struct cgroup *c)
{
	struct err e;
	int        small = cgroup_slot_take(c, &e), other = cgroup_slot_take(c, &e);

	ok(small >= 0 && other >= 0 && small != other, "two slots are taken");
	struct cgroup_events before = cgroup_slot_events(c, small), others = cgroup_slot_events(c, other);
	ok(!was_killed(eat(c, small, 24)), "without a limit of its own a command has the session's");
	ok(cgroup_slot_limit(c, small, 16) == 0, "a slot gets a memory limit of its own");
	ok(was_killed(eat(c, small, 24)), "which holds");
	ok(!was_killed(eat(c, other, 24)), "for this slot alone");
	cmp_ok(
	    (int)(cgroup_slot_events(c, small).oom_kills - before.oom_kills), ">=", 1, "the victim is counted there");
	cmp_ok((int)(cgroup_slot_events(c, other).oom_kills - others.oom_kills), "==", 0, "and nowhere else");
	cgroup_slot_done(c, small, false);
	cmp_ok(cgroup_slot_take(c, &e), "==", small, "the slot is used again");
	ok(!was_killed(eat(c, small, 24)), "without the limit");
	cgroup_slot_limit(c, small, 16);
	ok(was_killed(eat(c, other, 80)), "the session's limit holds in every slot");
	cgroup_slot_done(c, small, true);
	cgroup_slot_done(c, other, false);
}

/* What another worker finds: slots as they were left, a limit in one of them. */
static void
finds_them_again(const struct msg_worker_start *w)
{
	struct cgroup c;
	struct err    e;

	if (!ok(cgroup_reopen(&c, w, &e) == 0, "another worker opens them"))
		diag("%s", e.text);
	cmp_ok((int)c.nslots, "==", 2, "finds both slots");
	ok(cgroup_slot_retake(&c, 1) && !cgroup_slot_retake(&c, 2) && !cgroup_slot_retake(&c, -1),
	    "takes one that is in use, and none that is not there");
	cmp_ok(cgroup_slot_take(&c, &e), "==", 0, "and uses the other");
	ok(!was_killed(eat(&c, 0, 24)), "without the limit it had");
	cmp_ok(cgroup_remove(&c, true, &e), "==", 0, "all of it can be removed");
	cgroup_clear(&c);
}

static void
all_of_it(bool with_v2)
{
	struct msg_worker_start w;
	struct cgroup           c;
	struct err              e;

	msg_defaults(MSG_WORKER_START, &w);
	w.id = 1;
	w.uid_base = geteuid();
	w.cgroups = places(with_v2);
	w.spec.memory_mb = 64;
	w.spec.pids_limit = 32;
	w.spec.cpus = 2;
	note("%s", with_v2 ? "with the v2 tree" : "without it");
	if (!ok(cgroup_make(&c, &w, &e) == 0, "a session's cgroups are made"))
		diag("%s", e.text);
	cgroup_hand_on(&c);
	limits_one_slot(&c);
	cgroup_clear(&c);
	finds_them_again(&w);
	remove_places();
}

int
main(void)
{
	cgfind(&found, "");
	bool v1 = found.v1[CG_MEMORY].dir[0] != '\0', v2 = found.v2[CG_MEMORY];

	if (geteuid() != 0 || (!v1 && !v2))
		plan(SKIP_ALL, "no memory controller that we may use");
	if (found.unified.dir[0] != '\0')
		all_of_it(true);
	if (v1)
		all_of_it(false);
	done_testing();
}
