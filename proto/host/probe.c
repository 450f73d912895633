/*
 * Every probe is a function that tries one thing and writes what came of it into
 * a struct probe in memory shared with its parent.  It runs in a forked child:
 * the namespaces, mounts and filters it makes die with it, and SIGALRM ends it if
 * it hangs.  Only cgroup directories could outlive it; their names hold its pid,
 * so that the parent removes them whatever happened.
 *
 * Here are the table and running one row; the probes themselves are in probe_ns.c,
 * probe_cgroup.c, probe_counted.c and probe_kernel.c, and what follows from them in probe_walls.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/probe_parts.h"

/* ---- saying what came of it ---- */

void
probe_works(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	p->state = PROBE_WORKS;
	p->remedy[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

/* It works, and there is nothing more to say. */
void
probe_fine(struct probe *p)
{
	probe_works(p, "%s", "");
}

void
probe_misses(struct probe *p, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	p->state = PROBE_MISSING;
	snprintf(p->remedy, sizeof(p->remedy), "%s", remedy);
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

/* A system call failed: ENOSYS means the kernel is too old for it, or a filter hides it. */
void
probe_refused(struct probe *p, const char *what, const char *since)
{
	if (errno == ENOSYS)
		probe_misses(p, "use a newer kernel; in a container, allow the call",
		    "%s: not in this kernel (it came with %s)", what, since);
	else
		probe_misses(p, "", "%s: %s", what, strerror(errno));
}

/* ---- small hands ---- */

int
probe_write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

bool
probe_file_has_line(const char *path, const char *needle)
{
	FILE *f = fopen(path, "re");
	char  line[512];
	bool  has = false;

	if (f == NULL)
		return false;
	while (!has && fgets(line, sizeof(line), f) != NULL)
		has = strstr(line, needle) != NULL;
	fclose(f);
	return has;
}

/* A child that goes when its parent goes, even by SIGALRM. */
pid_t
probe_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	/* getppid is 0 from inside a new pid namespace: no race to see there, and init dies with its prober anyway */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || (getppid() != parent && getppid() != 0))
		_exit(1);
	return 0;
}

int
probe_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

/* ---- the table ---- */

static const struct row {
	const char *name;
	const char *gives;
	void (*try)(struct probe *, int arg);
	int  arg;
	bool required;
	bool cgroups; /* may leave directories there */
} rows[] = {
	{ "user namespace", "root inside is nobody outside", try_userns, 0, true, false },
	{ "pid namespace", "sees and signals only its own processes", try_namespace, CLONE_NEWPID, true, false },
	{ "mount namespace", "a file tree of its own", try_namespace, CLONE_NEWNS, true, false },
	{ "net namespace", "network off", try_namespace, CLONE_NEWNET, true, false },
	{ "ipc namespace", "no shared memory with others", try_namespace, CLONE_NEWIPC, true, false },
	{ "uts namespace", "a host name of its own", try_namespace, CLONE_NEWUTS, true, false },
	{ "cgroup namespace", "the host's cgroup paths stay unseen", try_namespace, CLONE_NEWCGROUP, true, false },
	{ "uid range", "no two sessions share a host uid", try_uid_range, 0, false, false },
	{ "tmpfs inside", "/tmp and /dev of a sandbox", try_tmpfs, 0, true, false },
	{ "proc inside", "/proc of a sandbox", try_proc, 0, true, false },
	{ "pivot_root", "the host's root is gone inside", try_pivot_root, 0, true, false },
	{ "overlay inside", "a writable root file system", try_overlay, 0, false, false },
	{ "id-mapped mounts", "files keep their owner in shared directories", try_idmap, 0, false, false },
	{ "cgroup v2 tree", "a cgroup for each command", try_v2_tree, 0, false, true },
	{ "clone into cgroup", "a command is never outside its cgroup", try_clone_into, false, false, true },
	{ "cgroup.kill", "a timeout kills exactly one command's tree", try_clone_into, true, false, true },
	{ "freezer", "a session can be paused", try_freeze, 0, false, true },
	{ "memory limit", "memory of a session", try_limit, CG_MEMORY, false, true },
	{ "pids limit", "processes of a session", try_limit, CG_PIDS, false, true },
	{ "cpu limit", "cpu time of a session", try_limit, CG_CPU, false, true },
	{ "no swap", "a memory limit that swap does not stretch", try_swap, 0, false, true },
	{ "socket memory", "buffers of sockets count", try_sockets_counted, 0, false, true },
	{ "kernel memory", "what the kernel holds for a session counts", try_kernel_counted, 0, false, true },
	{ "seccomp", "system calls a command never needs are refused", try_seccomp, 0, false, false },
	{ "landlock", "a second wall behind the mounts", try_landlock, 0, false, false },
	{ "pidfd", "processes are waited for without pid reuse", try_pidfd, 0, true, false },
	{ "memfd sealing", "large messages pass uncopied", try_memfd, 0, true, false },
	{ "close_range", "no descriptor leaks into a sandbox", try_close_range, 0, true, false },
	{ "openat2", "host paths are opened without symlink tricks", try_openat2, 0, true, false },
	{ "loop devices", "a workspace with a hard size", try_loop, 0, false, false },
	{ "mkfs.ext4", "the file system on it", try_mkfs, 0, false, false },
	{ "btrfs", "workspace quotas without loop devices", try_btrfs, 0, false, false },
	{ "nftables", "network on, by redirection to the egress proxy", try_nftables, 0, false, false },
};

/* In the child: nothing of the parent's signal handling, and a deadline. */
static void
child_begin(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	probe_ns_begin();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1); /* else /proc/self/uid_map would belong to root */
	alarm(PROBE_SEC);
}

