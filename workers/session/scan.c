#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bounds.h"
#include "fd.h"

enum { BLOCK = 512, INLINE = 4096 }; /* st_blocks counts in these; no inode holds more than that itself */

/* ---- names in a directory ------------------------------------------------------- */

/* The kernel's record; libc's readdir would allocate, and 256 levels of it at that. */
struct record {
	uint64_t       ino;
	int64_t        off;
	unsigned short len;
	unsigned char  type;
	char           name[];
};

void
names_open(struct names *n, int fd)
{
	n->fd = fd;
	n->at = n->have = 0;
}

bool
names_next(struct names *n, struct name *out)
{
	for (;;) {
		if (n->at >= n->have) {
			long got = syscall(SYS_getdents64, n->fd, n->buffer, sizeof(n->buffer));

			if (got <= 0)
				return false;
			n->at = 0;
			n->have = (size_t)got;
		}
		const struct record *r = (const void *)(n->buffer + n->at);
		n->at += r->len;
		if (strcmp(r->name, ".") == 0 || strcmp(r->name, "..") == 0)
			continue;
		*out = (struct name){ r->name, r->type };
		return true;
	}
}

void
names_close(struct names *n)
{
	fd_close(&n->fd);
}

/* ---- inodes that were counted ----------------------------------------------------- */

static size_t
place_of(const struct inodes *s, const struct inode *i)
{
	size_t at = (size_t)((i->ino ^ i->dev << 20) * 0x9E3779B97F4A7C15UL >> 32) & (s->size - 1);

	while (s->v[at].ino != 0 && (s->v[at].ino != i->ino || s->v[at].dev != i->dev))
		at = (at + 1) & (s->size - 1);
	return at;
}

static int
inodes_grow(struct inodes *s)
{
	struct inodes larger = { .size = s->size == 0 ? 1024 : s->size * 2, .n = s->n };

	larger.v = calloc(larger.size, sizeof(*larger.v));
	if (larger.v == NULL)
		return -1;
	for (size_t i = 0; i < s->size; i++)
		if (s->v[i].ino != 0)
			larger.v[place_of(&larger, &s->v[i])] = s->v[i];
	free(s->v);
	*s = larger;
	return 0;
}

/* 1 it is new, 0 it was there, -1 without memory. */
static int
inodes_add(struct inodes *s, const struct inode *i)
{
	if (s->n * 2 >= s->size && inodes_grow(s) == -1)
		return -1;
	size_t at = place_of(s, i);
	if (s->v[at].ino != 0)
		return 0;
	s->v[at] = *i;
	s->n++;
	return 1;
}

int
scan_count(struct scan *s, const struct stat *st)
{
	uint64_t allocated = (uint64_t)st->st_blocks * BLOCK, apparent = (uint64_t)st->st_size;
	int      fresh = inodes_add(&s->seen, &(struct inode){ st->st_dev, st->st_ino });

	if (fresh == 1)
		s->total.bytes += allocated > 0 ? allocated : apparent <= INLINE ? apparent : 0;
	return fresh == -1 ? -1 : 0;
}

/* ---- the tree ------------------------------------------------------------------------ */

static int
open_dir(int at, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

static void
end_with(struct scan *s, enum scan_end end, int error)
{
	s->total.end = end;
	s->total.error = error;
}

struct walk {
	struct names *levels[LIM_SCAN_DEPTH]; /* owned; kept from one use to the next */
	size_t        depth;
};

static void
enter(struct scan *s, struct walk *w, int fd)
{
	if (w->depth == LIM_SCAN_DEPTH) {
		end_with(s, SCAN_DEEP, 0);
		close(fd);
		return;
	}
	if (w->levels[w->depth] == NULL && (w->levels[w->depth] = malloc(sizeof(struct names))) == NULL) {
		end_with(s, SCAN_BROKEN, ENOMEM);
		close(fd);
		return;
	}
	names_open(w->levels[w->depth++], fd);
}

/* What is gone since it was listed, or is another mount, is not counted. */
static void
visit(struct scan *s, struct walk *w, int dir, const struct name *n)
{
	struct stat st;

	if (++s->total.entries > s->max_entries) {
		end_with(s, SCAN_MANY, 0);
		return;
	}
	if (fstatat(dir, n->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == -1)
		return;
	if (scan_count(s, &st) == -1) {
		end_with(s, SCAN_BROKEN, ENOMEM);
		return;
	}
	if (!S_ISDIR(st.st_mode))
		return;
	int below = open_dir(dir, n->name);
	if (below >= 0)
		enter(s, w, below);
	else if (errno != ENOENT && errno != EXDEV && errno != ENOTDIR && errno != ELOOP)
		end_with(s, SCAN_BROKEN, errno);
}

void
scan_tree(struct scan *s, int dir)
{
	struct walk w = { 0 };
	struct stat st;
	struct name n;
	int         top = open_dir(dir, ".");

	if (top == -1 || fstat(top, &st) == -1) {
		end_with(s, SCAN_BROKEN, errno);
		fd_close(&top);
		return;
	}
	s->dev = st.st_dev;
	enter(s, &w, top);
	while (w.depth > 0 && s->total.end == SCAN_WHOLE) {
		struct names *level = w.levels[w.depth - 1];

		if (names_next(level, &n))
			visit(s, &w, level->fd, &n);
		else
			names_close(w.levels[--w.depth]);
	}
	while (w.depth > 0)
		names_close(w.levels[--w.depth]);
	for (size_t i = 0; i < LIM_SCAN_DEPTH; i++)
		free(w.levels[i]);
}

void
scan_begin(struct scan *s, uint64_t max_entries)
{
	*s = (struct scan){ .max_entries = max_entries };
}

void
scan_end(struct scan *s)
{
	free(s->seen.v);
	s->seen = (struct inodes){ 0 };
}
