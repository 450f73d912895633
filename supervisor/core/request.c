#include "core/request.h"

#include <stdlib.h>

#include "base/fd.h"
#include "core/reply.h"

struct request *
request_add(struct requests *all, const struct msg *m)
{
	struct request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->type = m->type;
	r->conn = m->conn;
	r->id = m->id;
	r->ns = -1;
	r->scanner = (struct scanner_fds){ -1, -1, -1 };
	TAILQ_INSERT_TAIL(all, r, next);
	return r;
}

struct request *
request_add_orphan(struct requests *all, uint64_t exec)
{
	struct request *r = request_add(all, &(struct msg){ .type = MSG_EXEC });

	if (r != NULL)
		r->exec = exec;
	return r;
}

struct request *
request_find(const struct requests *all, uint64_t conn, uint64_t id)
{
	struct request *r;

	TAILQ_FOREACH (r, all, next)
		if (conn != 0 && r->conn == conn && r->id == id)
			return r;
	return NULL;
}

struct request *
request_by_exec(const struct requests *all, uint64_t exec)
{
	struct request *r;

	TAILQ_FOREACH (r, all, next)
		if (r->exec != 0 && r->exec == exec)
			return r;
	return NULL;
}

size_t
requests_count(const struct requests *all, enum msg_type t)
{
	struct request *r;
	size_t          n = 0;

	TAILQ_FOREACH (r, all, next)
		n += r->type == t;
	return n;
}

bool
request_is_use(const struct request *r)
{
	return r->type != MSG_FILE_USAGE;
}

bool
requests_use(const struct requests *all)
{
	struct request *r;

	TAILQ_FOREACH (r, all, next)
		if (request_is_use(r))
			return true;
	return false;
}

size_t
requests_sent(const struct requests *all, enum msg_type t)
{
	struct request *r;
	size_t          n = 0;

	TAILQ_FOREACH (r, all, next)
		n += r->type == t && r->held.bytes.len == 0;
	return n;
}

static bool
is_forwarded(const struct request *r)
{
	return r->exec != 0 && r->type != MSG_EXEC && r->type != MSG_NONE;
}

size_t
requests_forwarded(const struct requests *all)
{
	struct request *r;
	size_t          n = 0;

	TAILQ_FOREACH (r, all, next)
		n += is_forwarded(r);
	return n;
}

void
request_drop(struct requests *all, struct request *r)
{
	TAILQ_REMOVE(all, r, next);
	packet_clear(&r->held);
	packet_clear(&r->sent);
	free(r->attachment);
	artifact_release(&r->artifacts);
	fd_close(&r->ns);
	scanner_fds_close(&r->scanner);
	free(r);
}

/*
 * Answers to boxd's own requests are acted upon at once, also by asking the same session again: so what is answered
 * has left its list before.
 */
void
request_reply(struct requests *all, struct request *r, struct boxd *h, enum msg_type result, const void *body)
{
	uint64_t conn = r->conn, id = r->id;

	request_drop(all, r);
	reply_send(h, result, conn, id, body);
}

void
request_fail(struct requests *all, struct request *r, struct boxd *h, const struct err *why)
{
	uint64_t conn = r->conn, id = r->id;

	request_drop(all, r);
	reply_fail(h, conn, id, why);
}

static void
move(struct requests *from, struct request *r, struct requests *to)
{
	TAILQ_REMOVE(from, r, next);
	TAILQ_INSERT_TAIL(to, r, next);
}

static void
take_all(struct requests *all, enum msg_type t, struct requests *taken)
{
	struct request *r = TAILQ_FIRST(all), *next;

	TAILQ_INIT(taken);
	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->type == t)
			move(all, r, taken);
	}
}

void
requests_reply_all(struct requests *all, enum msg_type t, struct boxd *h, enum msg_type result, const void *body)
{
	struct requests taken;

	take_all(all, t, &taken);
	while (!TAILQ_EMPTY(&taken))
		request_reply(&taken, TAILQ_FIRST(&taken), h, result, body);
}

static void
fail_taken(struct requests *taken, struct boxd *h, const struct err *why)
{
	while (!TAILQ_EMPTY(taken))
		request_fail(taken, TAILQ_FIRST(taken), h, why);
}

void
requests_fail_all(struct requests *all, enum msg_type t, struct boxd *h, const struct err *why)
{
	struct requests taken;

	take_all(all, t, &taken);
	fail_taken(&taken, h, why);
}

void
requests_drop_deaf(struct requests *all)
{
	struct request *r = TAILQ_FIRST(all), *next;

	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->attachment != NULL && r->conn == 0)
			request_drop(all, r);
	}
}

static void
fail_forwarded(struct requests *all, bool held_too, struct boxd *h, const struct err *why)
{
	struct requests taken = TAILQ_HEAD_INITIALIZER(taken);
	struct request *r = TAILQ_FIRST(all), *next;

	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (is_forwarded(r) && (held_too || (r->held.bytes.len == 0 && r->attachment == NULL)))
			move(all, r, &taken);
	}
	fail_taken(&taken, h, why);
}

void
requests_fail_forwarded(struct requests *all, struct boxd *h, const struct err *why)
{
	fail_forwarded(all, true, h, why);
}

void
requests_fail_sent(struct requests *all, struct boxd *h, const struct err *why)
{
	fail_forwarded(all, false, h, why);
}

struct request *
request_take(struct requests *all, struct request *r)
{
	TAILQ_REMOVE(all, r, next);
	return r;
}
