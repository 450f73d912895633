#include "core/request.h"

#include <assert.h>
#include <stdlib.h>

#include "base/fd.h"
#include "core/ask.h"
#include "core/hash.h"
#include "core/reply.h"

/* ---- the index ------------------------------------------------------------------------- */

enum { BUCKETS = 4096 };

LIST_HEAD(request_bucket, request);

struct request_index {
	struct request_bucket by_id[BUCKETS]; /* of those whose client waits */
	struct request_bucket
	    by_conn[BUCKETS]; /* the same but boxd's own; connections count up, so they spread evenly */
	struct request_bucket by_exec[BUCKETS]; /* of those that are passed on; these ids count up, too */
	struct hash_key       key;              /* clients choose ids, but not which of them collide */
};

struct request_index *
request_index_open(struct err *e)
{
	struct request_index *i = calloc(1, sizeof(*i));

	if (i == NULL)
		err_set(e, E_SYS, "no memory for requests");
	else
		hash_key_make(&i->key);
	return i;
}

void
request_index_close(struct request_index **ip)
{
	for (size_t b = 0; *ip != NULL && b < BUCKETS; b++) /* all sessions are gone, and their requests */
		assert(
		    LIST_EMPTY(&(*ip)->by_id[b]) && LIST_EMPTY(&(*ip)->by_conn[b]) && LIST_EMPTY(&(*ip)->by_exec[b]));
	free(*ip);
	*ip = NULL;
}

static const struct request_bucket *
bucket_of_id(const struct request_index *i, uint64_t conn, uint64_t id)
{
	const uint64_t both[] = { conn, id };

	return &i->by_id[hash_of(&i->key, both, sizeof(both)) % BUCKETS];
}

static bool
is_clients(const struct request *r)
{
	return r->conn != 0 && r->conn != CONN_OWN;
}

static void
index_enter(struct request_index *i, struct request *r)
{
	if (r->conn != 0)
		LIST_INSERT_HEAD((struct request_bucket *)bucket_of_id(i, r->conn, r->id), r, same_id);
	if (is_clients(r))
		LIST_INSERT_HEAD(&i->by_conn[r->conn % BUCKETS], r, same_conn);
	if (r->exec != 0)
		LIST_INSERT_HEAD(&i->by_exec[r->exec % BUCKETS], r, same_exec);
}

static void
index_leave_client(struct request *r)
{
	if (r->conn != 0)
		LIST_REMOVE(r, same_id);
	if (is_clients(r))
		LIST_REMOVE(r, same_conn);
}

struct request *
request_index_find(const struct request_index *i, uint64_t conn, uint64_t id)
{
	struct request *r;

	LIST_FOREACH (r, bucket_of_id(i, conn, id), same_id)
		if (r->conn == conn && r->id == id)
			return r;
	return NULL;
}

struct request *
request_index_of_conn(const struct request_index *i, uint64_t conn)
{
	struct request *r;

	for (size_t b = conn % BUCKETS; b < (conn == 0 ? BUCKETS : conn % BUCKETS + 1); b++)
		LIST_FOREACH (r, &i->by_conn[b], same_conn)
			if (conn == 0 || r->conn == conn)
				return r;
	return NULL;
}

/* ---- one of them ------------------------------------------------------------------------ */

void
requests_init(struct requests *all, struct request_index *index, struct session *s)
{
	*all = (struct requests){ .index = index, .session = s };
	TAILQ_INIT(&all->list);
}

static bool
is_forwarded(const struct request *r)
{
	return r->exec != 0 && r->type != MSG_EXEC && r->type != MSG_NONE;
}

static enum request_kind
kind_of(const struct request *r)
{
	return r->type == MSG_EXEC            ? A_COMMAND
	       : !is_forwarded(r)             ? NOT_FORWARDED
	       : r->type == MSG_FILE_USAGE    ? A_COUNT
	       : r->type == MSG_PAUSE         ? A_PAUSE
	       : r->type == MSG_PROCESS_START ? A_START
					      : ANOTHER_FORWARDED;
}

static void
count_add(const struct request *r)
{
	r->of->count[kind_of(r)]++;
}

static void
count_remove(const struct request *r)
{
	assert(r->of->count[kind_of(r)] > 0);
	r->of->count[kind_of(r)]--;
}

struct request *
request_add(struct requests *all, const struct msg *m, uint64_t exec)
{
	struct request *r = calloc(1, sizeof(*r));

	assert(exec == 0 || request_by_exec(all, exec) == NULL);
	if (r == NULL)
		return NULL;
	r->of = all;
	r->type = m->type;
	r->conn = m->conn;
	r->id = m->id;
	r->exec = exec;
	r->ns = -1;
	TAILQ_INSERT_TAIL(&all->list, r, next);
	index_enter(all->index, r);
	count_add(r);
	return r;
}

struct request *
request_add_orphan(struct requests *all, uint64_t exec)
{
	return request_add(all, &(struct msg){ .type = MSG_EXEC }, exec);
}

struct request *
request_find(const struct requests *all, uint64_t conn, uint64_t id)
{
	struct request *r = request_index_find(all->index, conn, id);

	return r == NULL || r->of != all ? NULL : r;
}

