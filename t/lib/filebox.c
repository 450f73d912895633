#include "filebox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

void
filebox_start(struct filebox *b, const char *dir, const char *session, void (*prepare)(void))
{
	const char *build = getenv("BUILD");
	char        program[PATH_MAX];
	struct err  e;
	int         ends[2];

	*b = (struct filebox){ .next_id = 1 };
	snprintf(b->dir, sizeof(b->dir), "%s", dir);
	snprintf(program, sizeof(program), "%s/box-files", build != NULL ? build : "build");
	if (chan_pair(ends, &e) == -1)
		BAIL_OUT("%s", e.text);
	b->pid = fork();
	if (b->pid == 0) {
		dup2(ends[1], 0);
		if (prepare != NULL)
			prepare();
		execl(program, "box-files", dir, session, "sync", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	b->channel = ends[0];
}

int
filebox_end(struct filebox *b, bool by_force)
{
	int status = -1;

	if (by_force)
		kill(b->pid, SIGKILL);
	close(b->channel);
	msg_clear(&b->reply);
	chan_in_clear(&b->in);
	while (waitpid(b->pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

uint64_t
filebox_send(struct filebox *b, enum msg_type t, const void *body)
{
	struct packet p = { 0 };
	struct err    e;
	int           r = msg_encode(&p, t, b->next_id, 0, body, &e);

	while (r == 0 && (r = chan_send(b->channel, &p, &e)) == 1) {
		poll(&(struct pollfd){ .fd = b->channel, .events = POLLOUT }, 1, -1);
		r = 0;
	}
	if (r == -1)
		BAIL_OUT("send %s: %s", msg_name(t), e.text);
	packet_clear(&p);
	return b->next_id++;
}

const char *
filebox_take(struct filebox *b, uint64_t id, enum msg_type result)
{
	struct err e = { 0 };
	int        r;

	msg_clear(&b->reply);
	while ((r = chan_recv(b->channel, &b->in, &b->reply, FROM_FILES, &e)) == 1)
		poll(&(struct pollfd){ .fd = b->channel, .events = POLLIN }, 1, -1);
	if (r != 0) {
		snprintf(b->why, sizeof(b->why), "gone: %s", e.text);
	} else if (b->reply.envelope != ENV_REPLY || b->reply.id != id) {
		snprintf(b->why, sizeof(b->why), "answer %lu, not %lu", b->reply.id, id);
	} else if (b->reply.failed) {
		snprintf(b->why, sizeof(b->why), "%s: %s", err_wire_name(b->reply.error.code), b->reply.error.text);
	} else if (msg_expect(&b->reply, result, &e) == -1) {
		snprintf(b->why, sizeof(b->why), "bad answer: %s", e.text);
	} else
		b->why[0] = '\0';
	return b->why;
}

const char *
filebox_call(struct filebox *b, enum msg_type t, const void *body)
{
	return filebox_take(b, filebox_send(b, t, body), msg_def(t)->result);
}

const char *
filebox_put(struct filebox *b, const char *path, const char *text)
{
	struct msg_file_open open = { .session = "s", .path = path, .access = FILE_ACCESS_WRITE, .mode = 0644 };

	if (*filebox_call(b, MSG_FILE_OPEN, &open) != '\0')
		return b->why;
	uint64_t              handle = ((const struct msg_file_handle *)b->reply.body)->handle;
	struct msg_file_write write = { .session = "s", .handle = handle, .data = blob_of(text, strlen(text)) };
	struct msg_file_close end = { .session = "s", .handle = handle, .commit = true };
	uint64_t              first = filebox_send(b, MSG_FILE_WRITE, &write);
	uint64_t              second = filebox_send(b, MSG_FILE_CLOSE, &end);
	filebox_take(b, first, MSG_DONE);
	return filebox_take(b, second, MSG_DONE);
}

const char *
filebox_get(struct filebox *b, const char *path)
{
	static char          text[4096];
	struct msg_file_open open = { .session = "s", .path = path, .access = FILE_ACCESS_READ };
	struct buf           bytes = { 0 };
	struct err           e;

	if (*filebox_call(b, MSG_FILE_OPEN, &open) != '\0')
		return b->why;
	uint64_t              handle = ((const struct msg_file_handle *)b->reply.body)->handle;
	struct msg_file_read  read = { .session = "s", .handle = handle, .size_bytes = sizeof(text) - 1 };
	struct msg_file_close end = { .session = "s", .handle = handle };
	if (*filebox_call(b, MSG_FILE_READ, &read) != '\0')
		return b->why;
	blob_read(&((const struct msg_file_data *)b->reply.body)->data, &bytes, &e);
	snprintf(text, sizeof(text), "%.*s", (int)bytes.len, bytes.len > 0 ? bytes.data : "");
	buf_clear(&bytes);
	filebox_call(b, MSG_FILE_CLOSE, &end);
	return text;
}

const char *
filebox_stat(struct filebox *b, const char *path)
{
	return filebox_call(b, MSG_FILE_STAT, &(struct msg_file_stat){ .session = "s", .path = path });
}

const char *
filebox_remove(struct filebox *b, const char *path, bool recursive)
{
	struct msg_file_remove ask = { .session = "s", .path = path, .recursive = recursive };

	return filebox_call(b, MSG_FILE_REMOVE, &ask);
}
