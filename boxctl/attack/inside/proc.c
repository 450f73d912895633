/* /proc: what it shows of processes and places outside, and what of it can be written. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

/* ---- processes ---- */

static int
parent_of(int pid)
{
	char path[32], value[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return status_field(path, "PPid", value, sizeof(value)) ? atoi(value) : -1;
}

static bool
is_below(int pid, int ancestor)
{
	for (int i = 0; i < 64 && pid > 0; i++, pid = parent_of(pid))
		if (pid == ancestor)
			return true;
	return false;
}

/* Init, whoever started us, and whom we have started: nobody else has business in a fresh sandbox. */
static bool
is_ours(int pid)
{
	return pid == 1 || parent_of(pid) == -1 || is_below(pid, first_pid) || is_below(first_pid, pid);
}

static void
listed(struct report *r, const void *arg)
{
	DIR           *d = opendir("/proc");
	struct dirent *e;
	unsigned       n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char path[300], name[64] = "?";
		int  pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		n++;
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		slurp(path, name, sizeof(name));
		if (!is_ours(pid))
			works(r, "process %d is seen: %.*s", pid, (int)strcspn(name, "\n"), name);
	}
	if (d != NULL)
		closedir(d);
	holds(r, "%u processes are seen, all of this sandbox", n);
}

static void
hidden(struct report *r, const void *arg)
{
	enum { MOST = 70000 };

	for (int pid = 2; pid < MOST; pid++)
		if (kill(pid, 0) == 0 && !is_ours(pid))
			works(r, "process %d can be signalled", pid);
	holds(r, "no number up to %d names a process outside", MOST);
}

/* Read whatever is readable of others' environments; only main and its children are ours. */
static void
environments(struct report *r, const void *arg)
{
	DIR           *d = opendir("/proc");
	struct dirent *e;
	char           path[300], text[4096];

	while (d != NULL && (e = readdir(d)) != NULL) {
		int pid = atoi(e->d_name);

		snprintf(path, sizeof(path), "/proc/%s/environ", e->d_name);
		if (pid <= 0 || (is_below(pid, first_pid) && pid != 1))
			continue;
		/* who started us may be a shell of this exec: it has what we have */
		if (slurp(path, text, sizeof(text)) > 0 && (pid == 1 || !is_below(first_pid, pid)))
			works(r, "%s can be read: %.40s", path, text);
	}
	if (d != NULL)
		closedir(d);
	holds(r, "no environment but those of our own can be read");
}

extern char **environ;

/* What boxd gives a command, and what a shell adds. */
static void
variables(struct report *r, const void *arg)
{
	static const char *const known[] = { "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER", "PWD",
		"OLDPWD", "SHLVL", "_" };

	for (char **e = environ; *e != NULL; e++) {
		size_t n = strcspn(*e, "="), i = 0;

		while (i < COUNT(known) && (strlen(known[i]) != n || strncmp(known[i], *e, n) != 0))
			i++;
		if (i == COUNT(known))
			works(r, "the variable %.*s came from outside", (int)n, *e);
	}
	holds(r, "only the variables that boxd gives");
}

/* ---- places ---- */

/* Is the place on its file system named like the place where it is mounted?  Else it shows a path of the host. */
static bool
is_telling(const char *root, const char *at, const char *type)
{
	static const char *const own[] = { "proc", "tmpfs", "devpts", "mqueue", "overlay", "cgroup", "cgroup2" };

	for (size_t i = 0; i < COUNT(own); i++)
		if (strcmp(type, own[i]) == 0)
			return false;
	return strcmp(root, "/") != 0 && strcmp(root, at) != 0;
}

static void
mountinfo(struct report *r, const void *arg)
{
	char     line[8192], root[4096], at[4096], type[64];
	unsigned n = 0;
	FILE    *f = fopen("/proc/self/mountinfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *dash = strstr(line, " - ");

		if (sscanf(line, "%*d %*d %*s %4095s %4095s", root, at) != 2 || dash == NULL ||
		    sscanf(dash, " - %63s", type) != 1)
			continue;
		n++;
		if (is_telling(root, at, type))
			works(r, "mountinfo shows that %.60s is %.120s on the host", at, root);
	}
	if (f != NULL)
		fclose(f);
	if (n == 0)
		skips(r, "/proc/self/mountinfo cannot be read");
	else
		holds(r, "%u mounts, none shows another path of the host", n);
}

