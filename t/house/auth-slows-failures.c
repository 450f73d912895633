/* Who fails waits, longer each time, and nobody else does.  What is compared is the order of answers, not times. */
#include "authbox.h"
#include "tap.h"

static uint64_t
knock(uint64_t conn, const char *token)
{
	struct msg_http_auth auth;

	msg_defaults(MSG_HTTP_AUTH, &auth);
	auth.use = HTTP_USE_RPC;
	auth.token = token;
	auth.instance = "inst-1";
	return say_request(conn, MSG_HTTP_AUTH, &auth);
}

/* The id of the next reply. */
static uint64_t
next_reply(bool *failed)
{
	struct msg m;
	uint64_t   id;

	do {
		hear(&m);
		id = m.envelope == ENV_REPLY ? m.id : 0;
		*failed = m.failed;
		msg_clear(&m);
	} while (id == 0);
	return id;
}

TEST(failures_wait)
{
	bool     failed;
	uint64_t bad = knock(by_http(), "wrong"), good = knock(by_http(), TEST_TOKEN);

	cmp_ok(next_reply(&failed), "==", good, "a good token that comes later is answered first");
	ok(!failed, "and let in, though its address has just failed");
	cmp_ok(next_reply(&failed), "==", bad, "then the bad one");
	ok(failed, "and refused");
}

/* Each waits twice as long as the one before: a second that comes at once is answered after the first. */
TEST(longer_each_time)
{
	bool     failed;
	uint64_t first = knock(by_http(), "wrong"), second = knock(by_http(), "wrong"),
		 third = knock(by_http(), "wrong");

	cmp_ok(next_reply(&failed), "==", first, "the first failure is answered");
	cmp_ok(next_reply(&failed), "==", second, "then the second");
	cmp_ok(next_reply(&failed), "==", third, "then the third");
}

TEST(who_leaves_is_forgotten)
{
	bool     failed;
	uint64_t conn = by_http();

	knock(conn, "wrong");
	say_gone(conn);
	uint64_t good = knock(by_http(), TEST_TOKEN);
	cmp_ok(next_reply(&failed), "==", good, "one that leaves while it waits is no burden");
	conn = by_http();
	knock(conn, "wrong");
	struct msg_http_auth again;
	msg_defaults(MSG_HTTP_AUTH, &again);
	uint64_t twice = say_request(conn, MSG_HTTP_AUTH, &again);
	cmp_ok(next_reply(&failed), "==", twice, "one that asks again while it waits");
	ok(failed, "is refused");
}

/* However many of one address wait, the next one does too: none is answered before a good token that comes last. */
TEST(none_is_answered_early)
{
	enum { MANY = 40 };
	uint64_t before = status_number("http_refused");
	bool     failed;

	for (int i = 0; i < MANY; i++)
		knock(by_http(), "wrong");
	uint64_t good = knock(by_http(), TEST_TOKEN);
	cmp_ok(next_reply(&failed), "==", good, "of many guesses none is answered before the good token behind them");
	cmp_ok(status_number("http_refused") - before, "==", MANY, "all are counted");
	cmp_ok(log_lines("refused reason"), "<=", 10, "the log has not a line for each");
}

int
main(int argc, char **argv)
{
	authbox_main(argv);
	authbox_open("");
	run_tests();
	authbox_close();
	done_testing();
}
