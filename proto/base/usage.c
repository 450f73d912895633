#include "base/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/fd.h"

enum {
	BLOCK = 512,      /* st_blocks counts in these */
	LOOK_EVERY = 128, /* entries between two looks at the clock */
	LINKS = 1 << 17,  /* files with several names that can be told apart: 2 MiB, touched as they are needed */
};

/* ---- files with several names ------------------------------------------------------- */

struct inode {
	dev_t dev;
	ino_t ino; /* 0: free */
};

struct usage_links {
	struct inode v[LINKS]; /* first, on whole pages: they can be given back */
	size_t       n;
	uint64_t     seed; /* odd and secret, so that nobody can choose inodes that collide */
};

static void
links_clear(struct usage_links *l)
{
	if (l->n > 0 && madvise(l->v, sizeof(l->v), MADV_DONTNEED) == -1)
		memset(l->v, 0, sizeof(l->v));
	l->n = 0;
}

/* 1 it is new, 0 it was there, -1 there is no room to tell. */
static int
links_add(struct usage_links *l, const struct stat *st)
{
	size_t at = (size_t)((st->st_ino ^ st->st_dev << 40) * l->seed >> 40) % LINKS;

	if (l->n >= LINKS / 4 * 3)
		return -1;
	while (l->v[at].ino != 0) {
		if (l->v[at].ino == st->st_ino && l->v[at].dev == st->st_dev)
			return 0;
		at = (at + 1) % LINKS;
	}
	l->v[at] = (struct inode){ st->st_dev, st->st_ino };
	l->n++;
	return 1;
}

/* ---- the tree ----------------------------------------------------------------------- */

struct level {
	int    fd; /* owned */
	size_t at, have;
	char   buffer[4096] __attribute__((aligned(8)));
};

/* On which mount a directory is. */
struct place {
	uint64_t mount; /* 0: this kernel does not tell */
	uint64_t dev;
};

struct usage_walk {
	size_t             depth;
	struct place       place; /* of the tree */
	const char *const *skip;
	struct level       levels[LIM_SCAN_DEPTH];
};

/* The next name but "." and ".."; NULL at the end, with errno 0, or -- when it cannot be read -- another. */
static const char *
level_next(struct level *l)
{
	for (;;) {
		if (l->at >= l->have) {
			ssize_t got = getdents64(l->fd, l->buffer, sizeof(l->buffer));

			if (got <= 0) {
				errno = got == 0 ? 0 : errno;
				return NULL;
			}
			l->at = 0;
			l->have = (size_t)got;
		}
		const struct dirent64 *d = (const void *)(l->buffer + l->at);
		l->at += d->d_reclen;
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return d->d_name;
	}
}

static int
place_of(int fd, struct place *p)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &sx) == -1)
		return -1;
	p->mount = sx.stx_mask & STATX_MNT_ID ? sx.stx_mnt_id : 0;
	p->dev = (uint64_t)sx.stx_dev_major << 32 | sx.stx_dev_minor;
	return 0;
}

/* Gone, or replaced by something else, since its name was read. */
static bool
has_changed(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static void
note_error(struct usage_tally *t)
{
	if (!has_changed(errno))
		t->errors++;
}

static void
end_early(struct usage *u, struct usage_tally *t)
{
	u->over = true;
	t->cut = true;
	t->errors++;
}

/* One entry more; false when there may be no more of them. */
static bool
take_entry(struct usage *u, struct usage_tally *t)
{
	if (u->over)
		return false;
	if (u->entries_left-- == 0 || (u->entries_left % LOOK_EVERY == 0 && span_us() > u->until_us)) {
		end_early(u, t);
		return false;
	}
	return true;
}

static void
add_allocated(struct usage *u, const struct stat *st, struct usage_tally *t)
{
	int fresh = u->links == NULL || S_ISDIR(st->st_mode) || st->st_nlink < 2 ? 1 : links_add(u->links, st);

	if (fresh == -1 && !t->cut) {
		t->cut = true; /* some may be counted twice */
		t->errors++;
	}
	if (fresh != 0)
		t->bytes += (uint64_t)st->st_blocks * BLOCK;
	t->files += S_ISREG(st->st_mode);
}

static void
add(struct usage *u, const struct stat *st, struct usage_tally *t)
{
	if (u->of == USAGE_ALLOCATED) {
		add_allocated(u, st, t);
	} else if (!S_ISDIR(st->st_mode)) {
		t->bytes += st->st_size > 0 ? (uint64_t)st->st_size : 0;
		t->files++;
	}
}

/* The first directory says where the tree is; what is mounted below that is not part of it. */
static void
enter(struct usage *u, int dir, const char *name, struct usage_tally *t)
{
	struct usage_walk *w = u->walk;
	struct place       p;

	if (w->depth == LIM_SCAN_DEPTH) {
		t->cut = true;
		t->errors++;
		return;
	}
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1 || place_of(fd, &p) == -1) {
		note_error(t);
		return;
	}
	if (w->depth == 0)
		w->place = p;
	if (p.mount != w->place.mount || p.dev != w->place.dev)
		return;
	struct level *l = &w->levels[w->depth++];
	l->fd = fd_take(&fd);
	l->at = l->have = 0;
}

