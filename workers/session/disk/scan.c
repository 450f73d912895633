#include "disk/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"

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

int
names_next(struct names *n, struct name *out)
{
	for (;;) {
		if (n->at >= n->have) {
			long got = syscall(SYS_getdents64, n->fd, n->buffer, sizeof(n->buffer));

			if (got <= 0)
				return (int)got;
			n->at = 0;
			n->have = (size_t)got;
		}
		const struct record *r = (const void *)(n->buffer + n->at);
		n->at += r->len;
		if (strcmp(r->name, ".") == 0 || strcmp(r->name, "..") == 0)
			continue;
		*out = (struct name){ r->name, r->type };
		return 1;
	}
}

void
names_close(struct names *n)
{
	fd_close(&n->fd);
}

/* ---- inodes that were counted ----------------------------------------------------- */

enum { PER_PAGE = 4096 / sizeof(struct inode) };

/* Neighbours share a page, so that a small tree touches few of them. */
static size_t
place_of(const struct inodes *s, const struct inode *i)
{
	uint64_t block = (i->ino / PER_PAGE ^ i->dev << 40) * s->seed >> 24;
	size_t   at = (size_t)(block * PER_PAGE + i->ino % PER_PAGE) & (s->size - 1);

	while (s->v[at].ino != 0 && (s->v[at].ino != i->ino || s->v[at].dev != i->dev))
		at = (at + 1) & (s->size - 1);
	return at;
}

/* 1 it is new, 0 it was there, -1 there are too many. */
static int
inodes_add(struct inodes *s, const struct inode *i)
{
	if (s->n * 2 >= s->size)
		return -1;
	size_t at = place_of(s, i);
	if (s->v[at].ino != 0)
		return 0;
	s->v[at] = *i;
	s->n++;
	return 1;
}

static size_t
inodes_size(uint64_t max_entries)
{
	size_t size = 4 * PER_PAGE;

	while (size < 2 * (max_entries + LIM_SCAN_NAMELESS))
		size *= 2;
	return size;
}

/* ---- what counts ---------------------------------------------------------------------- */

static void
end_with(struct scan *s, enum scan_end end, int error)
{
	s->total.end = end;
	s->total.error = error;
}

uint64_t
bytes_of(const struct stat *st)
{
	uint64_t allocated = (uint64_t)st->st_blocks * BLOCK, apparent = (uint64_t)st->st_size;

	return allocated > 0 ? allocated : apparent <= INLINE ? apparent : 0;
}

static bool
has_dev(const struct scan *s, dev_t dev)
{
	for (size_t i = 0; i < s->ndevs; i++)
		if (s->devs[i] == dev)
			return true;
	return false;
}

/* Is it new? */
static bool
count(struct scan *s, const struct inode *i, uint64_t bytes)
{
	int fresh = inodes_add(&s->seen, i);

	if (fresh == -1)
		end_with(s, SCAN_MANY, 0);
	if (fresh == 1)
		s->total.bytes += bytes;
	return fresh == 1;
}

/* From here on, files of this file system that have no name count too. */
static void
meet(struct scan *s, dev_t dev)
{
	if (has_dev(s, dev))
		return;
	if (s->ndevs == sizeof(s->devs) / sizeof(*s->devs))
		end_with(s, SCAN_MANY, 0);
	else
		s->devs[s->ndevs++] = dev;
}

static bool
count_entry(struct scan *s, const struct stat *st)
{
	return count(s, &(struct inode){ st->st_dev, st->st_ino }, bytes_of(st));
}

void
scan_nameless(struct scan *s, const struct nameless *f)
{
	if (has_dev(s, f->dev))
		count(s, &(struct inode){ f->dev, f->ino }, f->bytes);
}

/* ---- the tree ------------------------------------------------------------------------ */

struct walk {
	struct names levels[LIM_SCAN_DEPTH];
	size_t       depth;
};

static int
open_dir(const struct scan *s, int at, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | (s->into_mounts ? 0 : RESOLVE_NO_XDEV),
	};

	return (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
}

