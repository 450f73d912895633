/*
 * The bytes of one file.  Requests of a session are done in the order they are sent, so
 * several can be on the way, and the end of a file can be asked for before its chunks
 * are answered: a chunk that failed makes the end fail too.
 *
 * An open file is forgotten inside when nobody uses it for a minute.  Our other side may
 * be a pipe that waits longer than that, so now and then nothing is written, or one byte
 * is read, to show that we are there.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "copy/copy.h"
#include "copy/sink.h"

enum {
	FLIGHTS = 6, /* chunks on the way; the daemon stops reading at 4 MiB of answers */
	KEEPALIVE_MS = 20000,
	SILENCES = 16, /* after this many without any answer boxd is stuck */
};

#define SINK_HIGH (4 * MIB) /* bytes that wait for our output: ask for no more */

struct flight {
	uint64_t id; /* 0: free */
	uint64_t offset;
	size_t   size; /* get: asked for; 0: nobody looks at the answer */
};

struct run {
	struct copy  *copy;
	const char   *path;
	uint64_t      handle;
	struct flight flights[FLIGHTS + 2]; /* two more for keeping it alive and for its end */
	size_t        flying;
	unsigned      silences;
	uint64_t      at; /* offset of the next chunk */
	bool          end;
	struct sink   sink; /* get */
	uint64_t      total;
};

/* ---- requests on the way -------------------------------------------------------------- */

static int
fly(struct run *r, enum msg_type t, const void *body, uint64_t offset, size_t size, struct err *e)
{
	struct flight *f = r->flights;

	while (f->id != 0)
		f++;
	if (client_send(r->copy->client, t, body, &f->id, e) == -1) {
		f->id = 0;
		return -1;
	}
	f->offset = offset;
	f->size = size;
	r->flying++;
	return 0;
}

static struct flight *
flight_find(struct run *r, uint64_t id)
{
	for (size_t i = 0; i < FLIGHTS + 2; i++)
		if (r->flights[i].id == id)
			return &r->flights[i];
	return NULL;
}

/* What is behind the end of a file that was cut meanwhile has no bytes, and is not missed. */
static int
on_data(struct run *r, const struct flight *f, const struct msg_file_data *d, struct err *e)
{
	if (d->data.len > f->size)
		return err_set(e, E_PROTO, "%zu bytes came where %zu were asked for", d->data.len, f->size);
	if (r->end && d->data.len > 0)
		return err_set(e, E_STATE, "it changed while it was read");
	if (r->end)
		return 0;
	if (d->data.len < f->size && !d->end)
		return err_set(e, E_PROTO, "fewer bytes came than there are");
	r->end = d->end;
	progress_add(&r->copy->progress, r->path, d->data.len, f->offset + d->data.len, r->total);
	return sink_push(&r->sink, f->offset, &d->data, e);
}

static int
on_reply(struct run *r, struct msg *m, struct err *e)
{
	struct flight *found = m->envelope == ENV_REPLY && m->id != 0 ? flight_find(r, m->id) : NULL;

	if (found == NULL)
		return 0; /* of a transfer that was given up */
	struct flight f = *found;
	found->id = 0;
	r->flying--;
	if (m->failed) {
		*e = m->error;
		return -1;
	}
	if (f.size == 0)
		return 0;
	return msg_expect(m, MSG_FILE_DATA, e) == -1 ? -1 : on_data(r, &f, m->body, e);
}

static int
on_socket(struct run *r, struct err *e)
{
	struct msg m;
	int        got = 0, good = 0;

	if (client_fill(r->copy->client, e) == -1)
		return -1;
	while (good == 0 && (got = client_take(r->copy->client, &m, e)) == 0) {
		r->silences = 0;
		good = on_reply(r, &m, e);
		msg_clear(&m);
	}
	return got == -1 ? -1 : good;
}

static int
keep_alive(struct run *r, enum file_access access, struct err *e)
{
	struct msg_file_write nothing = { .session = r->copy->session, .handle = r->handle, .data = blob_of("", 0) };
	struct msg_file_read  byte = { .session = r->copy->session, .handle = r->handle, .size_bytes = 1 };

	if (++r->silences > SILENCES) {
		r->copy->client->broken = true;
		return err_set(e, E_CRASH, "boxd does not answer");
	}
	if (r->flying > 0)
		return 0;
	return access == FILE_ACCESS_WRITE ? fly(r, MSG_FILE_WRITE, &nothing, 0, 0, e)
					   : fly(r, MSG_FILE_READ, &byte, 0, 0, e);
}

/* Until the daemon, the other side or a signal wants us. */
static int
wait_turn(struct run *r, int fd, short events, enum file_access access, bool *ready, struct err *e)
{
	struct interrupt *in = r->copy->client->interrupt;
	struct pollfd     p[] = {
		    { .fd = in->fd, .events = POLLIN },
		    { .fd = r->copy->client->fd, .events = POLLIN },
		    { .fd = fd, .events = events },
	};
	int n = poll(p, 3, KEEPALIVE_MS);

	*ready = n > 0 && p[2].revents != 0;
	if (n == -1 && errno != EINTR)
		return err_sys(e, "poll");
	if (n == 0)
		return keep_alive(r, access, e);
	interrupt_read(in);
	if (in->count > 0)
		return err_set(e, E_STATE, "interrupted");
	return n > 0 && p[1].revents != 0 ? on_socket(r, e) : 0;
}

