#include "filebox.h"

#include "tap.h"

void
filebox_start(struct filebox *b, const char *dir, const char *session, void (*prepare)(void))
{
	char *const argv[] = { "box-files", (char *)dir, (char *)session, "sync", NULL };

	snprintf(b->dir, sizeof(b->dir), "%s", dir);
	workbox_start(&b->work, FROM_FILES, 0, argv, prepare);
}

int
filebox_end(struct filebox *b, bool by_force)
{
	return workbox_end(&b->work, by_force);
}

uint64_t
filebox_send(struct filebox *b, enum msg_type t, const void *body)
{
	return workbox_send(&b->work, t, body);
}

const char *
filebox_take(struct filebox *b, uint64_t id, enum msg_type result)
{
	return workbox_take(&b->work, id, result);
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
		return b->work.why;
	uint64_t              handle = ((const struct msg_file_handle *)b->work.reply.body)->handle;
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
		return b->work.why;
	uint64_t              handle = ((const struct msg_file_handle *)b->work.reply.body)->handle;
	struct msg_file_read  read = { .session = "s", .handle = handle, .size_bytes = sizeof(text) - 1 };
	struct msg_file_close end = { .session = "s", .handle = handle };
	if (*filebox_call(b, MSG_FILE_READ, &read) != '\0')
		return b->work.why;
	blob_read(&((const struct msg_file_data *)b->work.reply.body)->data, &bytes, &e);
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
