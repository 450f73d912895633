#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "bounds.h"

enum { CPU_PERIOD_US = 100000 };

static int
write_file(int dir, const char *file, const char *text)
{
	AUTO_FD int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	return write(fd, text, strlen(text)) == -1 ? -1 : 0;
}

static int
set_limit(int dir, const char *file, uint64_t value, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	if (write_file(dir, file, text) == -1)
		return err_sys(e, "set %s to %s", file, text);
	return 0;
}

/* ---- limits ------------------------------------------------------------- */

/* Init counts as a process too, and is not the client's. */
static uint64_t
pids_with_init(const struct msg_spec *s)
{
	return s->pids_limit + 1;
}

static uint64_t
cpu_quota_us(const struct msg_spec *s)
{
	uint64_t us = (uint64_t)(s->cpus * CPU_PERIOD_US);

	return us < 1000 ? 1000 : us; /* the kernel's minimum */
}

/*
 * Memory and swap together have the same limit: no swap.  The kernel wants the one
 * never above the other, so to raise both the sum goes first.  Where swap accounting
 * is off there is no sum; then no swap is asked for.
 */
static int
limit_v1_memory(int dir, const struct msg_spec *s, struct err *e)
{
	static const char sum[] = "memory.memsw.limit_in_bytes";
	uint64_t          bytes = s->memory_mb * MIB;
	bool              summed = set_limit(dir, sum, bytes, e) == 0;

	if (set_limit(dir, "memory.limit_in_bytes", bytes, e) == -1)
		return -1;
	if (!summed && set_limit(dir, sum, bytes, e) == -1)
		set_limit(dir, "memory.swappiness", 0, e);
	return 0;
}

static int
limit_v1_pids(int dir, const struct msg_spec *s, struct err *e)
{
	return set_limit(dir, "pids.max", pids_with_init(s), e);
}

static int
limit_v1_cpu(int dir, const struct msg_spec *s, struct err *e)
{
	if (set_limit(dir, "cpu.cfs_period_us", CPU_PERIOD_US, e) == -1)
		return -1;
	return set_limit(dir, "cpu.cfs_quota_us", cpu_quota_us(s), e);
}

static int (*const limit_v1[CG__COUNT])(int, const struct msg_spec *, struct err *) = {
	[CG_MEMORY] = limit_v1_memory,
	[CG_PIDS] = limit_v1_pids,
	[CG_CPU] = limit_v1_cpu,
};

/* A controller that is not there has no files; the supervisor has said so at start. */
static int
set_v2(int dir, const char *file, const char *text, struct err *e)
{
	if (write_file(dir, file, text) == -1 && errno != ENOENT)
		return err_sys(e, "set %s to '%s'", file, text);
	return 0;
}

static int
limit_v2(int dir, const struct msg_spec *s, struct err *e)
{
	char memory[32], pids[32], cpu[64];

	snprintf(memory, sizeof(memory), "%lu", s->memory_mb * MIB);
	snprintf(pids, sizeof(pids), "%lu", pids_with_init(s));
	snprintf(cpu, sizeof(cpu), "%lu %d", cpu_quota_us(s), CPU_PERIOD_US);
	if (set_v2(dir, "memory.max", memory, e) == -1 || set_v2(dir, "memory.swap.max", "0", e) == -1 ||
	    set_v2(dir, "pids.max", pids, e) == -1)
		return -1;
	return set_v2(dir, "cpu.max", cpu, e);
}

/* ---- directories ---------------------------------------------------------- */

static int
open_dir(const char *base, const char *name, bool make)
{
	char path[PATH_MAX];

	if (*base == '\0')
		return -1;
	snprintf(path, sizeof(path), "%s/%s", base, name);
	if (make && mkdir(path, 0755) == -1 && errno != EEXIST)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The message's strings end with the message. */
static void
keep_paths(struct cgroup *c, const struct msg_cgroups *from)
{
	const char *all[] = { from->unified, from->memory, from->pids, from->cpu };

	for (size_t i = 0; i < 1 + CG__COUNT; i++)
		c->paths[i] = strdup(all[i]);
	c->base = (struct msg_cgroups){
		.unified = c->paths[0],
		.v2_limits = from->v2_limits,
		.memory = c->paths[1 + CG_MEMORY],
		.pids = c->paths[1 + CG_PIDS],
		.cpu = c->paths[1 + CG_CPU],
	};
}

static int
counter_file(const struct cgroup *c, enum cg_controller k, const char *v1, const char *v2)
{
	if (c->limits[k] >= 0)
		return openat(c->limits[k], v1, O_RDONLY | O_CLOEXEC);
	return c->base.v2_limits ? openat(c->unified, v2, O_RDONLY | O_CLOEXEC) : -1;
}

static void
open_all(struct cgroup *c, const struct msg_worker_start *w, bool make)
{
	*c = (struct cgroup){ .owner = (uint32_t)w->uid_base };
	snprintf(c->name, sizeof(c->name), "s%lu", w->id);
	keep_paths(c, &w->cgroups);
	c->unified = open_dir(c->paths[0], c->name, make);
	for (int k = 0; k < CG__COUNT; k++) {
		c->limits[k] = open_dir(c->paths[1 + k], c->name, make);
		c->join[k] = -1;
	}
	c->oom_file = counter_file(c, CG_MEMORY, "memory.oom_control", "memory.events");
	c->pids_file = counter_file(c, CG_PIDS, "pids.events", "pids.events");
}

/* Init moves its commands: it must be allowed to, on both ends of the move. */
static int
give_to_init(const struct cgroup *c, int dir, struct err *e)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.kill" };

	if (c->owner == geteuid())
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (fchownat(dir, files[i], c->owner, (gid_t)-1, 0) == -1 && errno != ENOENT)
			return err_sys(e, "chown %s", files[i]);
	return 0;
}

