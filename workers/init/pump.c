/*
 * The pipe's read end is non-blocking and belongs to the loop; each call takes out
 * a bounded slice, so that a command that writes without end cannot keep us from
 * the others.
 *
 * Streamed bytes live in a list of chunks, each as large as one message may
 * carry.  An acknowledgement frees from the front without moving what is behind
 * it, and a quiet stream holds nothing.
 *
 * A ring is the same list: it lets go of its oldest chunk when all behind that is
 * still a ring's worth.  Without a follower it never makes its writer wait; with one
 * it drops nothing the follower has not acknowledged, and what was acknowledged
 * stays to be read again.
 *
 * Bytes that nobody will see are spliced to /dev/null (our own descriptor 1)
 * and never copied to user space.
 */
#include "pump.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"

#define CHUNK LIM_BLOB_INLINE /* a larger payload would cost a memfd per message */
#define FIRST_READ 4096       /* most commands say less than this */
#define SLICE (256 * KIB)     /* taken per turn of the loop */
#define BULK_AFTER (64 * KIB) /* from here on a larger pipe saves wake-ups */
#define BULK_PIPE (256 * KIB)

struct chunk {
	struct chunk *next;
	uint64_t      at; /* offset of its first byte */
	size_t        len;
	char          data[CHUNK];
};

/*
 * Bytes that a stream or a ring may take in now.  What a process left in its pipe at its end
 * is taken into the ring whoever follows: its end must not wait for a reader.
 */
static size_t
room_of(const struct pump *p)
{
	uint64_t waiting = p->end - p->base, most = p->limit;

	assert(p->base <= p->end && p->acked <= p->end);
	if (p->mode == PUMP_RING)
		waiting = p->followed && p->settle == UINT64_MAX ? p->end - p->acked : 0;
	if (p->mode == PUMP_RING && most < p->window) /* a follower may let a whole window come before it says a word */
		most = p->window;
	return waiting < most ? (size_t)(most - waiting) : 0;
}

static void
pump_watch(struct pump *p)
{
	bool       bounded = p->mode == PUMP_STREAM || p->mode == PUMP_RING;
	struct err e;

	if (p->source.fd != -1)
		loop_watch(p->loop, &p->source, bounded && room_of(p) == 0 ? 0 : EPOLLIN, &e);
}

/* ---- taking in: each returns what read() would -------------------------- */

static ssize_t
take_none(struct pump *p)
{
	char    scratch[FIRST_READ];
	ssize_t n = splice(p->source.fd, NULL, STDOUT_FILENO, NULL, SLICE, SPLICE_F_NONBLOCK);

	if (n == -1 && errno == EINVAL) /* 1 is not a file that can be spliced to */
		n = read(p->source.fd, scratch, sizeof(scratch));
	return n;
}

static ssize_t
take_kept(struct pump *p)
{
	size_t want = p->kept.len > FIRST_READ ? p->kept.len : FIRST_READ;
	size_t room = p->limit - p->kept.len;

	assert(p->kept.len <= p->limit);
	if (want > room)
		want = room;
	if (want == 0 || buf_reserve(&p->kept, want) == -1) {
		p->mode = PUMP_DROP; /* clipped, and visibly: total goes on */
		return take_none(p);
	}
	ssize_t n = read(p->source.fd, p->kept.data + p->kept.len, want);
	if (n > 0)
		p->kept.len += (size_t)n;
	return n;
}

static struct chunk *
chunk_pop(struct pump *p)
{
	struct chunk *c = p->first;

	assert(c != NULL && p->last != NULL);
	p->first = c->next;
	if (p->first == NULL) {
		assert(c == p->last);
		p->last = NULL;
	}
	return c;
}

/* The oldest chunk goes; what of it no client had is counted. */
static struct chunk *
chunk_drop(struct pump *p)
{
	struct chunk *c = chunk_pop(p);
	uint64_t      next = c->at + c->len, unread = p->base > p->read ? p->base : p->read;

	if (next > unread)
		p->dropped += next - unread;
	p->base = next;
	return c;
}