/* Nobody waits for the answer: whatever it is, nothing stays of the file. */
static void
give_up(struct run *r)
{
	struct msg_file_close bye = { .session = r->copy->session, .handle = r->handle };
	struct err            e;

	if (r->handle != 0 && !r->copy->client->broken)
		client_send(r->copy->client, MSG_FILE_CLOSE, &bye, NULL, &e);
}

static int
begin(struct run *r, const struct msg_file_open *ask, struct transfer *about, struct err *e)
{
	struct msg reply;

	if (client_call(r->copy->client, MSG_FILE_OPEN, ask, &reply, e) == -1)
		return -1;
	const struct msg_file_handle *h = reply.body;
	r->handle = h->handle;
	if (about != NULL)
		*about = (struct transfer){
			.mode = h->file.mode & 0777U,
			.modified_ms = h->file.modified_ms,
			.size = h->file.size_bytes,
		};
	msg_clear(&reply);
	return 0;
}

/* ---- putting -------------------------------------------------------------------------- */

static int
send_chunk(struct run *r, int fd, char *chunk, struct err *e)
{
	ssize_t n = read(fd, chunk, LIM_FILE_CHUNK);

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n == -1)
		return err_sys(e, "read");
	r->end = n == 0;
	if (r->end)
		return 0;
	struct msg_file_write w = {
		.session = r->copy->session, .handle = r->handle, .offset = r->at, .data = blob_of(chunk, (size_t)n)
	};
	if (fly(r, MSG_FILE_WRITE, &w, r->at, 0, e) == -1)
		return -1;
	r->at += (uint64_t)n;
	progress_add(&r->copy->progress, r->path, (uint64_t)n, r->at, r->total);
	return 0;
}

static int
send_all_chunks(struct run *r, int fd, const struct transfer *about, struct err *e)
{
	struct msg_file_close end = {
		.session = r->copy->session, .commit = true, .modified_ms = about->modified_ms, .handle = r->handle
	};
	char *chunk = malloc(LIM_FILE_CHUNK);
	bool  ready = false;
	int   good = chunk == NULL ? err_set(e, E_SYS, "no memory for a chunk") : 0;

	while (good == 0 && !r->end) {
		good = wait_turn(r, r->flying < FLIGHTS ? fd : -1, POLLIN, FILE_ACCESS_WRITE, &ready, e);
		if (good == 0 && ready)
			good = send_chunk(r, fd, chunk, e);
	}
	free(chunk);
	if (good == 0)
		good = fly(r, MSG_FILE_CLOSE, &end, 0, 0, e);
	while (good == 0 && r->flying > 0)
		good = wait_turn(r, -1, 0, FILE_ACCESS_WRITE, &ready, e);
	return good;
}

int
transfer_put(struct copy *c, int fd, const char *to, const struct transfer *about, struct err *e)
{
	struct run           r = { .copy = c, .path = to, .total = about->size };
	struct msg_file_open ask = {
		.session = c->session, .path = to, .access = FILE_ACCESS_WRITE, .mode = about->mode & 0777U
	};

	if (begin(&r, &ask, NULL, e) == -1)
		return -1;
	if (send_all_chunks(&r, fd, about, e) == -1) {
		give_up(&r);
		return -1;
	}
	c->progress.files++;
	return 0;
}

/* ---- getting -------------------------------------------------------------------------- */

/* As far as the file was when it was opened; behind that one at a time, until its end. */
static int
ask_chunks(struct run *r, struct err *e)
{
	size_t waiting = r->sink.pending.len - r->sink.at;

	while (!r->end && r->flying < FLIGHTS && waiting + r->flying * LIM_FILE_CHUNK < SINK_HIGH + LIM_FILE_CHUNK &&
	       (r->at < r->total || r->flying == 0)) {
		struct msg_file_read ask = {
			.session = r->copy->session, .handle = r->handle, .offset = r->at, .size_bytes = LIM_FILE_CHUNK
		};

		if (fly(r, MSG_FILE_READ, &ask, r->at, LIM_FILE_CHUNK, e) == -1)
			return -1;
		r->at += LIM_FILE_CHUNK;
	}
	return 0;
}

static int
take_all_chunks(struct run *r, struct err *e)
{
	bool ready;

	while (!r->end || r->flying > 0 || sink_waits(&r->sink)) {
		if (ask_chunks(r, e) == -1 ||
		    wait_turn(r, sink_waits(&r->sink) ? r->sink.fd : -1, POLLOUT, FILE_ACCESS_READ, &ready, e) == -1)
			return -1;
		if (ready)
			sink_flush(&r->sink);
		errno = r->sink.failed;
		if (errno != 0)
			return err_sys(e, "write");
	}
	return 0;
}

int
transfer_get(struct copy *c, const char *from, int fd, struct transfer *about, struct err *e)
{
	struct run           r = { .copy = c, .path = from };
	struct msg_file_open ask = { .session = c->session, .path = from, .access = FILE_ACCESS_READ };

	if (begin(&r, &ask, about, e) == -1)
		return -1;
	r.total = about->size;
	sink_init(&r.sink, fd, STREAM_STDOUT, from);
	int good = take_all_chunks(&r, e);
	sink_clear(&r.sink);
	give_up(&r); /* it was only read */
	c->progress.files += good == 0;
	return good;
}
