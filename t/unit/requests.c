/* A request is found by what its client and its worker call it, and the counts are those of a walk over all. */
#include <sodium.h>

#include "supervisor/core/ask.h"
#include "supervisor/core/request.h"
#include "tap.h"

static struct request_index *index_of_all;
static struct requests       one, other;
static char                  sessions[2]; /* only where they are matters */

static struct request *
add(struct requests *to, enum msg_type t, uint64_t conn, uint64_t id, uint64_t exec)
{
	struct request *r = request_add(to, &(struct msg){ .type = t, .conn = conn, .id = id }, exec);

	must(r != NULL, "no memory");
	return r;
}

TEST(is_found)
{
	struct request *a = add(&one, MSG_EXEC, 7, 1, 100), *b = add(&other, MSG_EXEC, 7, 2, 101);
	struct request *c = add(&other, MSG_EXEC, 8, 1, 102), *orphan = request_add_orphan(&one, 103);

	ok(request_index_find(index_of_all, 7, 1) == a && request_index_find(index_of_all, 7, 2) == b, "by its id");
	ok(request_index_find(index_of_all, 8, 1) == c, "of its connection");
	ok(request_index_find(index_of_all, 8, 2) == NULL && request_index_find(index_of_all, 0, 0) == NULL,
	    "no other");
	ok(b->of->session == (struct session *)&sessions[1], "and whose it is");
	ok(request_find(&one, 7, 1) == a && request_find(&other, 7, 1) == NULL, "in its session, and in no other");
	ok(request_by_exec(&one, 100) == a && request_by_exec(&one, 103) == orphan, "by what its worker calls it");
	ok(request_by_exec(&one, 101) == NULL, "but no worker names another session's");
	ok(request_by_exec(&one, 0) == NULL, "and what is not passed on has no such name");
	request_forget_client(a);
	ok(request_index_find(index_of_all, 7, 1) == NULL && request_by_exec(&one, 100) == a,
	    "without a client only its worker knows it");
	request_take(b);
	ok(request_index_find(index_of_all, 7, 2) == NULL && request_by_exec(&other, 101) == NULL,
	    "one that was taken out nobody");
	request_drop(b);
	request_drop(a);
	request_drop(c);
	request_drop(orphan);
	ok(TAILQ_EMPTY(&one.list) && TAILQ_EMPTY(&other.list), "all are gone");
}

TEST(of_a_connection)
{
	struct request *a = add(&one, MSG_EXEC, 7, 1, 100), *b = add(&other, MSG_CREATE, 7, 2, 0);
	struct request *far = add(&one, MSG_EXEC, 7 + 4096, 1, 101), *own = add(&one, MSG_EXEC, CONN_OWN, 1, 102);
	size_t          n = 0;

	for (struct request *r; n < 10 && (r = request_index_of_conn(index_of_all, 7)) != NULL; n++) {
		ok(r == a || r == b, "one of the connection's");
		request_forget_client(r);
	}
	cmp_ok(n, "==", 2, "both, whatever session they are in");
	ok(request_index_of_conn(index_of_all, 0) == far, "of any client");
	request_drop(far);
	ok(request_index_of_conn(index_of_all, 0) == NULL, "boxd's own are no client's");
	ok(request_index_find(index_of_all, CONN_OWN, 1) == own, "but are found");
	request_drop(own);
	request_drop(a);
	request_drop(b);
}

TEST(counts)
{
	struct request     *start, *usage;
	struct request_list left;

	ok(!requests_use(&one), "nothing is no use");
	usage = add(&one, MSG_FILE_USAGE, CONN_OWN, 1, 1);
	ok(!requests_use(&one) && requests_count(&one, A_COUNT) == 1 && requests_forwarded(&one) == 1,
	    "to be counted is no use of a session");
	add(&one, MSG_DELETE, 3, 2, 0);
	ok(requests_use(&one) && requests_forwarded(&one) == 1, "to be deleted is, and is not passed on");
	add(&one, MSG_EXEC, 3, 3, 2);
	add(&one, MSG_PAUSE, 3, 4, 3);
	add(&one, MSG_FILE_READ, 3, 5, 4);
	start = add(&one, MSG_PROCESS_START, 3, 6, 5);
	ok(requests_count(&one, A_COMMAND) == 1 && requests_count(&one, A_PAUSE) == 1 &&
		requests_count(&one, A_START) == 1 && requests_forwarded(&one) == 4,
	    "each is counted as what it is");
	cmp_ok(requests_starting(&one), "==", 1, "a start that was sent");
	buf_append(&start->held.bytes, "x", 1);
	cmp_ok(requests_starting(&one), "==", 0, "and one that is held");
	buf_append(&request_by_exec(&one, 2)->held.bytes, "reply", 5);
	request_park(request_by_exec(&one, 2));
	ok(requests_count(&one, A_COMMAND) == 0 && requests_count(&one, NOT_FORWARDED) == 2 &&
		requests_forwarded(&one) == 4 && request_by_exec(&one, 2) != NULL,
	    "a parked one is a command no more");
	request_drop(usage);
	ok(requests_count(&one, A_COUNT) == 0 && requests_forwarded(&one) == 3, "a dropped one is not counted");
	requests_take_all(&one, &left);
	size_t n = 0;
	for (int k = 0; k < REQUEST_KINDS; k++)
		n += requests_count(&one, (enum request_kind)k);
	ok(n == 0 && TAILQ_EMPTY(&one.list) && TAILQ_FIRST(&left)->type == MSG_DELETE, "all at once, in their order");
	while (!TAILQ_EMPTY(&left)) {
		struct request *r = TAILQ_FIRST(&left);

		TAILQ_REMOVE(&left, r, next);
		request_drop(r);
	}
}

/* As many as would make a bad hash slow, and each of them is there. */
TEST(many)
{
	size_t good = 0;

	for (uint64_t i = 0; i < 20000; i++)
		add(i % 2 == 0 ? &one : &other, MSG_EXEC, i % 100 + 1, i, i + 1);
	for (uint64_t i = 0; i < 20000; i++) {
		struct request *r = request_index_find(index_of_all, i % 100 + 1, i);

		good += r != NULL && r->exec == i + 1 && r == request_by_exec(i % 2 == 0 ? &one : &other, i + 1);
	}
	cmp_ok(good, "==", 20000, "each of many");
	while (!TAILQ_EMPTY(&one.list))
		request_drop(TAILQ_FIRST(&one.list));
	while (!TAILQ_EMPTY(&other.list))
		request_drop(TAILQ_FIRST(&other.list));
	ok(request_index_of_conn(index_of_all, 0) == NULL, "nothing is left in the index");
}

int
main(void)
{
	struct err e;

	must(sodium_init() != -1 && (index_of_all = request_index_open(&e)) != NULL, "no index");
	requests_init(&one, index_of_all, (struct session *)&sessions[0]);
	requests_init(&other, index_of_all, (struct session *)&sessions[1]);
	run_tests();
	request_index_close(&index_of_all);
	done_testing();
}
