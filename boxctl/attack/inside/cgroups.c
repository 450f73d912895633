/* cgroups: the limits live there, and release_agent runs a program as root of the host. */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

static void
mounted(struct report *r, const void *arg)
{
	static const char *const v1[] = { "memory", "pids", "cpu", "devices", "rdma", "freezer", "none,name=attack" };

	for (size_t i = 0; i < COUNT(v1); i++)
		refused(r, syscall(SYS_mount, "cgroup", scratch(), "cgroup", 0, v1[i]), "mount -t cgroup -o %s", v1[i]);
	refused(r, syscall(SYS_mount, "cgroup2", scratch(), "cgroup2", 0, NULL), "mount -t cgroup2");
	refused(r, syscall(SYS_fsopen, "cgroup2", 0), "fsopen(cgroup2)");
}

/* Is any hierarchy there to be seen? */
static void
visible(struct report *r, const void *arg)
{
	static char text[128 * 1024];
	struct stat st;

	if (slurp("/proc/self/mounts", text, sizeof(text)) > 0)
		for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
			if (strstr(line, " cgroup") != NULL)
				works(r, "a cgroup file system is mounted: %.100s", line);
	if (stat("/sys/fs/cgroup/cgroup.procs", &st) == 0 || stat("/sys/fs/cgroup/memory", &st) == 0)
		works(r, "/sys/fs/cgroup is there");
	holds(r, "no cgroup file system is mounted");
}

static struct report *walker; /* nftw takes no argument */
static unsigned       looked_at;

static int
try_control(const char *path, const struct stat *st, int type, struct FTW *at)
{
	static const char *const controls[] = { "cgroup.procs", "tasks", "release_agent", "notify_on_release",
		"cgroup.kill", "cgroup.freeze", "memory.max", "memory.limit_in_bytes", "pids.max", "cpu.max",
		"devices.allow", "cgroup.subtree_control", "cgroup.threads" };

	looked_at += type == FTW_F;
	for (size_t i = 0; type == FTW_F && i < COUNT(controls); i++)
		if (strcmp(path + at->base, controls[i]) == 0 && access(path, W_OK) == 0)
			works(walker, "%s can be written", path);
	return 0;
}

static void
controls(struct report *r, const void *arg)
{
	walker = r;
	nftw("/sys/fs", try_control, 32, FTW_PHYS);
	nftw("/dev", try_control, 32, FTW_PHYS);
	nftw("/run", try_control, 32, FTW_PHYS);
	holds(r, "%u files of /sys/fs, /dev and /run: no control file can be written", looked_at);
}

/* The path of our own cgroup, if /proc shows it, at the usual places. */
static void
own_limit(struct report *r, const void *arg)
{
	static const char *const files[] = { "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/pids.max",
		"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/unified/cgroup.procs",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/release_agent",
		"/sys/fs/cgroup/devices/devices.allow" };

	for (size_t i = 0; i < COUNT(files); i++)
		failed(r, open(files[i], O_WRONLY | O_CLOEXEC), "open %s to write", files[i]);
}

const struct attack cgroup_attacks[] = {
	{ "cgroups.mount", "a hierarchy of the host, with its release_agent", INSIDE, mounted, NULL },
	{ "cgroups.visible", "cgroups of the host are seen", ANYWHERE, visible, NULL },
	{ "cgroups.controls", "out of the limits by cgroup.procs, or root by release_agent", ANYWHERE, controls, NULL },
	{ "cgroups.limits", "the sandbox's own limits are raised", INSIDE, own_limit, NULL },
	{ .name = NULL },
};
