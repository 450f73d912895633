/*
 * A file that was removed takes space under no name as long as somebody has it open or
 * mapped, or stands in it.  The sandbox's own /proc shows who has what.
 *
 * A descriptor that waits in a socket is nobody's, and no file of /proc leads to it.  But
 * each socket shows how many wait in it, so it is known that something is hidden.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "disk/scan.h"

enum { PROC_ROOT = 1 }; /* inode number of the root of every procfs */

bool
proc_is_genuine(int proc)
{
	struct statfs fs;
	struct stat   st;

	return fstatfs(proc, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC && fstat(proc, &st) == 0 &&
	       st.st_ino == PROC_ROOT;
}

/* Only what procfs itself has there: no link, and nothing that was mounted on it. */
static int
open_in_proc(int at, const char *name, uint64_t flags)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

/* A process that has ended has nothing open; one that we may not look into may have. */
static void
could_not(struct look *l)
{
	if (errno != ENOENT && errno != ESRCH)
		l->hidden++;
}

static bool
look_at_one(struct look *l)
{
	if (l->most > 0) {
		l->most--;
		return true;
	}
	l->end = SCAN_OPEN;
	return false;
}

/* ---- descriptors -------------------------------------------------------------------- */

static void
tell_if_nameless(struct look *l, const struct stat *st)
{
	if (st->st_nlink == 0)
		l->found(l->arg, &(struct nameless){ st->st_dev, st->st_ino, bytes_of(st) });
}

/* "scm_fds: N" among the first lines */
static void
look_into_socket(struct look *l, int task, const char *fd)
{
	static const char key[] = "\nscm_fds:";
	char              path[64], text[1024];

	snprintf(path, sizeof(path), "fdinfo/%.20s", fd);
	AUTO_FD int info = open_in_proc(task, path, 0);
	ssize_t     n = info == -1 ? -1 : read(info, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	const char *at = strstr(text, key);
	if (at != NULL)
		l->hidden += strtoul(at + sizeof(key) - 1, NULL, 10);
}

static void
look_at_descriptors(struct look *l, int task)
{
	struct names names;
	struct name  n;
	struct stat  st;
	int          fd = open_in_proc(task, "fd", O_DIRECTORY);

	if (fd == -1) {
		could_not(l);
		return;
	}
	names_open(&names, fd);
	while (names_next(&names, &n) == 1 && look_at_one(l)) {
		if (fstatat(fd, n.name, &st, AT_NO_AUTOMOUNT) == -1)
			continue;
		if (S_ISSOCK(st.st_mode))
			look_into_socket(l, task, n.name);
		else
			tell_if_nameless(l, &st);
	}
	names_close(&names);
}

/* A large directory can be removed, too, and lived in. */
static void
look_at_places(struct look *l, int task)
{
	static const char *const places[] = { "cwd", "root" };
	struct stat              st;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (fstatat(task, places[i], &st, AT_NO_AUTOMOUNT) == 0)
			tell_if_nameless(l, &st);
}

/* ---- mappings ------------------------------------------------------------------------- */

#define GONE " (deleted)"

enum { GONE_LEN = sizeof(GONE) - 1 };

/* One line of maps, however long: its start and its end. */
struct line {
	char   head[96];
	size_t len;
	char   tail[GONE_LEN]; /* a ring */
};

static void
line_add(struct line *line, char c)
{
	if (line->len < sizeof(line->head) - 1)
		line->head[line->len] = c;
	line->tail[line->len++ % GONE_LEN] = c;
}

static bool
is_gone(const struct line *line)
{
	if (line->len < GONE_LEN)
		return false;
	for (size_t i = 0; i < GONE_LEN; i++)
		if (line->tail[(line->len + i) % GONE_LEN] != GONE[i])
			return false;
	return true;
}

/*
 * "7f0-7f8 rw-s 00000000 fd:00 1234   /workspace/x (deleted)"
 *
 * Where we may not ask for the file itself, what is mapped of it counts; each part once.
 */
static void
look_at_mapping(struct look *l, int process, struct line *line)
{
	unsigned long from, to, offset, ino;
	unsigned      major, minor;
	char          path[64];
	struct stat   st;

	line->head[line->len < sizeof(line->head) ? line->len : sizeof(line->head) - 1] = '\0';
	if (!is_gone(line) ||
	    sscanf(line->head, "%lx-%lx %*4s %lx %x:%x %lu", &from, &to, &offset, &major, &minor, &ino) != 6)
		return;
	snprintf(path, sizeof(path), "map_files/%lx-%lx", from, to);
	if (fstatat(process, path, &st, AT_NO_AUTOMOUNT) == 0)
		tell_if_nameless(l, &st);
	else
		l->found(
		    l->arg, &(struct nameless){ makedev(major, minor), ino ^ (offset / 4096 + 1) << 40, to - from });
}

/* False: it is without memory of its own, as a thread that has ended is. */
static bool
look_at_mappings(struct look *l, int process, int task)
{
	char        text[4096];
	struct line line = { .len = 0 };
	ssize_t     n;
	bool        any = false;
	AUTO_FD int fd = open_in_proc(task, "maps", 0);

	if (fd == -1)
		could_not(l);
	while (fd >= 0 && l->end == SCAN_WHOLE && (n = read(fd, text, sizeof(text))) > 0) {
		any = true;
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n') {
				line_add(&line, text[i]);
				continue;
			}
			if (!look_at_one(l))
				break;
			look_at_mapping(l, process, &line);
			line.len = 0;
		}
	}
	return any;
}

/* ---- processes ------------------------------------------------------------------------ */

/* A thread can have descriptors of its own.  Memory is the same for all, but the first may have ended. */
static void
look_at_threads(struct look *l, int process)
{
	struct names names;
	struct name  n;
	bool         mapped = false;
	int          tasks = open_in_proc(process, "task", O_DIRECTORY);

	if (tasks == -1) {
		could_not(l);
		return;
	}
	names_open(&names, tasks);
	while (l->end == SCAN_WHOLE && names_next(&names, &n) == 1) {
		AUTO_FD int task = open_in_proc(tasks, n.name, O_DIRECTORY);

		if (task == -1 || !look_at_one(l))
			continue;
		look_at_descriptors(l, task);
		look_at_places(l, task);
		if (!mapped)
			mapped = look_at_mappings(l, process, task);
	}
	names_close(&names);
}

/* Init is ours, and has nothing of the workspace's. */
static bool
is_command(const char *name)
{
	return name[0] >= '1' && name[0] <= '9' && strcmp(name, "1") != 0;
}

void
look_at_open_files(struct look *l, int proc)
{
	struct names names;
	struct name  n;
	int          r = 0;
	int          fd = proc_is_genuine(proc) ? open_in_proc(proc, ".", O_DIRECTORY) : -1;

	if (fd == -1) {
		l->end = SCAN_BROKEN;
		l->error = ENOTDIR;
		return;
	}
	names_open(&names, fd);
	while (l->end == SCAN_WHOLE && (r = names_next(&names, &n)) == 1) {
		AUTO_FD int process = is_command(n.name) ? open_in_proc(fd, n.name, O_DIRECTORY) : -1;

		if (process >= 0)
			look_at_threads(l, process);
	}
	if (r == -1) {
		l->end = SCAN_BROKEN;
		l->error = errno;
	}
	names_close(&names);
}
