/*
 * A command can fork, fork twice, call setsid, stop itself and ignore every signal
 * but two.  Two things it cannot leave:
 *
 * Its cgroup, where the session has one for each command.  The kernel kills all of
 * it at once (cgroup.kill, Linux 5.14), but for processes whose first thread has
 * ended: it signals that thread alone (seen on 6.18).  Who is still there a moment
 * later, or on older kernels, is frozen and killed by pid.
 *
 * Its UTS namespace, otherwise: without capabilities nobody inside can make or join
 * another.  /proc/PID/ns/uts shows whose a process is.  A scan of /proc races with
 * forks, so first everybody is stopped, in passes, until a pass finds nobody who
 * can still fork; then everybody is killed.  That is a round.  Rounds are repeated
 * until nobody is found.  One scan can miss a runner that forks and exits, only
 * where process ids wrap around behind its back; they are handed out in a circle,
 * so two scans in a row cannot both be passed by.
 *
 * Here too a process whose first thread has ended is special: it looks like a zombie
 * and shows no namespace, though its other threads run on.  Then they are asked.
 * And one that dies gives its namespace back before its files: it is waited for, so
 * that a command which was killed holds nothing any more.  It may be another command's
 * and not ours, but not when it was born after the last of ours was seen.
 *
 * Signals go by pid.  Between look and kill a pid would have to be freed and come
 * round the whole circle to name somebody else, and then somebody in the sandbox.
 */
#include "tree.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop.h"

enum {
	SLICE_NS = 2000000,  /* of scanning, before others get their turn */
	MOST_STOPS = 16,     /* passes; a process asleep in vfork never stops */
	SURELY = 2,          /* scans without a find */
	TICKS_PER_SEC = 100, /* of /proc/PID/stat; the kernel's USER_HZ */
};

void
tree_init(struct tree *t)
{
	*t = (struct tree){ .cgroup = -1, .uts_tag = -1 };
}

void
tree_clear(struct tree *t)
{
	fd_close(&t->cgroup);
	fd_close(&t->uts_tag);
	if (t->proc != NULL)
		closedir(t->proc);
	t->proc = NULL;
}

int
tree_tag(struct tree *t, struct err *e)
{
	struct stat st;

	if (unshare(CLONE_NEWUTS) == -1)
		return err_sys(e, "a UTS namespace to know the command by");
	t->uts_tag = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	if (t->uts_tag == -1 || fstat(t->uts_tag, &st) == -1)
		return err_sys(e, "/proc/self/ns/uts");
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	return 0;
}

/* ---- by cgroup ---------------------------------------------------------------- */

