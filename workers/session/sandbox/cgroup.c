#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/sys.h"

#define LEAF "init"         /* where init is when the session's cgroup hands controllers on */
#define COMMANDS "commands" /* where all else is, when memory is limited */

enum { CPU_PERIOD_US = 100000 };

int
cgroup_write(int dir, const char *file, const char *text)
{
	AUTO_FD int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	return write(fd, text, strlen(text)) == -1 ? -1 : 0;
}

bool
cgroup_read(int dir, const char *file, char *text, size_t size)
{
	AUTO_FD int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	ssize_t     n = fd == -1 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int
set_limit(int dir, const char *file, uint64_t value, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	if (cgroup_write(dir, file, text) == -1)
		return err_sys(e, "set %s to %s", file, text);
	return 0;
}

/* ---- limits ------------------------------------------------------------- */

/* Init and helpers count as processes too, and are not the client's. */
static uint64_t
pids_with_ours(const struct cgroup *c, const struct msg_spec *s)
{
	return s->pids_limit + 1 + c->helpers;
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
limit_v1_memory(int dir, const char *bytes, struct err *e)
{
	static const char sum[] = "memory.memsw.limit_in_bytes";
	bool              summed = cgroup_write(dir, sum, bytes) == 0;

	if (cgroup_write(dir, "memory.limit_in_bytes", bytes) == -1)
		return err_sys(e, "set memory.limit_in_bytes to %s", bytes);
	if (!summed && cgroup_write(dir, sum, bytes) == -1)
		cgroup_write(dir, "memory.swappiness", "0");
	return 0;
}

/*
 * v1 does not count buffers of sockets as memory, but by themselves, and only in a cgroup
 * where a limit was once written.  v2 counts them as memory.  A kernel without the file
 * was found out at start: the wall cgroup.sockets.
 */
#define SOCKETS_LIMIT "memory.kmem.tcp.limit_in_bytes"

static int
limit_v1_sockets(int dir, uint64_t memory_bytes, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", cgroup_socket_bytes(memory_bytes));
	if (cgroup_write(dir, SOCKETS_LIMIT, text) == -1 && errno != ENOENT)
		return err_sys(e, "set " SOCKETS_LIMIT " to %s", text);
	return 0;
}

uint64_t
cgroup_socket_bytes(uint64_t memory_bytes)
{
	uint64_t share = memory_bytes / LIM_SOCKETS_SHARE;

	return share < LIM_SOCKETS_MIN ? LIM_SOCKETS_MIN : share;
}

/* The session's limit holds for it; without one of its own its sockets would not be counted. */
void
cgroup_count_sockets(int memory, const char *slot)
{
	char path[CGROUP_NAME + 64];

	snprintf(path, sizeof(path), "%s/" SOCKETS_LIMIT, slot);
	cgroup_write(memory, path, "-1");
}

/* A controller that is not there has no files; the supervisor has said so at start. */
static int
set_v2(int dir, const char *file, const char *text, struct err *e)
{
	if (cgroup_write(dir, file, text) == -1 && errno != ENOENT)
		return err_sys(e, "set %s to '%s'", file, text);
	return 0;
}

/* 0: no limit. */
int
cgroup_limit_memory(const struct cgroup *c, int dir, uint64_t bytes, struct err *e)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", bytes);
	if (c->v1[CG_MEMORY] >= 0)
		return limit_v1_memory(dir, bytes == 0 ? "-1" : text, e);
	return set_v2(dir, "memory.max", bytes == 0 ? "max" : text, e);
}

static int
limit_v1_cpu(int dir, const struct msg_spec *s, struct err *e)
{
	if (set_limit(dir, "cpu.cfs_period_us", CPU_PERIOD_US, e) == -1)
		return -1;
	return set_limit(dir, "cpu.cfs_quota_us", cpu_quota_us(s), e);
}

static int
limit_v2(const struct cgroup *c, int dir, const struct msg_spec *s, struct err *e)
{
	char pids[32], cpu[64];

	snprintf(pids, sizeof(pids), "%lu", pids_with_ours(c, s));
	snprintf(cpu, sizeof(cpu), "%lu %d", cpu_quota_us(s), CPU_PERIOD_US);
	if (set_v2(dir, "memory.swap.max", "0", e) == -1 || set_v2(dir, "pids.max", pids, e) == -1)
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
	const char *all[] = { from->unified, from->memory, from->pids, from->cpu, from->freezer };

	for (size_t i = 0; i < 1 + CG__COUNT; i++)
		c->paths[i] = strdup(all[i]);
	c->base = (struct msg_cgroups){
		.unified = c->paths[0],
		.v2_limits = from->v2_limits,
		.memory = c->paths[1 + CG_MEMORY],
		.pids = c->paths[1 + CG_PIDS],
		.cpu = c->paths[1 + CG_CPU],
		.freezer = c->paths[1 + CG_FREEZER],
	};
}

/* In one place or the other; -1 when nobody counts. */
static int
counter_file(const struct cgroup *c, enum cg_controller k, const char *v1, const char *v2)
{
	if (c->v1[k] >= 0)
		return openat(c->v1[k], v1, O_RDONLY | O_CLOEXEC);
	return c->base.v2_limits ? openat(c->whole, v2, O_RDONLY | O_CLOEXEC) : -1;
}

/* Where the session's file has its own count, the kernel counts refused forks there and not where they were tried. */
static void
open_counters(struct cgroup *c)
{
	c->oom_file = counter_file(c, CG_MEMORY, "memory.oom_control", "memory.events");
	c->pids_file = counter_file(c, CG_PIDS, "pids.events", "pids.events.local");
	c->pids_shared = c->v1[CG_PIDS] == -1 && c->pids_file >= 0;
	if (c->pids_file == -1)
		c->pids_file = counter_file(c, CG_PIDS, "pids.events", "pids.events");
}

static int
open_below(int dir, const char *name, bool make)
{
	if (dir == -1 || (make && mkdirat(dir, name, 0755) == -1 && errno != EEXIST))
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
open_all(struct cgroup *c, const struct msg_worker_start *w, bool make)
{
	*c = (struct cgroup){ .ids = ids_of(w->uid_base, w->uid_count) };
	snprintf(c->name, sizeof(c->name), "s%lu", w->id);
	c->memory_mb = w->spec.memory_mb;
	c->sockets_counted = w->sockets_counted;
	keep_paths(c, &w->cgroups);
	c->whole = open_dir(c->paths[0], c->name, make);
	c->unified = c->base.v2_limits ? open_below(c->whole, COMMANDS, make) : open_below(c->whole, ".", false);
	c->leaf = c->base.v2_limits ? open_below(c->whole, LEAF, make) : -1;
	for (int k = 0; k < CG__COUNT; k++) {
		c->v1[k] = open_dir(c->paths[1 + k], c->name, make);
		c->join[k] = -1;
	}
	c->memory = c->v1[CG_MEMORY];
	c->v1[CG_MEMORY] = open_below(c->memory, COMMANDS, make);
	open_counters(c);
}

/* Init moves its commands: it must be allowed to, on both ends of the move. */
int
cgroup_give_to_init(const struct cgroup *c, int dir, const char *file, struct err *e)
{
	if (!ids_differ(&c->ids) ||
	    (fchownat(dir, file, (uid_t)-1, c->ids.sandbox, 0) == 0 && fchmodat(dir, file, 0664, 0) == 0))
		return 0;
	return errno == ENOENT ? 0 : err_sys(e, "give %s to init", file);
}

/* A boxd before this one left them to root; those that the worker made are its own. */
int
cgroup_take(const struct cgroup *c, int dir, struct err *e)
{
	uid_t       own = c->ids.worker;
	struct stat st;

	if (dir == -1 || !ids_differ(&c->ids) || (fstat(dir, &st) == 0 && st.st_uid == own))
		return 0;
	int  fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	int  r = d == NULL ? -1 : 0;
	for (struct dirent *en = d == NULL ? NULL : readdir(d); en != NULL && r == 0; en = readdir(d))
		if (en->d_type == DT_REG)
			r = fchownat(dir, en->d_name, own, own, AT_SYMLINK_NOFOLLOW);
	if (r == 0)
		r = fchown(dir, own, own); /* last: who is interrupted does it again */
	if (r == -1)
		err_sys(e, "take over cgroup %s", c->name);
	if (d != NULL)
		closedir(d);
	return r;
}

static int
limit_v1(const struct cgroup *c, const struct msg_spec *s, struct err *e)
{
	if (c->v1[CG_PIDS] >= 0 && set_limit(c->v1[CG_PIDS], "pids.max", pids_with_ours(c, s), e) == -1)
		return err_prefix(e, "%s/%s", c->paths[1 + CG_PIDS], c->name);
	if (c->v1[CG_CPU] >= 0 && limit_v1_cpu(c->v1[CG_CPU], s, e) == -1)
		return err_prefix(e, "%s/%s", c->paths[1 + CG_CPU], c->name);
	return 0;
}

/* Inside first when both shrink, outside first when both grow: v1 does not mind, v2 neither. */
static int
limit_memory(const struct cgroup *c, struct err *e)
{
	int whole = c->memory >= 0 ? c->memory : c->base.v2_limits ? c->whole : -1;
	int commands = c->memory >= 0 ? c->v1[CG_MEMORY] : c->unified;

	if (whole == -1)
		return 0;
	if (cgroup_limit_memory(c, whole, (c->memory_mb + LIM_INIT_MB + c->helpers_mb) * MIB, e) == -1)
		return -1;
	if (c->memory >= 0 && (limit_v1_sockets(whole, c->memory_mb * MIB, e) == -1 ||
				  limit_v1_sockets(commands, c->memory_mb * MIB, e) == -1))
		return -1;
	return cgroup_limit_memory(c, commands, c->memory_mb * MIB, e);
}

int
cgroup_limit(struct cgroup *c, const struct msg_spec *s, struct err *e)
{
	c->memory_mb = s->memory_mb;
	if (limit_memory(c, e) == -1)
		return err_prefix(e, "%s/%s", c->paths[c->memory >= 0 ? 1 + CG_MEMORY : 0], c->name);
	if (c->base.v2_limits && limit_v2(c, c->whole, s, e) == -1)
		return err_prefix(e, "%s/%s", c->paths[0], c->name);
	return limit_v1(c, s, e);
}

static int
give_v2(const struct cgroup *c, struct err *e)
{
	if (c->leaf >= 0 && cgroup_give_to_init(c, c->leaf, "cgroup.procs", e) == -1)
		return -1;
	return c->whole >= 0 ? cgroup_give_to_init(c, c->whole, "cgroup.procs", e) : 0;
}

static int
make_v2(struct cgroup *c, struct err *e)
{
	if (*c->paths[0] == '\0')
		return 0;
	if (c->unified == -1 || (c->base.v2_limits && c->leaf == -1))
		return err_sys(e, "make cgroup %s/%s", c->paths[0], c->name);
	return give_v2(c, e);
}

static void
count_helpers(struct cgroup *c, const struct msg_worker_start *w)
{
	c->helpers = w->net_mode == NET_MODE_SLIRP;
	c->helpers_mb = c->helpers * LIM_SLIRP_MB;
}

int
cgroup_make(struct cgroup *c, const struct msg_worker_start *w, struct err *e)
{
	const struct ids ids = ids_of(w->uid_base, w->uid_count);

	if (ids_make_as_worker(&ids, e) == -1)
		return -1;
	open_all(c, w, true);
	ids_make_as_root(&ids);
	count_helpers(c, w);
	if (make_v2(c, e) == -1)
		return -1;
	for (int k = 0; k < CG__COUNT; k++) {
		const char *base = c->paths[1 + k];

		if (*base == '\0')
			continue;
		if (c->v1[k] == -1)
			return err_sys(e, "make cgroup %s/%s", base, c->name);
		if (k == CG_FREEZER)
			continue; /* for commands alone: a frozen init would answer nobody */
		if ((c->join[k] = openat(k == CG_MEMORY ? c->memory : c->v1[k], "tasks", O_WRONLY | O_CLOEXEC)) == -1)
			return err_sys(e, "open %s/%s/tasks", base, c->name);
	}
	return cgroup_limit(c, &w->spec, e);
}

int
cgroup_take_all(const struct cgroup *c, struct err *e)
{
	const int dirs[] = { c->whole, c->unified, c->leaf, c->memory, c->v1[CG_MEMORY], c->v1[CG_PIDS], c->v1[CG_CPU],
		c->v1[CG_FREEZER] };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (cgroup_take(c, dirs[i], e) == -1)
			return -1;
	return give_v2(c, e) == -1 ? -1 : cgroup_slots_take(c, e);
}

int
cgroup_reopen(struct cgroup *c, const struct msg_worker_start *w, struct err *e)
{
	open_all(c, w, false);
	count_helpers(c, w);
	return cgroup_slots_reopen(c, e);
}

/* Not the freezer's: who is frozen with the commands can tell nothing about them. */
void
cgroup_open_tasks(const struct cgroup *c, int tasks[CG__COUNT])
{
	for (int k = 0; k < CG__COUNT; k++) {
		int dir = k == CG_MEMORY ? c->memory : k == CG_FREEZER ? -1 : c->v1[k];

		tasks[k] = dir == -1 ? -1 : openat(dir, "tasks", O_WRONLY | O_CLOEXEC);
	}
}

int
cgroup_join_tasks(const int tasks[CG__COUNT], struct err *e)
{
	for (int k = 0; k < CG__COUNT; k++)
		if (tasks[k] >= 0 && write(tasks[k], "0", 1) == -1)
			return err_sys(e, "join the session's %s cgroup", cg_name(k));
	return 0;
}

pid_t
cgroup_fork(const struct cgroup *c, int *pidfd)
{
	struct clone_args args = {
		.flags = (pidfd != NULL ? CLONE_PIDFD : 0) | (c->leaf >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = c->leaf >= 0 ? (uint64_t)c->leaf : 0,
	};

	return sys_clone3(&args);
}

int
cgroup_allow(const struct cgroup *c, const struct landlock_rules *s, struct err *e)
{
	const int      dirs[] = { c->whole, c->memory, c->v1[CG_PIDS], c->v1[CG_CPU], c->v1[CG_FREEZER] };
	const uint64_t what = LL_READ_FILE | LL_WRITE_FILE | LL_READ_DIR | LL_MAKE_DIR | LL_REMOVE_DIR;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (dirs[i] >= 0 && landlock_rules_allow(s, dirs[i], what, "the session's cgroups", e) == -1)
			return -1;
	return 0;
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

void
cgroup_joined(struct cgroup *c)
{
	for (int k = 0; k < CG__COUNT; k++)
		fd_close(&c->join[k]);
}

/*
 * Waits for a grace period, because init moves with it; so it is done when the
 * sandbox has been reported and nobody waits.  A slot that gets no controller has no
 * counters, and the session's are looked at instead.
 */
void
cgroup_hand_on(struct cgroup *c)
{
	static const char *const what[] = { "+memory", "+pids" };
	struct err               ignored;

	if (c->leaf == -1)
		return;
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++)
		if (cgroup_write(c->whole, "cgroup.subtree_control", what[i]) == 0)
			cgroup_write(c->unified, "cgroup.subtree_control", what[i]);
	limit_memory(c, &ignored); /* the commands' own can be set from here on */
}

/* ---- counting, killing, removing ------------------------------------------ */

/* "key N" in a file of such lines. */
uint64_t
cgroup_counter(int fd, const char *key)
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

/* v1 counts in each cgroup for itself, so those of the slots are added. */
struct cgroup_events
cgroup_events(const struct cgroup *c)
{
	struct cgroup_events all = {
		.oom_kills = cgroup_counter(c->oom_file, "oom_kill "),
		.pids_refused = cgroup_counter(c->pids_file, "max "),
	};

	for (size_t i = 0; i < c->nslots; i++) {
		all.oom_kills += cgroup_counter(c->slots[i].oom_file, "oom_kill ");
		all.pids_refused += cgroup_counter(c->slots[i].pids_file, "max ");
	}
	return all;
}

uint64_t
cgroup_count_lines(int dir, const char *file)
{
	char        text[4096];
	ssize_t     n;
	uint64_t    lines = 0;
	AUTO_FD int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	return lines;
}

uint64_t
cgroup_population(const struct cgroup *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->nslots; i++)
		n += cgroup_slot_population(c, i);
	if (!cgroup_has_slots(c) && c->v1[CG_CPU] >= 0)
		n = cgroup_count_lines(c->v1[CG_CPU], "cgroup.procs");
	uint64_t ours = cgroup_has_slots(c) ? 0 : 1 + c->helpers;
	return n > ours ? n - ours : 0;
}

void
cgroup_kill(struct cgroup *c)
{
	for (size_t i = 0; i < c->nslots; i++)
		cgroup_slot_let_die(c, (int)i);
	if (c->whole >= 0)
		cgroup_write(c->whole, "cgroup.kill", "1");
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
remove_below(const struct cgroup *c, int dir, const char *name, struct err *e)
{
	if (dir == -1 || unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY ? 1 : err_sys(e, "remove cgroup %s/%s", c->name, name);
}

/* As far as we can tell; who removes it tries again. */
static int
is_busy(const struct cgroup *c)
{
	const int dirs[] = { c->memory, c->v1[CG_PIDS], c->v1[CG_CPU], c->v1[CG_FREEZER] };
	char      text[128];

	if (c->whole >= 0 && cgroup_read(c->whole, "cgroup.events", text, sizeof(text)) &&
	    strstr(text, "populated 1") != NULL)
		return 1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (dirs[i] >= 0 && cgroup_count_lines(dirs[i], "cgroup.procs") > 0)
			return 1;
	return 0;
}

int
cgroup_remove(struct cgroup *c, bool whole, struct err *e)
{
	int r = cgroup_slots_remove(c, e);

	if (r == 0)
		r = remove_below(c, c->memory, COMMANDS, e);
	if (r == 0 && c->base.v2_limits)
		r = remove_below(c, c->whole, COMMANDS, e);
	if (r == 0 && c->base.v2_limits)
		r = remove_below(c, c->whole, LEAF, e);
	if (r == 0 && !whole)
		return is_busy(c);
	for (int k = -1; k < CG__COUNT && r == 0; k++)
		r = remove_dir(c->paths[1 + k], c->name, e);
	return r;
}

void
cgroup_clear(struct cgroup *c)
{
	for (int k = 0; k < CG__COUNT; k++) {
		fd_close(&c->v1[k]);
		fd_close(&c->join[k]);
	}
	for (size_t i = 0; i < 1 + CG__COUNT; i++)
		free(c->paths[i]);
	cgroup_slots_clear(c);
	fd_close(&c->leaf);
	fd_close(&c->unified);
	fd_close(&c->whole);
	fd_close(&c->memory);
	fd_close(&c->oom_file);
	fd_close(&c->pids_file);
}