/* A ring's oldest chunk serves again as its newest, when it is not needed where it is or there is no other. */
static struct chunk *
chunk_make(struct pump *p)
{
	struct chunk *oldest = p->mode == PUMP_RING ? p->first : NULL, *c = NULL;
	uint64_t      next = oldest != NULL ? oldest->at + oldest->len : 0;

	if (oldest != NULL && p->followed && next >= p->acked)
		oldest = NULL;
	if (oldest == NULL || p->end - next < p->limit)
		c = malloc(sizeof(*c));
	if (c == NULL && oldest != NULL)
		c = chunk_drop(p);
	return c;
}

static struct chunk *
chunk_with_room(struct pump *p)
{
	assert(p->last == NULL || p->last->at + p->last->len == p->end); /* no hole */
	if (p->last != NULL && p->last->len < CHUNK)
		return p->last;
	struct chunk *c = chunk_make(p);
	if (c == NULL)
		return NULL;
	c->next = NULL;
	c->at = p->end;
	c->len = 0;
	if (p->last != NULL)
		p->last->next = c;
	else
		p->first = c;
	p->last = c;
	return c;
}

static ssize_t
take_streamed(struct pump *p)
{
	size_t room = room_of(p);

	if (room == 0) {
		errno = EAGAIN;
		return -1;
	}
	struct chunk *c = chunk_with_room(p);
	if (c == NULL) /* the writer waits, and we ask again: somebody must give memory back */
		return -1;
	if (room > CHUNK - c->len)
		room = CHUNK - c->len;
	ssize_t n = read(p->source.fd, c->data + c->len, room);
	if (n > 0) {
		c->len += (size_t)n;
		p->end += (uint64_t)n;
		assert(c->len <= CHUNK);
	}
	return n;
}

static ssize_t
take(struct pump *p)
{
	switch (p->mode) {
	case PUMP_KEEP:
		return take_kept(p);
	case PUMP_STREAM:
	case PUMP_RING:
		return take_streamed(p);
	case PUMP_DROP:
		break;
	}
	return take_none(p);
}

/* A slice of what is there; closes the pipe at its end. */
static void
pump_run(struct pump *p)
{
	uint64_t before = p->total;
	ssize_t  n = 1;

	while (n > 0 && p->total - before < SLICE) {
		n = take(p);
		if (n > 0)
			p->total += (uint64_t)n;
		else if (n == -1 && errno == EINTR)
			n = 1;
	}
	if (n == 0)
		loop_close(p->loop, &p->source);
	else if (before < BULK_AFTER && p->total >= BULK_AFTER)
		fcntl(p->source.fd, F_SETPIPE_SZ, (int)BULK_PIPE); /* a refusal only costs time */
	pump_watch(p);
}

static void
on_ready(struct source *s, uint32_t events)
{
	struct pump *p = (struct pump *)s; /* its first member */

	pump_run(p);
	p->moved(p);
}

int
pump_open(struct pump *p, struct loop *l, enum pump_mode mode, uint64_t limit, int *theirs, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(e, "a pipe for output");
	p->source = (struct source){ .fd = ends[0], .ready = on_ready };
	p->loop = l;
	p->mode = mode;
	p->ring = mode == PUMP_RING;
	p->limit = limit;
	p->settle = UINT64_MAX;
	*theirs = ends[1];
	/* only our end: the command expects the usual blocking kind */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1)
		return err_sys(e, "a pipe for output");
	return loop_watch(l, &p->source, EPOLLIN, e);
}

/* ---- the end -------------------------------------------------------------- */

void
pump_settle(struct pump *p)
{
	int waiting = 0;

	if (p->source.fd == -1)
		return;
	if (ioctl(p->source.fd, FIONREAD, &waiting) == -1)
		waiting = 0;
	p->settle = p->total + (uint64_t)waiting;
	pump_run(p); /* mostly finds the end right here */
}

bool
pump_settled(const struct pump *p)
{
	return p->source.fd == -1 || p->total >= p->settle;
}

/* What of a ring is held only for a writer that goes on. */
static void
shrink(struct pump *p)
{
	struct chunk *c;

	while (p->ring && p->rest > 0 && !p->followed && (c = p->first) != NULL && p->end - (c->at + c->len) >= p->rest)
		free(chunk_drop(p));
}

void
pump_stop(struct pump *p)
{
	p->mode = PUMP_DROP;
	shrink(p);
	pump_watch(p);
}

/* ---- handing out ------------------------------------------------------------ */

