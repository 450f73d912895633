#include "feed.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static void
settle(struct feed *f)
{
	buf_clear(&f->bytes);
	f->written = 0;
	if (f->request == 0)
		return;
	f->settled = true;
	f->moved(f);
}

/* SIGPIPE is blocked, as all signals are: a reader that is gone is an error of write. */
static void
push(struct feed *f)
{
	struct err e;

	assert(f->written <= f->bytes.len);
	while (f->written < f->bytes.len) {
		ssize_t n = write(f->source.fd, f->bytes.data + f->written, f->bytes.len - f->written);

		if (n > 0) {
			f->written += (size_t)n;
		} else if (n == -1 && errno == EAGAIN) {
			if (loop_watch(f->loop, &f->source, EPOLLOUT, &e) == -1)
				feed_close(f, "its standard input cannot be watched");
			return;
		} else if (n == -1 && errno != EINTR) {
			feed_close(f, "it does not read its standard input any more");
			return;
		}
	}
	loop_watch(f->loop, &f->source, 0, &e);
	if (f->eof)
		loop_close(f->loop, &f->source);
	settle(f);
}

static void
on_ready(struct source *s, uint32_t events)
{
	push((struct feed *)s); /* its first member */
}

int
feed_open(struct feed *f, struct loop *l, int *theirs, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(e, "a pipe for standard input");
	f->source = (struct source){ .fd = ends[1], .ready = on_ready };
	f->loop = l;
	*theirs = ends[0];
	/* only our end: the command expects the usual blocking kind */
	if (fcntl(ends[1], F_SETFL, O_NONBLOCK) == -1)
		return err_sys(e, "a pipe for standard input");
	return 0;
}

int
feed_push(struct feed *f, uint64_t request, const struct blob *data, bool eof, struct err *e)
{
	if (f->source.fd == -1)
		return err_set(e, E_STATE, "its standard input is closed");
	if (f->request != 0 || f->bytes.len > 0 || f->eof)
		return err_set(e, E_BUSY, "its standard input is being written to");
	assert(f->written == 0);
	if (blob_read(data, &f->bytes, e) == -1) {
		buf_clear(&f->bytes);
		return -1;
	}
	f->taken += f->bytes.len;
	f->eof = eof;
	f->request = request;
	f->settled = false;
	f->why = NULL;
	push(f);
	return 0;
}

void
feed_forget_request(struct feed *f)
{
	f->request = 0;
	f->settled = false;
}

void
feed_close(struct feed *f, const char *why)
{
	bool under_way = f->request != 0 && !f->settled;

	assert(f->written <= f->bytes.len && f->bytes.len - f->written <= f->taken);
	f->taken -= f->bytes.len - f->written;
	loop_close(f->loop, &f->source);
	if (under_way)
		f->why = why;
	if (under_way || f->bytes.len > 0)
		settle(f);
}

void
feed_clear(struct feed *f)
{
	loop_close(f->loop, &f->source);
	buf_clear(&f->bytes);
}
