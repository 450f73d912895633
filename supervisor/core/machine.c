#include "core/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memfd.h"
#include "config/filter.h"
#include "core/workercalls.h"

static int
write_text(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd == -1 || write(fd, text, strlen(text)) == -1 ? -1 : 0;
}

static int
make_instance_dir(char *out, const char *place, const char *instance, struct err *e)
{
	if (snprintf(out, PATH_MAX, "%s/boxd-%s", place, instance) >= PATH_MAX)
		return err_set(e, E_SYS, "cgroup path %s is too long", place);
	if (mkdir(out, 0755) == -1 && errno != EEXIST)
		return err_sys(e, "make cgroup %s", out);
	return 0;
}

/* A cgroup that delegates controllers may have no process of its own: boxd moves into a leaf. */
static int
move_aside(const char *dir, struct err *e)
{
	char leaf[PATH_MAX];

	if (snprintf(leaf, sizeof(leaf), "%s/" CG_LEAF, dir) >= PATH_MAX)
		return err_set(e, E_SYS, "cgroup path %s is too long", dir);
	if ((mkdir(leaf, 0755) == -1 && errno != EEXIST) || write_text(leaf, "cgroup.procs", "0") == -1)
		return err_sys(e, "move into %s", leaf);
	return 0;
}

/* Enable the controllers of the v2 tree down to our sessions; one that cannot be enabled counts as missing. */
static bool
enable_controllers(struct cg_found *f, const char *ours)
{
	bool any = false;

	for (int k = 0; k < CG__COUNT; k++) {
		char text[32];

		if (!f->v2[k])
			continue;
		snprintf(text, sizeof(text), "+%s", cg_name(k));
		f->v2[k] = write_text(f->unified.dir, "cgroup.subtree_control", text) == 0 &&
			   write_text(ours, "cgroup.subtree_control", text) == 0;
		if (!f->v2[k])
			log_warn("cgroup controller=%s on %s cannot be enabled: %s", cg_name(k), ours, strerror(errno));
		any |= f->v2[k];
	}
	return any;
}

/* The v2 tree freezes, and better: what it froze can be killed. */
static bool
is_used(const struct machine *m, enum cg_controller k)
{
	return k != CG_FREEZER || *m->unified == '\0';
}

static int
place_cgroups(struct machine *m, struct cg_found *f, const char *instance, struct err *e)
{
	if (*f->unified.dir != '\0') {
		if (f->own_leaf && move_aside(f->unified.dir, e) == -1)
			return -1;
		snprintf(m->leaf_of, sizeof(m->leaf_of), "%s", f->own_leaf ? f->unified.dir : "");
		if (make_instance_dir(m->unified, f->unified.dir, instance, e) == -1)
			return -1;
		m->cgroups.v2_limits = enable_controllers(f, m->unified);
	}
	for (int k = 0; k < CG__COUNT; k++)
		if (*f->v1[k].dir != '\0' && is_used(m, k) &&
		    make_instance_dir(m->v1[k], f->v1[k].dir, instance, e) == -1)
			return -1;
	m->cgroups.unified = m->unified;
	m->cgroups.memory = m->v1[CG_MEMORY];
	m->cgroups.pids = m->v1[CG_PIDS];
	m->cgroups.cpu = m->v1[CG_CPU];
	m->cgroups.freezer = m->v1[CG_FREEZER];
	return 0;
}

/* Log every missing wall; refuse to start where the operator requires them. */
static int
judge_isolation(const struct machine *m, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < m->isolation.missing.n; i++)
		log_warn("isolation missing: %s", m->isolation.missing.v[i]);
	log_info("isolation tier=%s uids=\"%s\" limits=\"%s\" kill=\"%s\"",
	    msg_enum_name(MSG_ISOLATION, "tier", (int)m->walls.tier), m->walls.uids, m->walls.limits, m->walls.kill);
	if (c->require.tier == TIER_FULL && m->walls.tier != TIER_FULL)
		return err_set(e, E_BACKEND, "boxd.conf says require = full, and this machine lacks: %.700s",
		    m->barrier.code != E_NONE ? m->barrier.text : m->isolation.missing.v[0]);
	for (int i = 0; i < WALL__COUNT; i++)
		if (c->require.walls[i] && walls_require(&m->walls, i, e) == -1)
			return err_prefix(e, "boxd.conf: require");
	/* where no sandbox can be made boxd still starts, and every client gets the reason */
	if (m->barrier.code != E_NONE)
		log_error("no sandbox can be made here: %s", m->barrier.text);
	return 0;
}