/* Where the daemon keeps its things; boxctl knows, and the answer must not contain it. */
static void
state_paths(struct report *r, const void *arg)
{
	static const char *const files[] = { "/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats",
		"/proc/self/maps", "/proc/self/cgroup", "/proc/1/cgroup", "/proc/1/mountinfo", "/proc/1/maps",
		"/proc/1/cmdline", "/proc/swaps", "/proc/locks" };
	static char              text[256 * 1024];
	const char              *state = param("state", 0);

	if (state == NULL || strlen(state) < 5) {
		skips(r, "needs boxctl's half");
		return;
	}
	for (size_t i = 0; i < COUNT(files); i++)
		if (slurp(files[i], text, sizeof(text)) > 0 && strstr(text, state) != NULL)
			works(r, "%s shows the daemon's directory %s", files[i], state);
	holds(r, "%zu files do not tell the daemon's directory", COUNT(files));
}

static void
cgroup_paths(struct report *r, const void *arg)
{
	char text[8192];

	if (slurp("/proc/self/cgroup", text, sizeof(text)) <= 0) {
		skips(r, "this kernel has no cgroups");
		return;
	}
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const char *path = strrchr(line, ':');

		if (path != NULL && (strstr(path, "boxd") != NULL || strstr(path, "..") != NULL || strlen(path) > 16))
			works(r, "/proc/self/cgroup shows a place on the host: %.100s", line);
	}
	holds(r, "/proc/self/cgroup begins at the sandbox's own");
}

static void
maps(struct report *r, const void *arg)
{
	static char text[128 * 1024];

	slurp("/proc/self/maps", text, sizeof(text));
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const char *path = strchr(line, '/');

		if (path != NULL && access(path, F_OK) == -1 && strstr(path, "(deleted)") == NULL)
			works(r, "/proc/self/maps shows a path that is not in the sandbox: %.100s", path);
	}
	failed(r, slurp("/proc/1/maps", text, sizeof(text)), "read /proc/1/maps");
}

/* ---- writing ---- */

static struct report *walker; /* nftw takes no argument */
static unsigned       looked_at;

static bool
is_own_entry(const char *path)
{
	const char *name = path + strlen("/proc/");

	return isdigit((unsigned char)name[0]) || strncmp(name, "self", 4) == 0 ||
	       strncmp(name, "thread-self", 11) == 0;
}

/* Opened, never written.  A device over it is the mask, and anybody may write to /dev/null. */
static int
try_writing(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (strncmp(path, "/proc/", 6) == 0 && is_own_entry(path))
		return FTW_SKIP_SUBTREE;
	if (type != FTW_F || S_ISCHR(st->st_mode))
		return FTW_CONTINUE;
	looked_at++;
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return FTW_CONTINUE;
	close(fd);
	works(walker, "%s opens for writing", path);
	return FTW_CONTINUE;
}

static void
writable(struct report *r, const void *arg)
{
	walker = r;
	nftw(arg, try_writing, 32, FTW_PHYS | FTW_ACTIONRETVAL);
	if (looked_at == 0)
		skips(r, "%s has no files", (const char *)arg);
	else
		holds(r, "%u files of %s, none opens for writing", looked_at, (const char *)arg);
}

const struct attack proc_attacks[] = {
	{ "proc.processes", "processes of the host or of other sandboxes are seen", ANYWHERE, listed, NULL },
	{ "proc.hidden-processes", "processes outside are there, only not listed", ANYWHERE, hidden, NULL },
	{ "proc.environments", "secrets in the environment of the daemon or of init", ANYWHERE, environments, NULL },
	{ "proc.variables", "variables of the daemon are passed on", INSIDE, variables, NULL },
	{ "proc.mountinfo", "paths of the host in the list of mounts", ANYWHERE, mountinfo, NULL },
	{ "proc.state-directory", "where the daemon keeps its state is known", INSIDE, state_paths, NULL },
	{ "proc.cgroup-paths", "names of the host's cgroups, and of others", ANYWHERE, cgroup_paths, NULL },
	{ "proc.maps", "paths of the host, and addresses of init's memory", INSIDE, maps, NULL },
	{ "proc.sys-writable", "a setting of the kernel changed: core_pattern, modprobe and the like run as root",
	    INSIDE, writable, "/proc/sys" },
	{ "proc.writable", "something of the machine changed through /proc", INSIDE, writable, "/proc" },
	{ .name = NULL },
};
