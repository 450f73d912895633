/*
 * A file that was removed while somebody has it open takes space under no name.  The
 * sandbox's own /proc tells who has what open.  Not seen is a descriptor that is on its
 * way through a socket; a session that must not be able to do that needs a workspace
 * whose limit the kernel keeps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "fd.h"
#include "scan.h"

struct looking {
	struct scan *scan;
	unsigned     left; /* descriptors and mappings still to be looked at */
};

static void
count_if_nameless(struct looking *l, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 && st.st_dev == l->scan->dev)
		scan_count(l->scan, &st);
}

static void
look_at_descriptors(struct looking *l, int task)
{
	struct names names;
	struct name  n;
	int          fd = openat(task, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return;
	names_open(&names, fd);
	while (l->left > 0 && names_next(&names, &n)) {
		l->left--;
		count_if_nameless(l, fd, n.name);
	}
	names_close(&names);
}

/* "7f0-7f8 rw-s 00000000 fd:00 1234   /workspace/x (deleted)" */
static void
look_at_mapping(struct looking *l, int process, const char *line, size_t n)
{
	static const char gone[] = " (deleted)\n";
	enum { GONE = sizeof(gone) - 1 };
	unsigned long from, to;
	char          path[64];

	l->left--;
	if (n < GONE || memcmp(line + n - GONE, gone, GONE) != 0 || sscanf(line, "%lx-%lx", &from, &to) != 2)
		return;
	snprintf(path, sizeof(path), "map_files/%lx-%lx", from, to);
	count_if_nameless(l, process, path);
}

static void
look_at_mappings(struct looking *l, int process)
{
	int     fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	FILE   *f = fd == -1 ? NULL : fdopen(fd, "re");
	char   *line = NULL;
	size_t  size = 0;
	ssize_t n;

	if (f == NULL) {
		fd_close(&fd);
		return;
	}
	while (l->left > 0 && (n = getline(&line, &size, f)) > 0)
		look_at_mapping(l, process, line, (size_t)n);
	free(line);
	fclose(f);
}

/* A thread can have descriptors of its own. */
static void
look_at_threads(struct looking *l, int process)
{
	struct names names;
	struct name  n;
	int          tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (tasks == -1)
		return;
	names_open(&names, tasks);
	while (l->left > 0 && names_next(&names, &n)) {
		AUTO_FD int task = openat(tasks, n.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (task >= 0)
			look_at_descriptors(l, task);
	}
	names_close(&names);
}

void
scan_open_files(struct scan *s, int proc)
{
	struct looking l = { .scan = s, .left = LIM_SCAN_OPEN };
	struct names   names;
	struct name    n;
	int            fd = proc == -1 ? -1 : openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return;
	names_open(&names, fd);
	while (l.left > 0 && names_next(&names, &n)) {
		if (n.name[0] < '1' || n.name[0] > '9')
			continue;
		AUTO_FD int process = openat(fd, n.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process == -1)
			continue;
		look_at_threads(&l, process);
		look_at_mappings(&l, process);
	}
	names_close(&names);
}