size_t
pump_peek(const struct pump *p, const void **bytes)
{
	const struct chunk *c = p->first;

	if (p->sent == p->end || (p->ring && !p->followed))
		return 0;
	assert(p->base <= p->sent && p->sent < p->end && c != NULL && c->at <= p->sent);
	assert(!p->ring || (p->acked <= p->sent && p->sent - p->acked <= p->window));
	while (p->sent >= c->at + c->len) {
		c = c->next;
		assert(c != NULL);
	}
	size_t skip = (size_t)(p->sent - c->at), n = c->len - skip;
	*bytes = c->data + skip;
	if (p->ring && n > p->window - (p->sent - p->acked))
		n = (size_t)(p->window - (p->sent - p->acked));
	return n;
}

void
pump_advance(struct pump *p, size_t n)
{
	assert(n <= p->end - p->sent);
	p->sent += n;
}

static void
free_before(struct pump *p, uint64_t offset)
{
	while (p->first != NULL && p->first->at + p->first->len <= offset)
		free(chunk_pop(p));
}

void
pump_ack(struct pump *p, uint64_t offset)
{
	if (offset > p->sent) /* nobody can have seen more than that */
		offset = p->sent;
	if (p->ring) {
		p->acked = offset > p->acked ? offset : p->acked;
		pump_watch(p);
		return;
	}
	if (offset <= p->base)
		return;
	p->base = offset;
	free_before(p, offset);
	pump_watch(p);
}

void
pump_rewind(struct pump *p, uint64_t offset)
{
	if (offset > p->end)
		offset = p->end;
	p->sent = offset > p->base ? offset : p->base;
	pump_ack(p, offset);
}

/* ---- rings -------------------------------------------------------------------- */

void
pump_read(struct pump *p, uint64_t offset)
{
	if (offset > p->end)
		offset = p->end;
	if (offset > p->read)
		p->read = offset;
}

void
pump_follow(struct pump *p, uint64_t offset, uint64_t unread, uint64_t window)
{
	if (offset > p->end)
		offset = p->end;
	p->sent = offset > p->base ? offset : p->base;
	if (unread > window)
		unread = window;
	p->acked = unread < p->sent - p->base ? p->sent - unread : p->base;
	p->window = window;
	p->followed = true;
	pump_watch(p);
}

void
pump_unfollow(struct pump *p)
{
	p->followed = false;
	if (p->mode == PUMP_DROP)
		shrink(p);
	pump_watch(p);
}

void
pump_inherit(struct pump *p, struct pump *from)
{
	assert(p->first == NULL && p->end == 0);
	p->first = from->first;
	p->last = from->last;
	p->base = from->base;
	p->sent = from->sent;
	p->end = p->total = from->end;
	p->ring = from->ring;
	p->followed = from->followed;
	p->acked = from->acked;
	p->window = from->window;
	p->read = from->read;
	p->dropped = from->dropped;
	from->first = from->last = NULL;
	from->base = from->sent = from->end;
}

void
pump_say(struct pump *p, const char *text)
{
	struct chunk *c;

	for (size_t left = strlen(text), n; left > 0 && (c = chunk_with_room(p)) != NULL; left -= n, text += n) {
		n = left < CHUNK - c->len ? left : CHUNK - c->len;
		memcpy(c->data + c->len, text, n);
		c->len += n;
		p->end += n;
		p->total += n;
	}
}

void
pump_last(const struct pump *p, size_t n, struct buf *out)
{
	uint64_t from = p->end - p->base > n ? p->end - n : p->base;

	for (const struct chunk *c = p->first; c != NULL; c = c->next) {
		size_t skip = from > c->at ? (size_t)(from - c->at) : 0;

		if (skip < c->len)
			buf_append(out, c->data + skip, c->len - skip);
	}
}

/* ---- letting go ---------------------------------------------------------------- */

void
pump_detach(struct pump *p)
{
	free_before(p, UINT64_MAX);
	assert(p->first == NULL && p->last == NULL);
	p->base = p->sent = p->end;
	pump_stop(p);
}

void
pump_forget(struct pump *p)
{
	buf_clear(&p->kept);
	pump_detach(p);
}

void
pump_clear(struct pump *p)
{
	loop_close(p->loop, &p->source);
	pump_forget(p);
}