int
cgroup_limit(struct cgroup *c, const struct msg_spec *s, struct err *e)
{
	if (c->base.v2_limits && limit_v2(c->unified, s, e) == -1)
		return err_prefix(e, "%s/%s", c->paths[0], c->name);
	for (int k = 0; k < CG__COUNT; k++)
		if (c->limits[k] >= 0 && limit_v1[k](c->limits[k], s, e) == -1)
			return err_prefix(e, "%s/%s", c->paths[1 + k], c->name);
	return 0;
}

int
cgroup_make(struct cgroup *c, const struct msg_worker_start *w, struct err *e)
{
	open_all(c, w, true);
	if (*c->paths[0] != '\0' && c->unified == -1)
		return err_sys(e, "make cgroup %s/%s", c->paths[0], c->name);
	if (c->unified >= 0 && give_to_init(c, c->unified, e) == -1)
		return -1;
	for (int k = 0; k < CG__COUNT; k++) {
		const char *base = c->paths[1 + k];

		if (*base == '\0')
			continue;
		if (c->limits[k] == -1)
			return err_sys(e, "make cgroup %s/%s", base, c->name);
		if ((c->join[k] = openat(c->limits[k], "tasks", O_WRONLY | O_CLOEXEC)) == -1)
			return err_sys(e, "open %s/%s/tasks", base, c->name);
	}
	return cgroup_limit(c, &w->spec, e);
}

/*
 * Writing 0 to an inherited tasks descriptor is the one way into a v1 cgroup that
 * does not wait 11 ms for a kernel grace period.
 */
int
cgroup_join(struct cgroup *c, struct err *e)
{
	for (int k = 0; k < CG__COUNT; k++)
		if (c->join[k] >= 0 && write(c->join[k], "0", 1) == -1)
			return err_sys(e, "join the %s cgroup", cg_name(k));
	return 0;
}

/* ---- a cgroup per command ------------------------------------------------- */

static bool
is_populated(int dir)
{
	char        text[128] = "";
	AUTO_FD int fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);

	if (fd == -1 || read(fd, text, sizeof(text) - 1) <= 0)
		return true; /* cannot tell: leave it alone */
	return strstr(text, "populated 0") == NULL;
}

static int
slot_add(struct cgroup *c, int dir, enum slot_use use)
{
	struct cgroup_slot *all = realloc(c->slots, (c->nslots + 1) * sizeof(*all));

	if (all == NULL) {
		close(dir);
		return -1;
	}
	c->slots = all;
	c->slots[c->nslots] = (struct cgroup_slot){ .dir = dir, .use = use };
	return (int)c->nslots++;
}

static void
slot_name(size_t i, char name[32])
{
	snprintf(name, 32, "x%zu", i);
}