static void
run_row(const struct row *row, struct probe *p, const struct cg_found *places)
{
	struct probe *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*p = (struct probe){ row->name, row->gives, row->required, PROBE_UNKNOWN, "", "" };
	snprintf(p->why, sizeof(p->why), "the probe did not finish within %d s", PROBE_SEC);
	if (shared == MAP_FAILED)
		return;
	*shared = *p;
	probe_cgroups_lend(places);
	pid_t pid = fork();
	if (pid == 0) {
		child_begin();
		row->try(shared, row->arg);
		_exit(0);
	}
	if (pid > 0) {
		probe_reap(pid);
		*p = *shared;
		if (row->cgroups)
			probe_cgroups_sweep(pid);
	} else
		snprintf(p->why, sizeof(p->why), "fork: %s", strerror(errno));
	munmap(shared, sizeof(*shared));
}

size_t
probe_count(void)
{
	return sizeof(rows) / sizeof(*rows);
}

void
probe_run(size_t i, struct probe *p)
{
	struct cg_found places;

	cgfind(&places, "");
	run_row(&rows[i], p, &places);
}

const char *
probe_state_name(enum probe_state s)
{
	return s == PROBE_WORKS ? "works" : s == PROBE_MISSING ? "missing" : "unknown";
}

int
probe_userns(struct err *e)
{
	static const struct row row = { .name = "sandbox", .gives = "", .try = try_sandbox, .required = true };
	struct probe            p;

	run_row(&row, &p, NULL);
	if (p.state == PROBE_WORKS)
		return 0;
	return err_set(e, E_BACKEND, "%s%s%s", p.why, p.remedy[0] != '\0' ? "; remedy: " : "", p.remedy);
}

/* The row of this probe, run for a wall. */
bool
probe_by(void (*try)(struct probe *, int), int arg, struct probe *p, const struct cg_found *places)
{
	for (size_t i = 0; i < probe_count(); i++) {
		if (rows[i].try != try || rows[i].arg != arg)
			continue;
		run_row(&rows[i], p, places);
		return p->state == PROBE_WORKS;
	}
	return false;
}
