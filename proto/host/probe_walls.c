/* What follows from the probes: which walls a sandbox made by this process would have. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/probe_parts.h"

static void __attribute__((format(printf, 3, 4))) wall_misses(struct walls *w, enum wall which, const char *fmt, ...)
{
	char    why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	w->in_force[which] = false;
	snprintf(w->missing[which], sizeof(w->missing[which]), "%s: %s", wall_name(which), why);
	if (w->tier == TIER_FULL && wall_part(which) == WALL_OF_TIER)
		w->tier = TIER_REDUCED;
}

/* A wall that one probe decides; false and told when it is not there. */
static bool
wall_by(struct walls *w, enum wall which, void (*try)(struct probe *, int), int arg, const struct cg_found *places)
{
	struct probe p;

	if (probe_by(try, arg, &p, places))
		return true;
	wall_misses(w, which, "%s%s%s", p.why, p.remedy[0] != '\0' ? "; remedy: " : "", p.remedy);
	return false;
}

/* What a memory limit means; nothing without one. */
static void
wall_counted(struct walls *w, enum wall which, void (*try)(struct probe *, int), const struct cg_found *places)
{
	if (w->in_force[WALL_MEMORY])
		wall_by(w, which, try, 0, places);
	else
		wall_misses(w, which, "memory is not bounded at all");
}

static void
wall_limits(struct walls *w, const struct cg_found *places)
{
	static const enum wall of[CG__LIMITS] = {
		[CG_MEMORY] = WALL_MEMORY, [CG_PIDS] = WALL_PIDS, [CG_CPU] = WALL_CPU
	};
	size_t used = 0;

	for (int c = 0; c < CG__LIMITS; c++) {
		bool v1 = places->v1[c].dir[0] != '\0';

		if (places->v2[c] || v1)
			used += (size_t)snprintf(w->limits + used, sizeof(w->limits) - used, "%s%s by cgroup %s",
			    used > 0 ? ", " : "", cg_name(c), places->v2[c] ? "v2" : "v1");
		else
			wall_misses(w, of[c], "%s%.160s; %.160s; remedy: %s",
			    c == CG_PIDS ? "RLIMIT_NPROC stands in: " : "", places->v1[c].why,
			    places->unified.dir[0] == '\0' ? places->unified.why
							   : "the v2 tree does not offer it either",
			    probe_cgroup_remedy());
	}
	if (used == 0)
		snprintf(w->limits, sizeof(w->limits), "none");
	wall_counted(w, WALL_SWAP, try_swap, places);
	wall_counted(w, WALL_SOCKETS, try_sockets_counted, places);
	wall_counted(w, WALL_KERNEL, try_kernel_counted, places);
}

static void
wall_uids(struct walls *w)
{
	snprintf(w->uids, sizeof(w->uids), "single");
	if (geteuid() != 0)
		wall_misses(w, WALL_UIDS,
		    "boxd as uid %u has only its own uid for its sandboxes; remedy: run it as root",
		    (unsigned)geteuid());
	else if (wall_by(w, WALL_UIDS, try_uid_range, 0, NULL))
		snprintf(w->uids, sizeof(w->uids), "range");
}

void
probe_walls(struct walls *w, const struct cg_found *places)
{
	struct err e;

	*w = (struct walls){ .tier = TIER_FULL };
	for (size_t i = 0; i < WALL__COUNT; i++)
		w->in_force[i] = wall_part(i) != WALL_OF_SESSION;
	if (probe_userns(&e) == -1) {
		memset(w->in_force, 0, sizeof(w->in_force));
		wall_misses(w, WALL_USERNS, "%s", e.text);
		w->tier = TIER_NONE;
		return;
	}
	wall_uids(w);
	wall_limits(w, places);
	snprintf(w->kill, sizeof(w->kill), "%s",
	    wall_by(w, WALL_KILL, try_clone_into, true, places) ? "cgroup v2" : "a UTS namespace per command");
	wall_by(w, WALL_FREEZE, try_freeze, 0, places);
	wall_by(w, WALL_SECCOMP, try_seccomp, 0, NULL);
	wall_by(w, WALL_LANDLOCK, try_landlock, 0, NULL);
}

struct msg_isolation
walls_isolation(const struct walls *w, struct wall_lists *l)
{
	size_t held = 0, missing = 0;

	for (int i = 0; i < WALL__COUNT; i++) {
		if (w->in_force[i])
			l->in_force[held++] = wall_name(i);
		else if (w->missing[i][0] != '\0')
			l->missing[missing++] = w->missing[i];
	}
	return (struct msg_isolation){
		.tier = w->tier,
		.uids = w->uids,
		.limits = w->limits,
		.kill = w->kill,
		.walls = { held, l->in_force },
		.missing = { missing, l->missing },
	};
}

int
walls_require(const struct walls *w, enum wall which, struct err *e)
{
	if (w->in_force[which] || wall_part(which) == WALL_OF_SESSION)
		return 0;
	return err_set(e, E_BACKEND, "this machine does not give the required wall %s",
	    w->missing[which][0] != '\0' ? w->missing[which] : wall_name(which));
}