/* The directory of slot i, ready for init; -1 and the reason. */
static int
slot_dir(struct cgroup *c, size_t i, struct err *e)
{
	char name[32];

	slot_name(i, name);
	if (mkdirat(c->unified, name, 0755) == -1 && errno != EEXIST)
		return err_sys(e, "make a cgroup for the command");
	AUTO_FD int dir = openat(c->unified, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return err_sys(e, "open the command's cgroup");
	if (give_to_init(c, dir, e) == -1)
		return -1;
	return fd_take(&dir);
}

static int
slot_make(struct cgroup *c, struct err *e)
{
	int dir = slot_dir(c, c->nslots, e);

	if (dir == -1)
		return -1;
	int slot = slot_add(c, dir, SLOT_FREE);
	return slot == -1 ? err_set(e, E_SYS, "no memory for a command's cgroup") : slot;
}

/* A spent directory cannot be mended, only replaced.  False while it cannot go. */
static bool
slot_replace(struct cgroup *c, size_t i)
{
	char       name[32];
	struct err ignored;

	slot_name(i, name);
	if (unlinkat(c->unified, name, AT_REMOVEDIR) == -1)
		return false;
	fd_close(&c->slots[i].dir);
	c->slots[i].dir = slot_dir(c, i, &ignored);
	return c->slots[i].dir >= 0;
}

static bool
slot_usable(struct cgroup *c, size_t i)
{
	switch (c->slots[i].use) {
	case SLOT_FREE:
		return true;
	case SLOT_CHECK:
		return !is_populated(c->slots[i].dir);
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
	struct err ignored; /* the next command tells */

	if (c->unified >= 0 && c->nslots == 0)
		slot_make(c, &ignored);
}

int
cgroup_slot_take(struct cgroup *c, struct err *e)
{
	int found = -1;

	for (size_t i = 0; i < c->nslots && found == -1; i++)
		if (slot_usable(c, i))
			found = (int)i;
	if (found == -1)
		found = slot_make(c, e);
	if (found >= 0)
		c->slots[found].use = SLOT_BUSY;
	return found;
}

void
cgroup_slot_done(struct cgroup *c, int slot, bool killed)
{
	if (slot >= 0)
		c->slots[slot].use = killed ? SLOT_SPENT : SLOT_CHECK;
}

/* Slots of the worker before us are x0, x1, ... without a gap. */
int
cgroup_reopen(struct cgroup *c, const struct msg_worker_start *w, struct err *e)
{
	char name[32];

	open_all(c, w, false);
	if (c->unified == -1)
		return 0;
	for (;;) {
		slot_name(c->nslots, name);
		int dir = openat(c->unified, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir == -1)
			return errno == ENOENT ? 0 : err_sys(e, "open cgroup %s/%s", c->name, name);
		if (slot_add(c, dir, SLOT_SPENT) == -1) /* who knows */
			return err_set(e, E_SYS, "no memory for cgroups");
	}
}

/* ---- counting, killing, removing ------------------------------------------ */

/* "key N" in a file of such lines. */
static uint64_t
counter(int fd, const char *key)
{
	char text[512];

	if (fd == -1)
		return 0;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	for (char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) == 0)
			return strtoull(line + strlen(key), NULL, 10);
	}
	return 0;
}

struct cgroup_events
cgroup_events(const struct cgroup *c)
{
	return (struct cgroup_events){
		.oom_kills = counter(c->oom_file, "oom_kill "),
		.pids_refused = counter(c->pids_file, "max "),
	};
}

static uint64_t
count_lines(int dir)
{
	char        text[4096];
	ssize_t     n;
	uint64_t    lines = 0;
	AUTO_FD int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	return lines;
}

uint64_t
cgroup_population(const struct cgroup *c)
{
	uint64_t n = 0;

	if (c->unified == -1) {
		int any = c->limits[CG_PIDS];
		n = any >= 0 ? count_lines(any) : 0;
		return n > 0 ? n - 1 : 0; /* init */
	}
	for (size_t i = 0; i < c->nslots; i++)
		n += count_lines(c->slots[i].dir);
	return n;
}

void
cgroup_kill(struct cgroup *c)
{
	if (c->unified >= 0)
		write_file(c->unified, "cgroup.kill", "1");
}

/* 0 gone, 1 busy, -1 failed. */
static int
remove_dir(const char *base, const char *name, struct err *e)
{
	char path[PATH_MAX];

	if (*base == '\0')
		return 0;
	snprintf(path, sizeof(path), "%s/%s", base, name);
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY ? 1 : err_sys(e, "remove cgroup %s", path);
}

static int
remove_slots(struct cgroup *c, struct err *e)
{
	char name[32];

	while (c->nslots > 0) {
		slot_name(c->nslots - 1, name);
		if (unlinkat(c->unified, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
			return errno == EBUSY ? 1 : err_sys(e, "remove cgroup %s/%s", c->name, name);
		fd_close(&c->slots[--c->nslots].dir);
	}
	return 0;
}

int
cgroup_remove(struct cgroup *c, struct err *e)
{
	int r = remove_slots(c, e);

	for (int k = -1; k < CG__COUNT && r == 0; k++)
		r = remove_dir(c->paths[1 + k], c->name, e);
	return r;
}

void
cgroup_clear(struct cgroup *c)
{
	for (int k = 0; k < CG__COUNT; k++) {
		fd_close(&c->limits[k]);
		fd_close(&c->join[k]);
	}
	for (size_t i = 0; i < 1 + CG__COUNT; i++)
		free(c->paths[i]);
	while (c->nslots > 0)
		fd_close(&c->slots[--c->nslots].dir);
	free(c->slots);
	fd_close(&c->unified);
	fd_close(&c->oom_file);
	fd_close(&c->pids_file);
}
