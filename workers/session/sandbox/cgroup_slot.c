/*
 * Slots.  A command is cloned into its v2 directory by init; into those of v1 it
 * writes itself, first thing after its birth.  Everything is opened once, when the slot
 * is made: taking one costs a look whether somebody is still in it.
 *
 * Counters of a slot only grow, and a slot is used again only when it is empty: what
 * was counted before a command came is not its fault.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "sandbox/cgroup.h"

/* The cpu quota is the session's alone: it has no victim to be told. */
static bool
slot_has(const struct cgroup *c, int k)
{
	return k != CG_CPU && c->v1[k] >= 0;
}

bool
cgroup_has_slots(const struct cgroup *c)
{
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k))
			return true;
	return c->unified >= 0;
}

static void
slot_name(size_t i, char name[CGROUP_NAME])
{
	snprintf(name, CGROUP_NAME, "x%zu", i);
}

void
cgroup_slot_file(char out[CGROUP_NAME + 32], size_t i, const char *file)
{
	snprintf(out, CGROUP_NAME + 32, "x%zu/%s", i, file);
}

static int
slot_open_file(int dir, size_t i, const char *file, int flags)
{
	char path[CGROUP_NAME + 32];

	cgroup_slot_file(path, i, file);
	return openat(dir, path, flags | O_CLOEXEC);
}

/*
 * The kernel lets a newborn write itself into it if whoever opened the file was root, or has the newborn's uid.  What
 * root opened would take any process of the host, so the sandbox's uid opens it, by the worker's group.
 */
static int
slot_open_tasks(const struct cgroup *c, int dir, size_t i)
{
	char path[CGROUP_NAME + 32];

	cgroup_slot_file(path, i, "tasks");
	if (ids_differ(&c->ids) && fchmodat(dir, path, 0664, 0) == -1)
		return -1;
	ids_act_as_sandbox(&c->ids);
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	ids_act_as_ourselves(&c->ids);
	return fd;
}

/* ---- making ---- */

static void
slot_reset(struct cgroup_slot *s, enum slot_use use)
{
	*s = (struct cgroup_slot){ .use = use, .dir = -1, .events = -1, .oom_file = -1, .pids_file = -1 };
	for (int k = 0; k < CG__COUNT; k++)
		s->join[k] = -1;
}

static void
slot_close(struct cgroup_slot *s)
{
	fd_close(&s->dir);
	fd_close(&s->events);
	fd_close(&s->oom_file);
	fd_close(&s->pids_file);
	for (int k = 0; k < CG__COUNT; k++)
		fd_close(&s->join[k]);
}

static int
slot_mkdirs(const struct cgroup *c, size_t i, struct err *e)
{
	char name[CGROUP_NAME];

	slot_name(i, name);
	if (c->unified >= 0 && mkdirat(c->unified, name, 0755) == -1 && errno != EEXIST)
		return err_sys(e, "make a cgroup for the command");
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k) && mkdirat(c->v1[k], name, 0755) == -1 && errno != EEXIST)
			return err_sys(e, "make a %s cgroup for the command", cg_name(k));
	return 0;
}

/* What is there of it; the rest stays -1. */
static void
slot_open(const struct cgroup *c, size_t i, struct cgroup_slot *s)
{
	int memory = c->v1[CG_MEMORY], pids = c->v1[CG_PIDS];

	if (c->unified >= 0) {
		s->dir = slot_open_file(c->unified, i, "", O_RDONLY | O_DIRECTORY);
		s->events = slot_open_file(c->unified, i, "cgroup.events", O_RDONLY);
	}
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k))
			s->join[k] = slot_open_tasks(c, c->v1[k], i);
	s->oom_file = memory >= 0 ? slot_open_file(memory, i, "memory.oom_control", O_RDONLY)
				  : slot_open_file(c->unified, i, "memory.events", O_RDONLY);
	s->pids_file = slot_open_file(pids >= 0 ? pids : c->unified, i, "pids.events", O_RDONLY);
}

static bool
slot_is_whole(const struct cgroup *c, const struct cgroup_slot *s)
{
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k) && s->join[k] == -1)
			return false;
	return c->unified == -1 || (s->dir >= 0 && s->events >= 0);
}

static int
slot_give(const struct cgroup *c, const struct cgroup_slot *s, struct err *e)
{
	if (cgroup_give_to_init(c, s->dir, "cgroup.procs", e) == -1)
		return -1;
	return cgroup_give_to_init(c, s->dir, "cgroup.kill", e);
}

