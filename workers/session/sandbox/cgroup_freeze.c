/*
 * All commands of a session stopped where they are.  v2 freezes without a controller,
 * and what it froze can still be killed.  The v1 freezer, used where there is no v2
 * tree, keeps even SIGKILL waiting.
 */
#include <string.h>

#include "sandbox/cgroup.h"

static bool
by_v1(const struct cgroup *c)
{
	return c->unified == -1 && c->v1[CG_FREEZER] >= 0;
}

static int
slot_set(const struct cgroup *c, size_t i, bool frozen)
{
	char path[CGROUP_NAME + 32];

	if (!by_v1(c))
		return cgroup_write(c->slots[i].dir, "cgroup.freeze", frozen ? "1" : "0");
	cgroup_slot_file(path, i, "freezer.state");
	return cgroup_write(c->v1[CG_FREEZER], path, frozen ? "FROZEN" : "THAWED");
}

int
cgroup_can_freeze(const struct cgroup *c, struct err *e)
{
	if (c->unified >= 0 || by_v1(c))
		return 0;
	return err_set(e, E_BACKEND, "the session has neither a cgroup v2 nor a v1 freezer cgroup to be frozen by");
}

int
cgroup_freeze(struct cgroup *c, struct err *e)
{
	for (size_t i = 0; i < c->nslots; i++)
		if (slot_set(c, i, true) == -1)
			return err_sys(e, "freeze the session's cgroup x%zu", i);
	return 0;
}

void
cgroup_thaw(struct cgroup *c)
{
	for (size_t i = 0; i < c->nslots; i++)
		slot_set(c, i, false);
}

static bool
slot_is_frozen(const struct cgroup *c, size_t i)
{
	char path[CGROUP_NAME + 32], text[128] = "";

	if (!by_v1(c))
		return cgroup_counter(c->slots[i].events, "frozen ") == 1;
	cgroup_slot_file(path, i, "freezer.state");
	return cgroup_read(c->v1[CG_FREEZER], path, text, sizeof(text)) && strcmp(text, "FROZEN\n") == 0;
}

bool
cgroup_is_frozen(const struct cgroup *c)
{
	for (size_t i = 0; i < c->nslots; i++)
		if (!slot_is_frozen(c, i))
			return false;
	return true;
}

void
cgroup_slot_let_die(struct cgroup *c, int slot)
{
	if (by_v1(c) && slot >= 0)
		slot_set(c, (size_t)slot, false);
}