static bool
is_skipped(const struct usage_walk *w, const char *name)
{
	if (w->depth != 1 || w->skip == NULL)
		return false;
	for (const char *const *s = w->skip; *s != NULL; s++)
		if (strcmp(*s, name) == 0)
			return true;
	return false;
}

static void
visit(struct usage *u, int dir, const char *name, struct usage_tally *t)
{
	struct stat st;

	if (is_skipped(u->walk, name) || !take_entry(u, t))
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == -1) {
		note_error(t);
		return;
	}
	add(u, &st, t);
	if (S_ISDIR(st.st_mode))
		enter(u, dir, name, t);
}

static void
walk_on(struct usage *u, struct usage_tally *t)
{
	struct level *l = &u->walk->levels[u->walk->depth - 1];
	const char   *name = level_next(l);

	if (name != NULL) {
		visit(u, l->fd, name, t);
		return;
	}
	if (errno != 0)
		note_error(t);
	fd_close(&l->fd);
	u->walk->depth--;
}

static void
walk(struct usage *u, struct usage_tally *t)
{
	while (u->walk->depth > 0 && !u->over)
		walk_on(u, t);
	while (u->walk->depth > 0)
		fd_close(&u->walk->levels[--u->walk->depth].fd);
}

void
usage_count(struct usage *u, int dir, const char *name, const char *const *skip, struct usage_tally *t)
{
	struct stat st;

	*t = (struct usage_tally){ 0 };
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == -1) {
		note_error(t);
		return;
	}
	t->exists = true;
	if (u->over) { /* what came before took it all */
		end_early(u, t);
		return;
	}
	if (u->links != NULL)
		links_clear(u->links);
	add(u, &st, t);
	u->walk->skip = skip;
	if (S_ISDIR(st.st_mode))
		enter(u, dir, name, t);
	walk(u, t);
	if (u->of == USAGE_ALLOCATED)
		t->bytes = (t->bytes + KIB - 1) / KIB * KIB;
}

/* ---- memory ------------------------------------------------------------------------- */

static void *
memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int
usage_open(struct usage *u, enum usage_of of, uint64_t entries, uint64_t most_ms, struct err *e)
{
	*u = (struct usage){ .of = of, .entries_left = entries, .until_us = span_us() + most_ms * 1000 };
	u->walk = memory(sizeof(*u->walk));
	if (of == USAGE_ALLOCATED)
		u->links = memory(sizeof(*u->links));
	if (u->walk == NULL || (of == USAGE_ALLOCATED && u->links == NULL)) {
		err_sys(e, "memory to count files");
		usage_close(u);
		return -1;
	}
	if (u->links == NULL)
		return 0;
	if (getrandom(&u->links->seed, sizeof(u->links->seed), 0) != sizeof(u->links->seed)) {
		err_sys(e, "a random number");
		usage_close(u);
		return -1;
	}
	u->links->seed |= 1;
	return 0;
}

void
usage_close(struct usage *u)
{
	if (u->walk != NULL)
		munmap(u->walk, sizeof(*u->walk));
	if (u->links != NULL)
		munmap(u->links, sizeof(*u->links));
	u->walk = NULL;
	u->links = NULL;
}
