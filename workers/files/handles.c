/*
 * Only a regular file is ever opened: it is looked at through an O_PATH descriptor,
 * which opens nothing, and then that very file is opened through /proc, so no
 * device, FIFO or socket can take its place in between.
 *
 * A client may send many chunks and the end without waiting for an answer, so a
 * chunk that could not be written is remembered: such a file is not committed.
 */
#include "handles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

struct handle {
	uint64_t         id; /* 0: free */
	enum file_access access;
	int              reading; /* owned; -1 when writing */
	struct newfile   writing; /* .fd -1 when reading */
	char            *path;    /* owned; clean */
	struct err       broken;  /* E_NONE, or why it cannot be committed */
	int64_t          used_ms;
};

struct handles {
	const struct box *box;
	uint64_t          next;
	struct handle     v[LIM_FILE_HANDLES];
	char             *chunk; /* owned; LIM_FILE_CHUNK long, while something is open */
};

static int64_t
clock_ms(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct handles *
handles_open(const struct box *b)
{
	struct handles *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->box = b;
	h->next = (uint64_t)clock_ms(CLOCK_REALTIME) * 1000;
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		h->v[i] = (struct handle){ .reading = -1, .writing = { .fd = -1, .dir = -1 } };
	return h;
}

static void
forget(struct handle *x)
{
	newfile_drop(&x->writing);
	fd_close(&x->reading);
	free(x->path);
	*x = (struct handle){ .reading = -1, .writing = { .fd = -1, .dir = -1 } };
}

void
handles_close(struct handles **hp)
{
	struct handles *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		forget(&h->v[i]);
	free(h->chunk);
	free(h);
}

static struct handle *
handle_find(struct handles *h, uint64_t id, struct err *e)
{
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		if (id != 0 && h->v[i].id == id) {
			h->v[i].used_ms = clock_ms(CLOCK_MONOTONIC);
			return &h->v[i];
		}
	err_set(e, E_NOTFOUND, "handle %lu is not open; the transfer must be started again", id);
	return NULL;
}

static struct handle *
find_for(struct handles *h, uint64_t id, enum file_access access, struct err *e)
{
	struct handle *x = handle_find(h, id, e);

	if (x == NULL || x->access == access)
		return x;
	err_set(e, E_STATE, "handle %lu is open for %s", id, access == FILE_ACCESS_READ ? "writing" : "reading");
	return NULL;
}

/* ---- opening ------------------------------------------------------------------------- */

static int
refuse_kind(mode_t mode, const char *clean, struct err *e)
{
	const char *path = log_escape(clean, strlen(clean));

	if (S_ISLNK(mode))
		return err_set(e, E_INVALID, "%s is a symlink; symlinks are not followed", path);
	if (S_ISDIR(mode))
		return err_set(e, E_INVALID, "%s is a directory", path);
	return err_set(e, E_INVALID, "%s is a %s, not a file", path,
	    S_ISFIFO(mode)   ? "FIFO"
	    : S_ISSOCK(mode) ? "socket"
			     : "device");
}

/* O_NONBLOCK: who holds a lease on it could keep us waiting. */
static int
open_regular(int dir, const char *last, const char *clean, struct err *e)
{
	AUTO_FD int at = openat(dir, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char        self[32];

	if (at == -1 || fstat(at, &st) == -1)
		return fail_errno(e, dir, "open", clean);
	if (!S_ISREG(st.st_mode))
		return refuse_kind(st.st_mode, clean, e);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	int fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd == -1 ? fail_errno(e, dir, "open", clean) : fd;
}

static int
begin_reading(struct handle *x, int dir, const char *last, const char *name, struct entry *en, struct err *e)
{
	if ((x->reading = open_regular(dir, last, x->path, e)) == -1)
		return -1;
	return entry_look(en, x->reading, "", name) == -1 ? fail_errno(e, dir, "look at", x->path) : 0;
}

/* What is no file is not replaced by one unasked; should it come later, it is replaced and not written to. */
static int
begin_writing(struct handles *h, struct handle *x, int *dir, const char *last, mode_t mode, struct err *e)
{
	struct stat st;

	if (fstatat(*dir, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return refuse_kind(st.st_mode, x->path, e);
	if (newfile_open(&x->writing, *dir, h->box->root, h->box->stem, mode) == -1)
		return fail_errno(e, *dir, "write", x->path);
	fd_take(dir);
	return 0;
}

static struct handle *
free_handle(struct handles *h, struct err *e)
{
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		if (h->v[i].id == 0)
			return &h->v[i];
	err_set(e, E_CAPACITY, "%d files of the session are open already; close one", LIM_FILE_HANDLES);
	return NULL;
}

int
handles_begin(struct handles *h, const struct msg_file_open *m, uint64_t *handle, struct entry *en, struct err *e)
{
	char           clean[LIM_PATH + 1];
	const char    *last;
	struct handle *x = free_handle(h, e);

	*en = (struct entry){ 0 };
	msg_defaults(MSG_FILE_INFO, &en->info);
	if (x == NULL || path_clean(h->box->path, m->path, clean, e) == -1)
		return -1;
	AUTO_FD int dir = path_open_parent(h->box->root, clean, &last, e);
	if (dir == -1)
		return -1;
	if (h->chunk == NULL && (h->chunk = malloc(LIM_FILE_CHUNK)) == NULL)
		return err_set(e, E_SYS, "no memory for a chunk");
	if ((x->path = strdup(clean)) == NULL)
		return err_set(e, E_SYS, "no memory for a path");
	x->access = m->access;
	int r = m->access == FILE_ACCESS_READ ? begin_reading(x, dir, last, m->path, en, e)
					      : begin_writing(h, x, &dir, last, (mode_t)m->mode, e);
	if (r == -1) {
		forget(x);
		return -1;
	}
	*handle = x->id = h->next++;
	x->used_ms = clock_ms(CLOCK_MONOTONIC);
	return 0;
}

/* ---- bytes --------------------------------------------------------------------------- */

static ssize_t
read_all(int fd, char *to, size_t n, off_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(fd, to + done, n - done, at + (off_t)done);

		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int
handles_read(struct handles *h, const struct msg_file_read *m, struct msg_file_data *out, struct err *e)
{
	struct handle *x = find_for(h, m->handle, FILE_ACCESS_READ, e);
	struct stat    st;

	if (x == NULL)
		return -1;
	if (m->offset > INT64_MAX - m->size_bytes)
		return err_set(e, E_INVALID, "file_read.offset: %lu is behind the end of any file", m->offset);
	ssize_t n = read_all(x->reading, h->chunk, m->size_bytes, (off_t)m->offset);
	if (n == -1 || fstat(x->reading, &st) == -1)
		return fail_errno(e, x->reading, "read", x->path);
	out->data = blob_of(h->chunk, (size_t)n);
	out->end = (size_t)n < m->size_bytes || m->offset + (uint64_t)n >= (uint64_t)st.st_size;
	return 0;
}

static int
write_all(int fd, const char *from, size_t n, off_t at)
{
	while (n > 0) {
		ssize_t done = pwrite(fd, from, n, at);

		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1)
			return -1;
		from += done;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Beside the message they are in a sealed file, which is mapped and not copied. */
static int
write_blob(int fd, const struct blob *b, off_t at)
{
	if (b->data != NULL || b->len == 0)
		return write_all(fd, b->data, b->len, at);
	size_t whole = b->offset + b->len;
	char  *map = mmap(NULL, whole, PROT_READ, MAP_SHARED, b->fd, 0);
	if (map == MAP_FAILED)
		return -1;
	int r = write_all(fd, map + b->offset, b->len, at), code = errno;
	munmap(map, whole);
	errno = code;
	return r;
}

int
handles_write(struct handles *h, const struct msg_file_write *m, struct err *e)
{
	struct handle *x = find_for(h, m->handle, FILE_ACCESS_WRITE, e);

	if (x == NULL)
		return -1;
	if (x->broken.code == E_NONE && m->offset > INT64_MAX - m->data.len)
		err_set(&x->broken, E_INVALID, "file_write.offset: %lu is behind the end of any file", m->offset);
	else if (x->broken.code == E_NONE && write_blob(x->writing.fd, &m->data, (off_t)m->offset) == -1)
		fail_errno(&x->broken, x->writing.fd, "write", x->path);
	*e = x->broken;
	return x->broken.code == E_NONE ? 0 : -1;
}

/* ---- the end ------------------------------------------------------------------------- */

static int
commit(struct handles *h, struct handle *x, uint64_t modified_ms, struct err *e)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = (time_t)(modified_ms / 1000), .tv_nsec = (long)(modified_ms % 1000) * 1000000 },
	};
	const char *slash = strrchr(x->path, '/');

	if (x->broken.code != E_NONE) {
		*e = x->broken;
		return -1;
	}
	/* a time out of the file system's range is cut by it, which is as near as can be */
	if (modified_ms != 0 && futimens(x->writing.fd, times) == -1)
		return fail_errno(e, x->writing.fd, "set the time of", x->path);
	/* bytes before the name: a power cut must not leave the name with half of them */
	if (h->box->sync && fsync(x->writing.fd) == -1)
		return fail_errno(e, x->writing.fd, "write", x->path);
	int fs = fcntl(x->writing.dir, F_DUPFD_CLOEXEC, 0);
	int r = newfile_commit(&x->writing, slash != NULL ? slash + 1 : x->path);
	if (r == -1)
		fail_errno(e, fs, "write", x->path);
	fd_close(&fs);
	return r;
}

static void
rest(struct handles *h)
{
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		if (h->v[i].id != 0)
			return;
	free(h->chunk);
	h->chunk = NULL;
}

int
handles_end(struct handles *h, const struct msg_file_close *m, struct err *e)
{
	struct handle *x = m->commit ? find_for(h, m->handle, FILE_ACCESS_WRITE, e) : handle_find(h, m->handle, e);

	if (x == NULL)
		return -1;
	int r = m->commit ? commit(h, x, m->modified_ms, e) : 0;
	forget(x);
	rest(h);
	return r;
}

int
handles_expire(struct handles *h)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC), next = -1;

	for (size_t i = 0; i < LIM_FILE_HANDLES; i++) {
		struct handle *x = &h->v[i];
		int64_t        left = x->used_ms + LIM_FILE_HANDLE_SEC * 1000L - now;

		if (x->id != 0 && left <= 0)
			forget(x);
		else if (x->id != 0 && (next == -1 || left < next))
			next = left;
	}
	rest(h);
	return (int)next;
}