/* Does this map of our user namespace contain all these ids?  Outside a container it contains every id. */
static bool
map_covers(const char *path, uint64_t first, uint64_t count)
{
	unsigned long inside, outside, n;
	bool          covered = false;
	FILE         *f = fopen(path, "re");

	while (f != NULL && !covered && fscanf(f, "%lu %lu %lu", &inside, &outside, &n) == 3)
		covered = inside <= first && first + count <= inside + n;
	if (f != NULL)
		fclose(f);
	return covered;
}

/* Root of a user namespace with few uids counts as an ordinary user. */
static bool
is_root(const struct config *c)
{
	uint64_t ids = 65536 * c->max_sessions * 2;

	return geteuid() == 0 && map_covers("/proc/self/uid_map", c->uid_base, ids) &&
	       map_covers("/proc/self/gid_map", c->uid_base, ids) &&
	       map_covers("/proc/self/uid_map", c->gateway_uid, 1) &&
	       map_covers("/proc/self/gid_map", c->gateway_uid, 1);
}

/* The kernel does not let a process be traced or dumped that executes a file it may not read. */
static int
program_open(const struct dirs *d, const char *name, struct err *e)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", d->libexec, name);
	return memfd_copy_program(path, e);
}

int
machine_open(struct machine *m, struct dirs *d, const struct config *c, struct err *e)
{
	struct cg_found found;

	*m = (struct machine){
		.init = -1, .files = -1, .filter = -1, .worker_calls = -1, .skeleton = { -1, -1 }, .root = is_root(c)
	};
	cgfind(&found, c->cgroup_dir);
	if (*c->cgroup_dir != '\0' && *found.unified.dir == '\0')
		return err_set(e, E_INVALID, "cgroup_dir: %s", found.unified.why);
	if (place_cgroups(m, &found, d->instance, e) == -1)
		return -1;
	probe_walls(&m->walls, &found);
	m->isolation = walls_isolation(&m->walls, &m->lists);
	m->pids_by_rlimit = *m->v1[CG_PIDS] == '\0' && !found.v2[CG_PIDS];
	if (probe_userns(&m->barrier) == 0)
		m->barrier.code = E_NONE;
	if (judge_isolation(m, c, e) == -1)
		return -1;
	if ((m->init = program_open(d, "box-init", e)) == -1 || (m->files = program_open(d, "box-files", e)) == -1 ||
	    (m->filter = filter_compile(c->seccomp_policy, e)) == -1 ||
	    (m->worker_calls = workercalls_compile(m->root, e)) == -1)
		return -1;
	return skeleton_build(&m->skeleton, d->state, m->root, e);
}

int
machine_require(const struct machine *m, const struct strs *names, struct err *e)
{
	enum wall w = 0;

	for (size_t i = 0; i < names->n; i++)
		if (wall_find(names->v[i], &w, e) == -1 || walls_require(&m->walls, w, e) == -1)
			return err_prefix(e, "spec.require");
	return 0;
}

/* Back into our own cgroup, which must not delegate controllers while it has processes. */
static void
leave_leaf(const char *own)
{
	char leaf[PATH_MAX + 16], text[32];

	for (int k = 0; k < CG__COUNT; k++) {
		snprintf(text, sizeof(text), "-%s", cg_name(k));
		write_text(own, "cgroup.subtree_control", text);
	}
	snprintf(leaf, sizeof(leaf), "%s/" CG_LEAF, own);
	if (write_text(own, "cgroup.procs", "0") == 0)
		rmdir(leaf);
}

void
machine_tidy(const struct machine *m)
{
	if (*m->unified != '\0')
		rmdir(m->unified);
	for (int k = 0; k < CG__COUNT; k++)
		if (*m->v1[k] != '\0')
			rmdir(m->v1[k]);
	if (*m->leaf_of != '\0')
		leave_leaf(m->leaf_of);
}

void
machine_close(struct machine *m)
{
	fd_close(&m->init);
	fd_close(&m->files);
	fd_close(&m->filter);
	fd_close(&m->worker_calls);
	skeleton_close(&m->skeleton);
}