static int
cgroup_write(const struct tree *t, const char *file, const char *value)
{
	AUTO_FD int fd = openat(t->cgroup, file, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	return write(fd, value, strlen(value)) == -1 ? -1 : 0;
}

static FILE *
cgroup_read(const struct tree *t, const char *file)
{
	AUTO_FD int fd = openat(t->cgroup, file, O_RDONLY | O_CLOEXEC);
	FILE       *f = fd == -1 ? NULL : fdopen(fd, "r");

	if (f != NULL)
		fd_take(&fd);
	return f;
}

/* Send each its signal (0: only count); how many there are. */
static uint64_t
cgroup_signal(const struct tree *t, int sig)
{
	FILE    *f = cgroup_read(t, "cgroup.procs");
	uint64_t n = 0;
	int      pid;

	if (f == NULL)
		return 0;
	while (fscanf(f, "%d", &pid) == 1) {
		if (pid <= 1) /* 0 would be one from outside our pid namespace, and ourselves as a group */
			continue;
		n++;
		if (sig != 0)
			kill(pid, sig);
	}
	fclose(f);
	return n;
}

/* A directory that is not there any more was removed, which only an empty one can be. */
static bool
cgroup_is_empty(const struct tree *t)
{
	FILE *f = cgroup_read(t, "cgroup.events");
	char  line[64];
	bool  populated = false;

	if (f == NULL) /* else we could not look, and look again */
		return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
	while (fgets(line, sizeof(line), f) != NULL)
		populated |= strcmp(line, "populated 1\n") == 0;
	fclose(f);
	return !populated;
}

/* With everybody frozen the list is complete, and a frozen process can be killed. */
static void
cgroup_kill_each(const struct tree *t)
{
	cgroup_write(t, "cgroup.freeze", "1");
	cgroup_signal(t, SIGKILL);
}

static enum tree_state
kill_cgroup(struct tree *t)
{
	if (cgroup_is_empty(t))
		return TREE_GONE;
	bool again = t->asked;
	if (!again)
		t->killed = cgroup_signal(t, 0);
	t->asked = true;
	if (cgroup_write(t, "cgroup.kill", "1") == -1 || again)
		cgroup_kill_each(t);
	return TREE_WAIT;
}

/* ---- by mark -------------------------------------------------------------------- */

enum {
	WHO = 48,      /* "PID", or "PID/task/TID" */
	EXITING = 0x4, /* the kernel's PF_EXITING */
	BIT_KILL = 1 << (SIGKILL - 1),
	BIT_STOP = 1 << (SIGSTOP - 1),
};

struct look {
	char     state;
	unsigned flags;
	long     threads;
	uint64_t born;    /* ticks since the machine started */
	unsigned pending; /* of the thread; a deadly SIGKILL shows here */
};

enum kin { STRANGER, OURS, LEAVING };

static bool
read_proc(const char *who, const char *file, char *text, size_t size)
{
	char path[WHO + 32];

	snprintf(path, sizeof(path), "/proc/%s/%s", who, file);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t     n = fd == -1 ? -1 : read(fd, text, size - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Fields 3, 9, 20, 22 and 31 of stat; the name before them may hold anything, even ") ". */
static bool
look_at(const char *who, struct look *l)
{
	char text[1024];

	if (!read_proc(who, "stat", text, sizeof(text)))
		return false;
	const char *at = strrchr(text, ')');
	for (int field = 2; at != NULL && field <= 31; field++) {
		if (field == 3)
			l->state = *at;
		else if (field == 9)
			l->flags = (unsigned)strtoul(at, NULL, 10);
		else if (field == 20)
			l->threads = strtol(at, NULL, 10);
		else if (field == 22)
			l->born = strtoull(at, NULL, 10);
		else if (field == 31)
			l->pending = (unsigned)strtoul(at, NULL, 10);
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return true;
}

static bool
is_dead(const struct look *l)
{
	return strchr("ZXx", l->state) != NULL;
}

/* A process that waits for a processor stays "running" until it gets one and stops. */
static bool
stop_is_pending(const char *who)
{
	static const char NAME[] = "ShdPnd:";
	char              text[2048];
	const char       *at;

	if (!read_proc(who, "status", text, sizeof(text)) || (at = strstr(text, NAME)) == NULL)
		return false;
	return strtoull(at + sizeof(NAME) - 1, NULL, 16) & BIT_STOP;
}

/* 1: has our mark; 0: has another; -1: shows none. */
static int
compare_uts_tag(const struct tree *t, const char *who)
{
	char        path[WHO + 32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/uts", who);
	if (stat(path, &st) == -1)
		return -1;
	return st.st_dev == t->dev && st.st_ino == t->ino;
}

static uint64_t
ticks_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * TICKS_PER_SEC + (uint64_t)t.tv_nsec / (1000000000 / TICKS_PER_SEC);
}

/* Somebody, a process or a thread, by its UTS namespace and its looks. */
static enum kin
kin_of(const struct tree *t, const char *who, struct look *l)
{
	int same = compare_uts_tag(t, who);

	if (same == 0 || !look_at(who, l) || is_dead(l))
		return STRANGER;
	if (same == 1)
		return OURS;
	return (l->flags & EXITING) && (t->deserted == 0 || l->born <= t->deserted) ? LEAVING : STRANGER;
}

/* The first thread is dead: the first of the others that is ours speaks for the process. */
static enum kin
kin_of_threads(const struct tree *t, const char *pid, char who[WHO], struct look *l)
{
	char           path[WHO];
	struct dirent *d;
	enum kin       all = STRANGER;

	snprintf(path, sizeof(path), "/proc/%.12s/task", pid);
	DIR *tasks = opendir(path);
	if (tasks == NULL)
		return STRANGER;
	while (all != OURS && (d = readdir(tasks)) != NULL) {
		snprintf(who, WHO, "%.12s/task/%.12s", pid, d->d_name);
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		enum kin one = kin_of(t, who, l);
		if (one != STRANGER)
			all = one;
	}
	closedir(tasks);
	return all;
}

/* Whose is it, who speaks for it, and how does it look? */
static enum kin
kin_of_process(const struct tree *t, const char *pid, char who[WHO], struct look *l)
{
	snprintf(who, WHO, "%.12s", pid);
	enum kin kin = kin_of(t, who, l);
	return kin == STRANGER && is_dead(l) && l->threads > 1 ? kin_of_threads(t, pid, who, l) : kin;
}

static void
visit(struct tree *t, const char *name)
{
	struct look l = { 0 };
	char        who[WHO];
	pid_t       pid = (pid_t)strtol(name, NULL, 10);

	if (pid <= 1)
		return;
	switch (kin_of_process(t, name, who, &l)) {
	case STRANGER:
		return;
	case LEAVING:
		t->leaving++;
		return;
	case OURS:
		t->live++;
	}
	if ((l.flags & EXITING) || (l.pending & BIT_KILL))
		return; /* killed already and on its way out */
	if (t->phase == TREE_KILL) {
		t->killed += kill(pid, SIGKILL) == 0;
	} else if (strchr("TtD", l.state) == NULL && !stop_is_pending(who)) {
		t->running++;
		kill(pid, SIGSTOP);
	}
}

/* Part of a scan; true when it is complete. */
static bool
scan(struct tree *t)
{
	int64_t        until = now_ns() + SLICE_NS;
	struct dirent *d;

	for (unsigned i = 1; (d = readdir(t->proc)) != NULL; i++) {
		if (isdigit((unsigned char)d->d_name[0]))
			visit(t, d->d_name);
		if (i % 32 == 0 && now_ns() >= until)
			return false;
	}
	return true;
}

static void
next_pass(struct tree *t)
{
	t->live = t->running = t->leaving = 0;
	rewinddir(t->proc);
}

static enum tree_state
after_pass(struct tree *t)
{
	bool nobody = t->live == 0;
	bool some_run = t->running > 0;
	bool some_leave = t->leaving > 0;

	next_pass(t);
	t->deserted = !nobody ? 0 : t->deserted == 0 ? ticks_now() : t->deserted;
	t->empty = nobody && !some_leave ? t->empty + 1 : 0;
	if (t->empty >= SURELY)
		return TREE_GONE;
	if (nobody)
		return some_leave ? TREE_WAIT : TREE_BUSY;
	if (t->phase == TREE_STOP) {
		if (!some_run || ++t->stops >= MOST_STOPS)
			t->phase = TREE_KILL;
		return TREE_BUSY;
	}
	t->phase = TREE_STOP;
	t->stops = 0;
	return TREE_WAIT;
}

static enum tree_state
kill_marked(struct tree *t)
{
	if (t->proc == NULL && (t->proc = opendir("/proc")) == NULL)
		return TREE_WAIT; /* no descriptor or no memory now */
	if (!scan(t))
		return TREE_BUSY;
	return after_pass(t);
}

enum tree_state
tree_kill(struct tree *t)
{
	return t->cgroup != -1 ? kill_cgroup(t) : kill_marked(t);
}