/* Ready for a command.  Who runs out of memory on v2 loses the whole command, not a random part of it. */
static int
slot_make(const struct cgroup *c, size_t i, struct cgroup_slot *s, struct err *e)
{
	char name[CGROUP_NAME];

	slot_reset(s, SLOT_FREE);
	if (slot_mkdirs(c, i, e) == -1)
		return -1;
	if (c->v1[CG_MEMORY] >= 0) {
		slot_name(i, name);
		cgroup_count_sockets(c->v1[CG_MEMORY], name);
	}
	slot_open(c, i, s);
	int r = slot_is_whole(c, s) ? 0 : err_sys(e, "open the command's cgroups");
	if (r == 0 && s->dir >= 0) {
		cgroup_write(s->dir, "memory.oom.group", "1");
		r = slot_give(c, s, e);
	}
	if (r == -1)
		slot_close(s);
	return r;
}

/* At the end of the list; its index, or -1 and the reason. */
static int
slot_add(struct cgroup *c, const struct cgroup_slot *s, struct err *e)
{
	struct cgroup_slot *all = realloc(c->slots, (c->nslots + 1) * sizeof(*all));

	if (all == NULL)
		return err_set(e, E_SYS, "no memory for a command's cgroup");
	c->slots = all;
	c->slots[c->nslots] = *s;
	return (int)c->nslots++;
}

static int
slot_new(struct cgroup *c, struct err *e)
{
	struct cgroup_slot s;
	int                slot;

	if (c->nslots >= LIM_SLOTS)
		return err_set(e, E_CAPACITY, "%d cgroups of commands are in use", LIM_SLOTS);
	if (slot_make(c, c->nslots, &s, e) == -1)
		return -1;
	if ((slot = slot_add(c, &s, e)) == -1)
		slot_close(&s);
	return slot;
}

/* ---- who is in it ---- */

/* Any hierarchy shows it; prefer v2. */
uint64_t
cgroup_slot_population(const struct cgroup *c, size_t i)
{
	char path[CGROUP_NAME + 32];

	if (c->unified >= 0)
		return cgroup_count_lines(c->slots[i].dir, "cgroup.procs");
	cgroup_slot_file(path, i, "cgroup.procs");
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k))
			return cgroup_count_lines(c->v1[k], path);
	return 0;
}

static bool
is_empty(const struct cgroup *c, size_t i)
{
	char text[128] = "";

	if (c->slots[i].events == -1)
		return c->unified == -1 && cgroup_slot_population(c, i) == 0;
	if (pread(c->slots[i].events, text, sizeof(text) - 1, 0) <= 0)
		return false; /* cannot tell: leave it alone */
	return strstr(text, "populated 0") != NULL;
}

/* ---- taking and giving back ---- */

