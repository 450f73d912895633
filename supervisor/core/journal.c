/*
 * A record is a header and a message.  Appending never changes earlier records, so only the last one can be torn: it is
 * shorter than its header says.  The length is stored twice, so that a damaged length does not look like a torn record.
 * Any other damage is an error; boxd does not guess.
 */
#include "core/journal.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"

enum {
	SUM = crypto_generichash_BYTES_MIN,
	FEW = 64, /* a journal of no more records is never compacted */
};

struct header {
	uint32_t      len, not_len; /* of the message, and its complement; little endian */
	unsigned char sum[SUM];     /* of the message */
};

enum { HEADER = sizeof(struct header) };

struct journal {
	char   path[PATH_MAX]; /* for messages too */
	int    fd;             /* owned; at the end of what is good */
	off_t  size;
	size_t records;
};

static void
record_checksum(const void *bytes, size_t n, unsigned char sum[SUM])
{
	crypto_generichash(sum, SUM, bytes, n, NULL, 0);
}

/* ---- reading ----------------------------------------------------------------------------- */

static int
read_all(const struct journal *j, struct buf *b, struct err *e)
{
	for (;;) {
		if (buf_reserve(b, 64 * KIB) == -1)
			return err_set(e, E_SYS, "%s: no memory to read it", j->path);
		ssize_t n = read(j->fd, b->data + b->len, 64 * KIB);
		if (n == -1)
			return err_sys(e, "read %s", j->path);
		if (n == 0)
			return 0;
		b->len += (size_t)n;
	}
}

static bool
is_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* The length of the message at p, where n bytes are left; 0: they are a torn record; -1: they are damaged. */
static ssize_t
record_measure(const char *p, size_t n)
{
	struct header h;
	unsigned char sum[SUM];

	if (n < HEADER || is_zero(p, n)) /* a file system may show a size whose bytes never came */
		return 0;
	memcpy(&h, p, sizeof(h));
	if (h.len != ~h.not_len || h.len == 0)
		return -1;
	size_t len = le32toh(h.len);
	if (n - HEADER < len)
		return 0;
	record_checksum(p + HEADER, len, sum);
	if (memcmp(sum, h.sum, SUM) == 0)
		return (ssize_t)len;
	return n - HEADER == len ? 0 : -1;
}

static int
replay_one(const char *p, size_t n, journal_replay_fn *fn, void *arg, struct err *e)
{
	struct msg m;
	int        r = msg_decode(&m, p, n, NULL, 0, FROM_FILE, e);

	if (r == 0)
		r = fn(arg, &m, e);
	msg_clear(&m);
	return r;
}

static int
journal_replay(struct journal *j, const struct buf *b, journal_replay_fn *fn, void *arg, struct err *e)
{
	size_t at = 0;

	while (at < b->len) {
		ssize_t n = record_measure(b->data + at, b->len - at);

		if (n == 0)
			break;
		if (n == -1 || replay_one(b->data + at + HEADER, (size_t)n, fn, arg, e) == -1) {
			if (n == -1)
				err_set(e, E_PROTO, "the record is damaged");
			return err_prefix(e,
			    "%s cannot be read, record %zu at byte %zu (move the file away to start without it)",
			    j->path, j->records + 1, at);
		}
		at += HEADER + (size_t)n;
		j->records++;
	}
	assert(at <= b->len && (at == 0) == (j->records == 0));
	j->size = (off_t)at;
	if (at == b->len)
		return 0;
	log_warn("%s: the last record was not written whole, and is dropped", j->path);
	return ftruncate(j->fd, j->size) == -1 ? err_sys(e, "cut the torn record off %s", j->path) : 0;
}

static int
open_file(const struct journal *j, struct err *e)
{
	int fd = open(j->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd == -1 ? err_sys(e, "open %s", j->path) : fd;
}

struct journal *
journal_open(const char *state, const char *name, journal_replay_fn *fn, void *arg, struct err *e)
{
	struct journal *j = calloc(1, sizeof(*j));
	struct buf      bytes = { 0 };

	if (j == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	j->fd = -1;
	snprintf(j->path, sizeof(j->path), "%.3000s/journal", state);
	if (mkdir(j->path, 0700) == -1 && errno != EEXIST) {
		err_sys(e, "make %s", j->path);
		journal_close(&j);
		return NULL;
	}
	snprintf(j->path, sizeof(j->path), "%.3000s/journal/%s", state, name);
	if ((j->fd = open_file(j, e)) == -1 || read_all(j, &bytes, e) == -1 ||
	    journal_replay(j, &bytes, fn, arg, e) == -1)
		journal_close(&j);
	buf_clear(&bytes);
	return j;
}

void
journal_close(struct journal **jp)
{
	if (*jp != NULL)
		fd_close(&(*jp)->fd);
	free(*jp);
	*jp = NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Whole or not at all: a part that was written is cut off again. */
static int
write_record(struct journal *j, const struct buf *b, struct err *e)
{
	assert(j->fd >= 0 && b->len > HEADER && (j->size == 0) == (j->records == 0));
	ssize_t n = write(j->fd, b->data, b->len);

	if (n == (ssize_t)b->len) {
		j->size += n;
		j->records++;
		return 0;
	}
	if (n != -1)
		errno = ENOSPC;
	err_sys(e, "write to %s", j->path);
	if (ftruncate(j->fd, j->size) == -1)
		log_error("%s: a torn record stays: %s", j->path, strerror(errno));
	return -1;
}

int
journal_append(struct journal *j, enum msg_type t, const void *body, struct err *e)
{
	struct packet p = { .stream = true }; /* a file has no descriptors beside it */
	struct buf    record = { 0 };
	struct header h;
	int           r = msg_encode(&p, t, 0, 0, body, e);

	if (r == 0) {
		h.len = htole32((uint32_t)p.bytes.len);
		h.not_len = ~h.len;
		record_checksum(p.bytes.data, p.bytes.len, h.sum);
		buf_append(&record, &h, sizeof(h));
		buf_append(&record, p.bytes.data, p.bytes.len);
		r = record.failed ? err_set(e, E_SYS, "no memory") : write_record(j, &record, e);
	}
	packet_clear(&p);
	buf_clear(&record);
	return r;
}

bool
journal_is_long(const struct journal *j, size_t live)
{
	return j->records > 2 * live + FEW;
}

/* Its bytes reach the disk before its name does, so that after a power cut the old file or the new one is there. */
static int
put_in_place(const struct journal *fresh, const struct journal *old, struct err *e)
{
	if (fsync(fresh->fd) == -1)
		return err_sys(e, "write %s to the disk", fresh->path);
	if (rename(fresh->path, old->path) == -1)
		return err_sys(e, "move %s into place", fresh->path);
	return 0;
}

int
journal_compact(struct journal *j, journal_write_fn *fn, void *arg, struct err *e)
{
	struct journal fresh = { .fd = -1 };

	if (snprintf(fresh.path, sizeof(fresh.path), "%s.new", j->path) >= (int)sizeof(fresh.path))
		return err_set(e, E_SYS, "%s: its name is too long", j->path);
	unlink(fresh.path); /* of a boxd that did not get to the end of this */
	if ((fresh.fd = open_file(&fresh, e)) == -1)
		return -1;
	if (fn(arg, &fresh, e) == -1 || put_in_place(&fresh, j, e) == -1) {
		unlink(fresh.path);
		fd_close(&fresh.fd);
		return -1;
	}
	assert(fresh.fd >= 0 && fresh.size >= 0);
	fd_close(&j->fd);
	j->fd = fresh.fd;
	j->size = fresh.size;
	j->records = fresh.records;
	return 0;
}