static void
enter(struct scan *s, int fd)
{
	if (s->walk->depth == LIM_SCAN_DEPTH) {
		end_with(s, SCAN_DEEP, 0);
		close(fd);
		return;
	}
	names_open(&s->walk->levels[s->walk->depth++], fd);
}

/* Gone, or replaced by something else, since it was listed. */
static bool
has_changed(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

/* What is mounted there is not counted where the sandbox does not see it. */
static void
visit(struct scan *s, int dir, const char *name)
{
	struct stat st;

	if (++s->total.entries > s->max_entries) {
		end_with(s, SCAN_MANY, 0);
		return;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == -1) {
		if (!has_changed(errno))
			end_with(s, SCAN_BROKEN, errno);
		return;
	}
	if (s->into_mounts)
		meet(s, st.st_dev);
	if (!count_entry(s, &st) || !S_ISDIR(st.st_mode))
		return; /* a directory that was counted was looked through: it was moved, or a place is below another */
	int below = open_dir(s, dir, name);
	if (below >= 0)
		enter(s, below);
	else if (!has_changed(errno) && errno != EXDEV)
		end_with(s, SCAN_BROKEN, errno);
}

static void
walk_on(struct scan *s)
{
	struct names *level = &s->walk->levels[s->walk->depth - 1];
	struct name   n;
	int           r = names_next(level, &n);

	if (r == 1) {
		visit(s, level->fd, n.name);
		return;
	}
	if (r == -1 && !has_changed(errno))
		end_with(s, SCAN_BROKEN, errno);
	names_close(level);
	s->walk->depth--;
}

void
scan_place(struct scan *s, int fd)
{
	struct stat st;

	if (s->total.end != SCAN_WHOLE)
		return;
	if (fstat(fd, &st) == -1) {
		end_with(s, SCAN_BROKEN, errno);
		return;
	}
	meet(s, st.st_dev);
	if (!count_entry(s, &st) || !S_ISDIR(st.st_mode))
		return;
	int top = open_dir(s, fd, ".");
	if (top == -1) {
		end_with(s, SCAN_BROKEN, errno);
		return;
	}
	enter(s, top);
	while (s->walk->depth > 0 && s->total.end == SCAN_WHOLE)
		walk_on(s);
	while (s->walk->depth > 0)
		names_close(&s->walk->levels[--s->walk->depth]);
}

/* ---- memory ---------------------------------------------------------------------------- */

static size_t
table_bytes(const struct inodes *s)
{
	return s->size * sizeof(*s->v);
}

size_t
scan_memory(uint64_t max_entries)
{
	return inodes_size(max_entries) * sizeof(struct inode) + sizeof(struct walk);
}

static void *
memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int
scan_init(struct scan *s, uint64_t max_entries, bool into_mounts, struct err *e)
{
	*s = (struct scan){ .max_entries = max_entries, .into_mounts = into_mounts };
	s->seen.size = inodes_size(max_entries);
	s->seen.v = memory(table_bytes(&s->seen));
	s->walk = memory(sizeof(*s->walk));
	if (s->seen.v == NULL || s->walk == NULL)
		return err_sys(e, "memory to measure %lu files", max_entries);
	if (getrandom(&s->seen.seed, sizeof(s->seen.seed), 0) != sizeof(s->seen.seed))
		return err_sys(e, "a random number");
	s->seen.seed |= 1;
	return 0;
}

/* The table is given back to the kernel, which gives empty pages for it. */
void
scan_begin(struct scan *s)
{
	s->total = (struct scan_total){ 0 };
	s->ndevs = 0;
	if (s->seen.n > 0 && madvise(s->seen.v, table_bytes(&s->seen), MADV_DONTNEED) == -1)
		memset(s->seen.v, 0, table_bytes(&s->seen));
	s->seen.n = 0;
}

void
scan_clear(struct scan *s)
{
	if (s->seen.v != NULL)
		munmap(s->seen.v, table_bytes(&s->seen));
	if (s->walk != NULL)
		munmap(s->walk, sizeof(*s->walk));
}