/* A spent v2 directory cannot be mended, only replaced.  False while it cannot go. */
static bool
slot_replace(struct cgroup *c, size_t i)
{
	char               name[CGROUP_NAME];
	struct cgroup_slot fresh;
	struct err         ignored;

	assert(i < c->nslots && c->slots[i].use == SLOT_SPENT);
	slot_name(i, name);
	if (c->unified == -1 && !is_empty(c, i))
		return false;
	if (c->unified >= 0 && unlinkat(c->unified, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
		return false;
	if (slot_make(c, i, &fresh, &ignored) == -1)
		return false;
	fresh.limited = c->slots[i].limited; /* v1 directories stay */
	slot_close(&c->slots[i]);
	c->slots[i] = fresh;
	return true;
}

static bool
slot_usable(struct cgroup *c, size_t i)
{
	switch (c->slots[i].use) {
	case SLOT_FREE:
		return true;
	case SLOT_CHECK:
		return is_empty(c, i);
	case SLOT_SPENT:
		return slot_replace(c, i);
	case SLOT_BUSY:
		break;
	}
	return false;
}

void
cgroup_slot_prepare(struct cgroup *c)
{
	struct err ignored; /* the next command reports it */

	if (cgroup_has_slots(c) && c->nslots == 0)
		slot_new(c, &ignored);
}

int
cgroup_slot_take(struct cgroup *c, struct err *e)
{
	int found = -1;

	for (size_t i = 0; i < c->nslots && found == -1; i++)
		if (slot_usable(c, i))
			found = (int)i;
	if (found == -1)
		found = slot_new(c, e);
	if (found == -1)
		return -1;
	assert((size_t)found < c->nslots && c->slots[found].use != SLOT_BUSY); /* two commands would die as one */
	if (c->slots[found].limited)
		cgroup_slot_limit(c, found, 0);
	c->slots[found].use = SLOT_BUSY;
	return found;
}

void
cgroup_slot_done(struct cgroup *c, int slot, bool killed)
{
	assert(slot < 0 || (size_t)slot < c->nslots);
	if (slot >= 0)
		c->slots[slot].use = killed ? SLOT_SPENT : SLOT_CHECK;
}

bool
cgroup_slot_retake(struct cgroup *c, int slot)
{
	if (slot < 0 || (size_t)slot >= c->nslots)
		return false;
	c->slots[slot].use = SLOT_BUSY;
	return true;
}

void
cgroup_slot_spawn(const struct cgroup *c, int slot, struct msg_spawn *m)
{
	m->sockets_bytes = LIM_SOCKETS_WATCHED * cgroup_socket_bytes(c->memory_mb * MIB);
	m->sockets_counted = c->sockets_counted;
	if (slot < 0)
		return;
	assert((size_t)slot < c->nslots);
	const struct cgroup_slot *s = &c->slots[slot];
	m->slot = slot;
	m->cgroup = s->dir;
	m->join_memory = s->join[CG_MEMORY];
	m->join_pids = s->join[CG_PIDS];
	m->join_freezer = s->join[CG_FREEZER];
}

int
cgroup_slot_limit(struct cgroup *c, int slot, uint64_t memory_mb)
{
	char        name[CGROUP_NAME];
	struct err  ignored;
	bool        v1 = c->v1[CG_MEMORY] >= 0;
	AUTO_FD int dir = -1;

	if (slot < 0 || c->slots[slot].oom_file == -1)
		return -1;
	slot_name((size_t)slot, name);
	dir = openat(v1 ? c->v1[CG_MEMORY] : c->unified, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1 || cgroup_limit_memory(c, dir, memory_mb * MIB, &ignored) == -1)
		return -1;
	c->slots[slot].limited = memory_mb > 0;
	return 0;
}

struct cgroup_events
cgroup_slot_events(const struct cgroup *c, int slot)
{
	const struct cgroup_slot *s = slot >= 0 ? &c->slots[slot] : NULL;
	bool                      knows_oom = s != NULL && s->oom_file >= 0;
	bool                      knows_pids = s != NULL && s->pids_file >= 0 && !c->pids_shared;
	struct cgroup_events      n = { 0 };

	if (!knows_oom || !knows_pids)
		n = cgroup_events(c);
	if (knows_oom)
		n.oom_kills = cgroup_counter(s->oom_file, "oom_kill ");
	if (knows_pids)
		n.pids_refused = cgroup_counter(s->pids_file, "max ");
	return n;
}

/* ---- finding again, removing ---- */

static bool
slot_exists(const struct cgroup *c, size_t i)
{
	char        name[CGROUP_NAME];
	struct stat st;

	slot_name(i, name);
	for (int k = 0; k < CG__COUNT; k++)
		if (slot_has(c, k) && fstatat(c->v1[k], name, &st, 0) == 0)
			return true;
	return c->unified >= 0 && fstatat(c->unified, name, &st, 0) == 0;
}

/* As cgroup_take, in each hierarchy. */
static int
slot_take(const struct cgroup *c, size_t i, const struct cgroup_slot *s, struct err *e)
{
	int r = s->dir >= 0 && (cgroup_take(c, s->dir, e) == -1 || slot_give(c, s, e) == -1) ? -1 : 0;

	for (int k = 0; k < CG__COUNT && r == 0; k++) {
		AUTO_FD int dir = slot_has(c, k) ? slot_open_file(c->v1[k], i, "", O_RDONLY | O_DIRECTORY) : -1;

		r = cgroup_take(c, dir, e);
	}
	return r;
}

int
cgroup_slots_take(const struct cgroup *c, struct err *e)
{
	for (size_t i = 0; i < c->nslots; i++)
		if (slot_take(c, i, &c->slots[i], e) == -1)
			return -1;
	return 0;
}

/* Slots of the worker before us are x0, x1, ... without a gap.  What was done to them is not known. */
int
cgroup_slots_reopen(struct cgroup *c, struct err *e)
{
	while (slot_exists(c, c->nslots)) {
		struct cgroup_slot s;

		slot_reset(&s, SLOT_SPENT);
		s.limited = true;
		slot_open(c, c->nslots, &s);
		if (slot_add(c, &s, e) == -1) {
			slot_close(&s);
			return -1;
		}
	}
	return 0;
}

static int
remove_one(int dir, const char *name)
{
	if (dir == -1 || unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY ? 1 : -1;
}

int
cgroup_slots_remove(struct cgroup *c, struct err *e)
{
	char name[CGROUP_NAME];

	while (c->nslots > 0) {
		slot_name(c->nslots - 1, name);
		int r = remove_one(c->unified, name);
		for (int k = 0; k < CG__COUNT && r == 0; k++)
			r = slot_has(c, k) ? remove_one(c->v1[k], name) : 0;
		if (r != 0)
			return r == 1 ? 1 : err_sys(e, "remove cgroup %s/%s", c->name, name);
		slot_close(&c->slots[--c->nslots]);
	}
	return 0;
}

void
cgroup_slots_clear(struct cgroup *c)
{
	while (c->nslots > 0)
		slot_close(&c->slots[--c->nslots]);
	free(c->slots);
}
