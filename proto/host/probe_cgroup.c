/* Probes: cgroups of both versions, and the limits they give. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/probe_parts.h"

/* Found by the parent, lent for one run: to a child its own parent would be a stranger in its cgroup. */
static const struct cg_found *found;

void
probe_cgroups_lend(const struct cg_found *places)
{
	found = places;
}

const char *
probe_cgroup_remedy(void)
{
	if (geteuid() == 0)
		return "mount -t cgroup2 none /sys/fs/cgroup (or /sys/fs/cgroup/unified) writable";
	return "systemd-run --user -p Delegate=yes boxd; or run boxd as root";
}

static void
probe_dir(char *out, size_t size, const char *parent, pid_t pid)
{
	snprintf(out, size, "%s/boxd-probe-%d", parent, pid);
}

static int
make_cgroup(struct probe *p, const struct cg_place *place, char *dir, size_t size)
{
	if (place->dir[0] == '\0') {
		probe_misses(p, probe_cgroup_remedy(), "%s", place->why);
		return -1;
	}
	probe_dir(dir, size, place->dir, getpid());
	if (mkdir(dir, 0700) == -1) {
		probe_misses(p, probe_cgroup_remedy(), "mkdir %.150s: %s", dir, strerror(errno));
		return -1;
	}
	return 0;
}

/* The last process of a cgroup may still be on its way out. */
static void
remove_cgroup(const char *dir)
{
	for (int i = 0; i < 50 && rmdir(dir) == -1 && errno == EBUSY; i++)
		usleep(2000);
}

void
probe_cgroups_sweep(pid_t pid)
{
	char dir[PATH_MAX + 64];

	for (int c = -1; c < CG__COUNT; c++) {
		const struct cg_place *place = c == -1 ? &found->unified : &found->v1[c];

		probe_dir(dir, sizeof(dir), place->dir, pid);
		if (place->dir[0] != '\0')
			remove_cgroup(dir);
	}
}

/* CLONE_INTO_CGROUP, the child's end: do nothing until killed. */
static pid_t
clone_into(int cgroup, bool linger)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		uint64_t set_tid, set_tid_size, cgroup;
	} args = {
		.flags = 0x200000000ULL /* CLONE_INTO_CGROUP */, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup
	};

	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(PROBE_SEC); /* timers are not inherited */
		while (linger)
			pause();
		_exit(0);
	}
	return pid;
}

void
try_v2_tree(struct probe *p, NO_ARG)
{
	char dir[PATH_MAX + 64];

	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == 0)
		probe_works(p, "at %.200s", found->unified.dir);
}

void
try_clone_into(struct probe *p, int kill_it)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == -1)
		return;
	AUTO_FD int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t       pid = clone_into(fd, kill_it);
	if (pid == -1) {
		probe_refused(p, "clone3 with CLONE_INTO_CGROUP", "Linux 5.7");
		return;
	}
	snprintf(file, sizeof(file), "%s/cgroup.kill", dir);
	if (kill_it && probe_write_file(file, "1") == -1) {
		if (errno == ENOENT)
			errno = ENOSYS;
		probe_refused(p, "cgroup.kill", "Linux 5.14");
		kill(pid, SIGKILL);
	} else
		probe_fine(p);
	int status = probe_reap(pid);
	if (kill_it && p->state == PROBE_WORKS && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		probe_misses(p, "", "cgroup.kill did not kill");
}

static bool
file_says(const char *dir, const char *file, const char *line)
{
	char path[PATH_MAX + 96];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return probe_file_has_line(path, line);
}

/* v2 does it without a controller; the v1 freezer stands in where there is no v2 tree. */
void
try_freeze(struct probe *p, NO_ARG)
{
	bool                   v2 = found->unified.dir[0] != '\0';
	const struct cg_place *place = v2 ? &found->unified : &found->v1[CG_FREEZER];
	char                   dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (make_cgroup(p, place, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/%s", dir, v2 ? "cgroup.freeze" : "freezer.state");
	if (probe_write_file(file, v2 ? "1" : "FROZEN") == -1)
		probe_refused(p, file, "Linux 5.2");
	else if (!file_says(dir, v2 ? "cgroup.events" : "freezer.state", v2 ? "frozen 1" : "FROZEN"))
		probe_misses(p, "", "an empty cgroup does not freeze");
	else
		probe_works(p, "cgroup %s at %.200s", v2 ? "v2" : "v1", place->dir);
}

static const struct {
	const char *v1, *v1_value, *v2, *v2_value;
} limit_files[] = {
	[CG_MEMORY] = { "memory.limit_in_bytes", "67108864", "memory.max", "67108864" },
	[CG_PIDS] = { "pids.max", "64", "pids.max", "64" },
	[CG_CPU] = { "cpu.cfs_quota_us", "50000", "cpu.max", "50000 100000" },
};

static void
try_limit_v1(struct probe *p, const struct cg_place *place, int c)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (make_cgroup(p, place, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/%s", dir, limit_files[c].v1);
	if (probe_write_file(file, limit_files[c].v1_value) == -1)
		probe_misses(p, "", "%s: %s", limit_files[c].v1, strerror(errno));
	else
		probe_works(p, "cgroup v1 at %.200s", place->dir);
}

void
try_limit(struct probe *p, int c)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (!found->v2[c] && found->v1[c].dir[0] != '\0') {
		try_limit_v1(p, &found->v1[c], c);
		return;
	}
	if (!found->v2[c]) {
		probe_misses(p, probe_cgroup_remedy(), "%.120s; %.120s", found->v1[c].why,
		    found->unified.dir[0] == '\0' ? found->unified.why : "the v2 tree does not offer it either");
		return;
	}
	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/%s", dir, limit_files[c].v2);
	/* enabling a controller changes the tree for others: that is the daemon's to do, not a probe's */
	if (access(file, F_OK) == -1)
		probe_works(p, "cgroup v2 at %.150s, to be enabled there", found->unified.dir);
	else if (probe_write_file(file, limit_files[c].v2_value) == -1)
		probe_misses(p, "", "%s: %s", limit_files[c].v2, strerror(errno));
	else
		probe_works(p, "cgroup v2 at %.200s", found->unified.dir);
}

int
probe_memory_cgroup(struct probe *p, char *dir, size_t size, bool *v2)
{
	*v2 = found->v2[CG_MEMORY];
	return make_cgroup(p, *v2 ? &found->unified : &found->v1[CG_MEMORY], dir, size);
}

/* Without accounting of swap a memory limit bounds memory, and the rest goes to disk. */
void
try_swap(struct probe *p, NO_ARG)
{
	bool                   v2 = found->v2[CG_MEMORY];
	const struct cg_place *place = v2 ? &found->unified : &found->v1[CG_MEMORY];
	char                   dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (access("/proc/swaps", F_OK) == -1) {
		probe_works(p, "this kernel has no swap");
		return;
	}
	if (make_cgroup(p, place, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/memory.%s", dir, v2 ? "max" : "limit_in_bytes");
	bool limited = access(file, F_OK) == 0;
	snprintf(file, sizeof(file), "%s/memory.%s", dir, v2 ? "swap.max" : "memsw.limit_in_bytes");
	if (!limited)
		probe_works(p, "to be enabled at %.200s", place->dir);
	else if (access(file, F_OK) == 0)
		probe_fine(p);
	else
		probe_misses(p, "boot with swapaccount=1, or a kernel with CONFIG_SWAP and CONFIG_MEMCG",
		    "the kernel does not account swap");
}