/* A worker may name only requests of its session. */
struct request *
request_by_exec(const struct requests *all, uint64_t exec)
{
	struct request *r;

	LIST_FOREACH (r, &all->index->by_exec[exec % BUCKETS], same_exec)
		if (r->exec == exec && r->of == all)
			return r;
	return NULL;
}

void
request_forget_client(struct request *r)
{
	assert(r->of != NULL);
	index_leave_client(r);
	r->conn = 0;
}

void
request_park(struct request *r)
{
	assert(r->type == MSG_EXEC && r->held.bytes.len > 0); /* its reply */
	count_remove(r);
	r->type = MSG_NONE;
	count_add(r);
}

struct request *
request_take(struct request *r)
{
	assert(r->of != NULL); /* it was not taken before */
	index_leave_client(r);
	if (r->exec != 0)
		LIST_REMOVE(r, same_exec);
	count_remove(r);
	TAILQ_REMOVE(&r->of->list, r, next);
	r->of = NULL;
	return r;
}

void
request_drop(struct request *r)
{
	if (r->of != NULL)
		request_take(r);
	packet_clear(&r->held);
	packet_clear(&r->sent);
	free(r->attachment);
	artifact_release(&r->artifacts);
	fd_close(&r->ns);
	free(r);
}

/* ---- how many --------------------------------------------------------------------------- */

size_t
requests_count(const struct requests *all, enum request_kind k)
{
	assert(k < REQUEST_KINDS);
	return all->count[k];
}

bool
request_is_use(const struct request *r)
{
	return r->type != MSG_FILE_USAGE;
}

bool
requests_use(const struct requests *all)
{
	return all->count[A_COMMAND] + requests_forwarded(all) + all->count[NOT_FORWARDED] > all->count[A_COUNT];
}

size_t
requests_forwarded(const struct requests *all)
{
	return all->count[A_COUNT] + all->count[A_PAUSE] + all->count[A_START] + all->count[ANOTHER_FORWARDED];
}

size_t
requests_starting(const struct requests *all)
{
	struct request *r;
	size_t          n = 0;

	TAILQ_FOREACH (r, &all->list, next)
		n += r->type == MSG_PROCESS_START && r->held.bytes.len == 0;
	return n;
}

/* ---- their ends ------------------------------------------------------------------------- */

/*
 * The function that gets the answer to one of boxd's own requests may ask the same session again: so the request leaves
 * the list first.
 */
void
request_reply(struct request *r, struct boxd *h, enum msg_type result, const void *body)
{
	uint64_t conn = r->conn, id = r->id;

	request_drop(r);
	reply_send(h, result, conn, id, body);
}

void
request_fail(struct request *r, struct boxd *h, const struct err *why)
{
	uint64_t conn = r->conn, id = r->id;

	request_drop(r);
	reply_fail(h, conn, id, why);
}

/* The oldest of a list, out of it; NULL: it is empty. */
static struct request *
next_of(struct request_list *taken)
{
	struct request *r = TAILQ_FIRST(taken);

	if (r != NULL)
		TAILQ_REMOVE(taken, r, next);
	return r;
}

enum which { ALL, OF_TYPE, FORWARDED, SENT };

static bool
is_wanted(const struct request *r, enum which w, enum msg_type t)
{
	switch (w) {
	case OF_TYPE:
		return r->type == t;
	case FORWARDED:
		return is_forwarded(r);
	case SENT:
		return is_forwarded(r) && r->held.bytes.len == 0 && r->attachment == NULL;
	case ALL:
		break;
	}
	return true;
}

static void
requests_take(struct requests *all, enum which w, enum msg_type t, struct request_list *taken)
{
	struct request *r = TAILQ_FIRST(&all->list), *next;

	TAILQ_INIT(taken);
	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (is_wanted(r, w, t)) {
			request_take(r);
			TAILQ_INSERT_TAIL(taken, r, next);
		}
	}
}

void
requests_take_all(struct requests *all, struct request_list *taken)
{
	requests_take(all, ALL, MSG_NONE, taken);
}

void
requests_reply_all(struct requests *all, enum msg_type t, struct boxd *h, enum msg_type result, const void *body)
{
	struct request_list taken;
	struct request     *r;

	requests_take(all, OF_TYPE, t, &taken);
	while ((r = next_of(&taken)) != NULL)
		request_reply(r, h, result, body);
}

static void
requests_fail(struct requests *all, enum which w, enum msg_type t, struct boxd *h, const struct err *why)
{
	struct request_list taken;
	struct request     *r;

	requests_take(all, w, t, &taken);
	while ((r = next_of(&taken)) != NULL)
		request_fail(r, h, why);
}

void
requests_fail_all(struct requests *all, enum msg_type t, struct boxd *h, const struct err *why)
{
	requests_fail(all, OF_TYPE, t, h, why);
}

void
requests_fail_forwarded(struct requests *all, struct boxd *h, const struct err *why)
{
	requests_fail(all, FORWARDED, MSG_NONE, h, why);
}

void
requests_fail_sent(struct requests *all, struct boxd *h, const struct err *why)
{
	requests_fail(all, SENT, MSG_NONE, h, why);
}

void
requests_drop_deaf(struct requests *all)
{
	struct request *r = TAILQ_FIRST(&all->list), *next;

	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->attachment != NULL && r->conn == 0)
			request_drop(r);
	}
}
