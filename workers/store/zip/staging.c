#include "zip/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "fs/tree.h"

#define PREFIX ".staging-"

enum { TRIES = 16 };

static void
sweep_one(int skills, const char *name)
{
	struct err  e;
	AUTO_FD int dir = openat(skills, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir == -1 || flock(dir, LOCK_EX | LOCK_NB) == -1)
		return;
	if (tree_remove(skills, name, name, &e) == -1)
		log_warn("sweep: %s", e.text);
	else
		log_info("swept %s", name);
}

void
staging_sweep(int skills)
{
	int            own = openat(skills, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *dir = own == -1 ? NULL : fdopendir(own);
	struct dirent *d;

	if (dir == NULL) {
		log_warn("sweep: %s", strerror(errno));
		fd_close(&own);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, PREFIX, strlen(PREFIX)) == 0)
			sweep_one(skills, d->d_name);
	closedir(dir);
}

/* A sweep that comes between making it and locking it takes it away: then once more. */
static int
make(struct staging *s)
{
	uint64_t    n;
	struct stat st;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		return -1;
	snprintf(s->name, sizeof(s->name), PREFIX "%016lx", n);
	if (mkdirat(s->parent, s->name, 0700) == -1)
		return -1;
	s->dir = openat(s->parent, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir != -1 && flock(s->dir, LOCK_EX | LOCK_NB) == 0 && fstat(s->dir, &st) == 0 && st.st_nlink > 0)
		return 0;
	fd_close(&s->dir);
	errno = EEXIST;
	return -1;
}

int
staging_open(struct staging *s, int skills, struct err *e)
{
	*s = (struct staging){ .parent = skills, .dir = -1 };
	for (int i = 0; i < TRIES; i++) {
		if (make(s) == 0)
			return 0;
		if (errno != EEXIST && errno != ENOENT)
			break;
	}
	return err_sys(e, "make a directory in the skills root");
}

int
staging_close(struct staging *s, struct err *e)
{
	if (s->dir == -1)
		return 0;
	int r = tree_remove(s->parent, s->name, s->name, e);
	fd_close(&s->dir);
	return r;
}
