#include "copy/sink.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that polls writable has room for PIPE_BUF bytes, 4096 on Linux. */
enum { PIPE_ROOM = 4096, FILE_CHUNK = 1 << 20 };

void
sink_init(struct sink *s, int fd, enum stream stream, const char *name)
{
	struct stat st;

	*s = (struct sink){ .fd = fd, .stream = stream, .name = name, .chunk = PIPE_ROOM };
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		s->chunk = FILE_CHUNK;
}

void
sink_clear(struct sink *s)
{
	buf_clear(&s->pending);
}

int
sink_push(struct sink *s, uint64_t offset, const struct blob *b, struct err *e)
{
	if (offset > s->got)
		return err_set(
		    e, E_PROTO, "%s: output was lost: %lu bytes at offset %lu", s->name, offset - s->got, s->got);
	if (offset < s->got)
		return err_set(e, E_PROTO, "%s: output at offset %lu came twice", s->name, offset);
	s->got += b->len;
	if (s->failed != 0)
		return 0;
	buf_append(&s->pending, b->data, b->len);
	if (s->pending.failed)
		return err_set(e, E_SYS, "%s: no memory for the output", s->name);
	return 0;
}

bool
sink_waits(const struct sink *s)
{
	return s->at < s->pending.len;
}

/* Moving bytes only when half are gone keeps it linear however long the stream. */
static void
sink_advance(struct sink *s, size_t n)
{
	s->at += n;
	if (s->at < s->pending.len - s->at)
		return;
	buf_drop(&s->pending, s->at);
	s->at = 0;
}

void
sink_flush(struct sink *s)
{
	size_t  left = s->pending.len - s->at;
	ssize_t n = write(s->fd, s->pending.data + s->at, left < s->chunk ? left : s->chunk);

	if (n >= 0)
		sink_advance(s, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR) {
		s->failed = errno;
		s->pending.len = s->at = 0;
	}
}

uint64_t
sink_written(const struct sink *s)
{
	return s->got - (s->pending.len - s->at);
}
