#include "skills/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/tree.h"
#include "skills/names.h"

struct place {
	STAILQ_ENTRY(place) next;
	unsigned depth;
	char     path[]; /* beneath the root */
};

STAILQ_HEAD(places, place);

struct walk {
	int           root;
	unsigned      depth; /* deeper is not looked at */
	struct places queue;
	size_t        seen; /* entries of directories */
	struct finds *finds;
	struct err   *e;
};

const char *
discover_entry(int dir)
{
	return tree_has_file(dir, "SKILL.md") ? "SKILL.md" : tree_has_file(dir, "skill.md") ? "skill.md" : NULL;
}

/* path/name behind the others; one that is too long for a path cannot be asked for either, and is left out. */
static int
queue(struct walk *w, const char *path, const char *name, unsigned depth)
{
	size_t        n = strlen(path) + strlen(name) + 2;
	struct place *p;

	if (n > LIM_PATH)
		return 0;
	if ((p = malloc(sizeof(*p) + n)) == NULL)
		return err_set(w->e, E_SYS, "no memory");
	p->depth = depth;
	strcpy(stpcpy(stpcpy(p->path, path), *path != '\0' ? "/" : ""), name);
	STAILQ_INSERT_TAIL(&w->queue, p, next);
	return 0;
}

static bool
is_dir(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int
read_dirs(struct walk *w, DIR *dir, struct names *names)
{
	struct dirent *d;

	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (++w->seen > LIM_SKILL_ENTRIES)
			return err_set(w->e, E_INVALID, "Skill discovery exceeded the configured entry limit");
		if (is_dir(dirfd(dir), d) && names_add(names, d->d_name) == -1)
			return err_set(w->e, E_SYS, "no memory");
	}
	return 0;
}

/* Its directories, by name, to the end of the queue. */
static int
descend(struct walk *w, int *fd, const struct place *p)
{
	struct names names = { 0 };
	DIR         *dir = fdopendir(*fd);

	if (dir == NULL)
		return err_sys(w->e, "read a directory");
	fd_take(fd);
	int r = read_dirs(w, dir, &names);
	closedir(dir);
	names_sort(&names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = queue(w, p->path, names.v[i], p->depth + 1);
	names_clear(&names);
	return r;
}

static int
add_find(struct walk *w, const char *path, const char *entry)
{
	struct finds *f = w->finds;

	if (f->n == LIM_SKILLS)
		return err_set(w->e, E_INVALID, "Skill discovery exceeded the configured package limit");
	struct found *more = reallocarray(f->v, f->n + 1, sizeof(*more));
	if (more == NULL)
		return err_set(w->e, E_SYS, "no memory");
	f->v = more;
	more[f->n] = (struct found){ .path = strdup(path), .entry = entry };
	if (more[f->n].path == NULL)
		return err_set(w->e, E_SYS, "no memory");
	f->n++;
	return 0;
}

/* What cannot be read, or is a directory no more, is passed over. */
static int
look(struct walk *w, const struct place *p)
{
	AUTO_FD int fd = tree_open_dir(w->root, p->path);

	if (fd == -1)
		return 0;
	const char *entry = discover_entry(fd);
	if (entry != NULL)
		return add_find(w, p->path, entry);
	return p->depth < w->depth ? descend(w, &fd, p) : 0;
}

int
discover(int root, unsigned depth, struct finds *finds, struct err *e)
{
	struct walk   w = { .root = root, .depth = depth, .finds = finds, .e = e };
	struct place *p;

	*finds = (struct finds){ 0 };
	STAILQ_INIT(&w.queue);
	int r = queue(&w, "", "", 0);
	while ((p = STAILQ_FIRST(&w.queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&w.queue, next);
		if (r == 0)
			r = look(&w, p);
		free(p);
	}
	if (r == -1)
		finds_clear(finds);
	return r;
}

void
finds_clear(struct finds *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
	*f = (struct finds){ 0 };
}
