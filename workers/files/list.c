/*
 * The kernel gives names in no order, and a directory may be large and change under
 * us.  So each page reads it all and keeps the least names behind the one asked
 * for, in a heap whose top is the greatest: memory is bounded by the page,
 * no name comes twice, and one that was there all the time is not missed.
 */
#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

struct heap {
	char  *names[LIM_FILES]; /* owned */
	size_t n;
	bool   dropped; /* there are more than fit */
};

/* By their bytes, which is what strcmp does. */
static bool
is_greater(const struct heap *h, size_t a, size_t b)
{
	return strcmp(h->names[a], h->names[b]) > 0;
}

static void
swap(struct heap *h, size_t a, size_t b)
{
	char *t = h->names[a];

	h->names[a] = h->names[b];
	h->names[b] = t;
}

static void
sift_up(struct heap *h, size_t i)
{
	for (; i > 0 && is_greater(h, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void
sift_down(struct heap *h)
{
	for (size_t i = 0, child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && is_greater(h, child + 1, child))
			child++;
		if (!is_greater(h, child, i))
			return;
		swap(h, i, child);
	}
}

static int
heap_offer(struct heap *h, const char *name)
{
	bool full = h->n == LIM_FILES;

	h->dropped |= full;
	if (full && strcmp(name, h->names[0]) >= 0)
		return 0;
	char *copy = strdup(name);
	if (copy == NULL)
		return -1;
	if (full) {
		free(h->names[0]);
		h->names[0] = copy;
		sift_down(h);
	} else {
		h->names[h->n++] = copy;
		sift_up(h, h->n - 1);
	}
	return 0;
}

static void
heap_clear(struct heap *h)
{
	while (h->n > 0)
		free(h->names[--h->n]);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int
scan(struct heap *h, int dir, const char *after)
{
	AUTO_FD int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR        *d = fd == -1 ? NULL : fdopendir(fd);
	int         r = 0;

	if (d == NULL)
		return -1;
	fd_take(&fd);
	for (;;) {
		errno = 0;
		struct dirent *one = readdir(d);
		if (one == NULL) {
			r = errno != 0 ? -1 : r;
			break;
		}
		if (!is_dots(one->d_name) && strcmp(one->d_name, after) > 0 && heap_offer(h, one->d_name) == -1) {
			r = -1;
			break;
		}
	}
	int code = errno;
	closedir(d);
	errno = code;
	return r;
}

static size_t
weight(const struct entry *en)
{
	return 64 + en->name.len + en->raw_name.len + en->target.len + en->raw_target.len;
}

/* What is gone or closed to us by now is left out. */
static int
fill(struct page *p, struct heap *h, int dir)
{
	size_t i = 0, bytes = 0;

	qsort(h->names, h->n, sizeof(*h->names), compare);
	p->entries = calloc(h->n + 1, sizeof(*p->entries));
	p->infos = calloc(h->n + 1, sizeof(*p->infos));
	if (p->entries == NULL || p->infos == NULL)
		return -1;
	for (; i < h->n && bytes < LIM_FILES_BYTES; i++) {
		struct entry *en = &p->entries[p->n];

		if (entry_look(en, dir, h->names[i], h->names[i]) == -1) {
			entry_clear(en);
			continue;
		}
		bytes += weight(en);
		p->infos[p->n++] = en->info;
	}
	if (i > 0 && (i < h->n || h->dropped) && (p->next = strdup(h->names[i - 1])) == NULL)
		return -1;
	return 0;
}

static int
after_of(const struct blob *b, struct buf *out, struct err *e)
{
	if (b->len > 0 && blob_read(b, out, e) == -1)
		return -1;
	buf_append(out, "", 1);
	if (out->failed)
		return err_set(e, E_SYS, "no memory for a name");
	if (strlen(out->data) + 1 != out->len)
		return err_set(e, E_INVALID, "file_list.after: has a NUL byte in it");
	return 0;
}

int
list_page(const struct box *b, const struct msg_file_list *m, struct page *p, struct err *e)
{
	char        clean[LIM_PATH + 1];
	struct buf  after = { 0 };
	struct heap h = { 0 };
	AUTO_FD int dir = -1;

	*p = (struct page){ 0 };
	int r = path_clean(b->path, m->path, clean, e);
	if (r == 0 && (dir = path_open_dir(b->root, clean, e)) == -1)
		r = -1;
	if (r == 0)
		r = after_of(&m->after, &after, e);
	if (r == 0 && (scan(&h, dir, after.data) == -1 || fill(p, &h, dir) == -1))
		r = fail_errno(e, dir, "list", clean);
	heap_clear(&h);
	buf_clear(&after);
	return r;
}

void
page_clear(struct page *p)
{
	while (p->n > 0)
		entry_clear(&p->entries[--p->n]);
	free(p->entries);
	free(p->infos);
	free(p->next);
	*p = (struct page){ 0 };
}
