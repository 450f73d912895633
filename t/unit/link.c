/*
 * Links on a loop: order both ways with a reader that is slower than the writer,
 * a queue that ends, an owner that closes at any moment, a peer that misbehaves.
 */
#include "base/fd.h"
#include "check.h"
#include "tap.h"
#include "wire/link.h"

enum { MANY = 10000 };

/* One end and what was seen of it. */
struct side {
	struct link *link;
	uint64_t     next; /* the number the next message should have */
	int          got, out_of_order, gone;
	struct err   why;
	struct err   failure; /* of the last reply that failed */
	uint64_t     failed_id, failed_conn;
	void (*then)(struct side *); /* after each message */
	ev_timer timer;
	int      closes_at; /* message after which the link is closed; 0: none */
};

static struct ev_loop *loop;
static struct err      e;

static void
on_msg(void *arg, struct msg *m)
{
	struct side *s = arg;

	if (m->envelope == ENV_REPLY && m->failed) {
		s->failure = m->error;
		s->failed_id = m->id;
		s->failed_conn = m->conn;
	}
	if (m->type == MSG_DETACH && ((const struct msg_detach *)m->body)->call != s->next++)
		s->out_of_order++;
	s->got++;
	if (s->then != NULL)
		s->then(s);
}

static void
on_gone(void *arg, const struct err *why)
{
	struct side *s = arg;

	s->gone++;
	s->why = *why;
	if (s->closes_at == -1)
		link_close(&s->link);
}

static const struct link_ops ops = { .on_msg = on_msg, .on_gone = on_gone };

static struct link *
open_link(int fd, unsigned from, struct side *s)
{
	struct link *l = link_open(loop, fd, from, &ops, s, &e);

	must(l != NULL, "%s", e.text);
	return l;
}

static void
connect_sides(struct side *a, struct side *b)
{
	int ends[2];

	must(chan_pair(ends, &e) != -1, "%s", e.text);
	*a = *b = (struct side){ 0 };
	a->link = open_link(ends[0], FROM_WORKER, a);
	b->link = open_link(ends[1], FROM_SUPERVISOR, b);
}

/* One side is a link, the other the bare descriptor. */
static int
connect_bare(struct side *a)
{
	int ends[2];

	must(chan_pair(ends, &e) != -1, "%s", e.text);
	*a = (struct side){ 0 };
	a->link = open_link(ends[0], FROM_WORKER, a);
	return ends[1];
}

static int
send_number(struct side *s, uint64_t n)
{
	return link_send(s->link, MSG_DETACH, 0, 0, &(struct msg_detach){ .call = n }, &e);
}

static void
too_late(struct ev_loop *l, ev_timer *w, int revents)
{
	ev_break(l, EVBREAK_ALL);
}

/* Runs the loop until the condition holds, a minute at most. */
#define RUN_UNTIL(cond)                                    \
	do {                                               \
		ev_timer late;                             \
		ev_timer_init(&late, too_late, 60.0, 0.0); \
		ev_timer_start(loop, &late);               \
		while (!(cond) && ev_is_active(&late))     \
			ev_run(loop, EVRUN_ONCE);          \
		ev_timer_stop(loop, &late);                \
	} while (0)

/* Everything that is ready now. */
static void
run_ready(void)
{
	for (int i = 0; i < 50; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

/* ---- order ---- */

static void
wake(struct ev_loop *l, ev_timer *w, int revents)
{
	link_resume(((struct side *)w->data)->link);
}

/* Reads a hundred, rests a millisecond. */
static void
rest(struct side *s)
{
	if (s->got % 100 != 0)
		return;
	link_pause(s->link);
	ev_timer_init(&s->timer, wake, 0.001, 0.0);
	s->timer.data = s;
	ev_timer_start(loop, &s->timer);
}

TEST(order)
{
	struct side a, b;

	connect_sides(&a, &b);
	b.then = rest;
	for (uint64_t i = 0; i < MANY; i++)
		if (send_number(&a, i) == -1 || send_number(&b, i) == -1)
			BAIL_OUT("%s", e.text);
	cmp_ok(link_queued(a.link), ">", 0, "a slow reader lets the queue grow");
	RUN_UNTIL(a.got == MANY && b.got == MANY);
	cmp_ok(a.got, "==", MANY, "every message arrives one way");
	cmp_ok(b.got, "==", MANY, "and at the slow reader");
	cmp_ok(a.out_of_order + b.out_of_order, "==", 0, "in order");
	cmp_ok(link_queued(a.link) + link_queued(b.link), "==", 0, "the queues are empty again");
	ev_timer_stop(loop, &b.timer);
	link_close(&a.link);
	link_close(&b.link);
	ok(a.link == NULL, "closing clears the owner's pointer");
	link_close(&a.link);
	pass("and can be repeated");
}

/* The socket has room again before the loop has noticed: a new message must not overtake the queue. */
TEST(no_overtaking)
{
	struct side    a;
	struct chan_in in = { 0 };
	struct msg     m;
	int            fd = connect_bare(&a);
	uint64_t       sent = 0, got = 0, wrong = 0;

	while (link_queued(a.link) < 10)
		send_number(&a, sent++);
	while (chan_recv(fd, &in, &m, FROM_SUPERVISOR, &e) == 0) {
		wrong += ((const struct msg_detach *)m.body)->call != got++;
		msg_clear(&m);
	}
	send_number(&a, sent++);
	cmp_ok(link_queued(a.link), "==", 11, "a message behind a queue waits its turn");
	run_ready();
	while (chan_recv(fd, &in, &m, FROM_SUPERVISOR, &e) == 0) {
		wrong += ((const struct msg_detach *)m.body)->call != got++;
		msg_clear(&m);
	}
	ok(got == sent && wrong == 0, "all arrive in order");
	chan_in_clear(&in);
	link_close(&a.link);
	close(fd);
}

/* Large and small ones, in packets, files and beside: still one order. */
TEST(mixed_sizes)
{
	struct side       a, b;
	char             *bytes = calloc(1, 200 * KIB);
	struct msg_spawn  s;
	struct msg_output o;

	connect_sides(&a, &b);
	msg_defaults(MSG_OUTPUT, &o);
	msg_defaults(MSG_SPAWN, &s);
	memset(bytes, 'x', 200 * KIB - 1);
	s.workdir = "/";
	s.argv = (struct strs){ 1, (const char *[]){ bytes, NULL } };
	o.data = blob_of(bytes, 200 * KIB);
	int sent = 0;
	for (uint64_t i = 0; i < 300; i++) {
		sent += send_number(&b, i) == 0;
		sent += link_send(b.link, MSG_OUTPUT, 0, 0, &o, &e) == 0;
		sent += link_send(b.link, MSG_SPAWN, 0, 0, &s, &e) == 0;
	}
	cmp_ok(sent, "==", 900, "payloads and long messages between numbers are sent");
	RUN_UNTIL(a.got == sent || a.gone);
	cmp_ok(a.got, "==", sent, "and arrive");
	cmp_ok(a.out_of_order, "==", 0, "in order");
	link_close(&a.link);
	link_close(&b.link);
	free(bytes);
}

TEST(replies)
{
	struct side a, b;
	struct err  why;

	connect_sides(&a, &b);
	err_set(&why, E_CONFLICT, "because");
	cmp_ok(link_reply(b.link, MSG_DONE, 3, 9, &(struct msg_done){}, &e), "==", 0, "a reply is sent");
	cmp_ok(link_fail(b.link, 4, 9, &why, &e), "==", 0, "a failure too");
	RUN_UNTIL(a.got == 2);
	cmp_ok(a.got, "==", 2, "both arrive");
	link_close(&a.link);
	link_close(&b.link);
}

/* ---- the queue ends ---- */

TEST(bounded)
{
	struct side a, b;
	uint64_t    sent = 0;

	connect_sides(&a, &b);
	link_pause(b.link);
	while (sent < 10 * LIM_LINK_QUEUE && send_number(&a, sent) == 0)
		sent++;
	cmp_ok(link_queued(a.link), "==", LIM_LINK_QUEUE, "the queue of a peer that does not read ends at its limit");
	cmp_ok(e.code, "==", E_BUSY, "as busy");
	cmp_ok(send_number(&a, sent), "==", -1, "and stays so");
	cmp_ok(a.gone, "==", 0, "the link lives");
	link_resume(b.link);
	RUN_UNTIL((uint64_t)b.got == sent);
	cmp_ok(b.got, "==", sent, "when it reads on, it gets all that were taken");
	cmp_ok(b.out_of_order, "==", 0, "in order");
	cmp_ok(send_number(&a, sent), "==", 0, "and more can be sent");
	link_close(&a.link);
	link_close(&b.link);
}

TEST(refused_by_encoder)
{
	struct side a, b;
	char       *big = calloc(1, LIM_MESSAGE + 2);
	int         before = open_fds();

	connect_sides(&a, &b);
	struct msg_spawn s;
	msg_defaults(MSG_SPAWN, &s);
	s.workdir = "/";
	s.stdin = 0;
	s.argv = (struct strs){ 1, (const char *[]){ memset(big, 'x', LIM_MESSAGE + 1), NULL } };
	cmp_ok(link_send(a.link, MSG_SPAWN, 1, 0, &s, &e), "==", -1, "what cannot be encoded is not sent");
	cmp_ok(link_queued(a.link), "==", 0, "nor queued");
	link_close(&a.link);
	link_close(&b.link);
	cmp_ok(open_fds(), "==", before, "its descriptors are not kept");
	free(big);
}

/* Descriptors wait in the queue as well. */
TEST(closed_with_queue)
{
	struct side a, b;
	int         before = open_fds();

	connect_sides(&a, &b);
	link_pause(b.link);
	for (int i = 0; i < 300; i++)
		link_send(a.link, MSG_CONN_OPEN, 0, 0, &(struct msg_conn_open){ .peer = 0 }, &e);
	cmp_ok(link_queued(a.link), ">", 0, "messages with descriptors wait in a queue");
	link_close(&a.link);
	link_close(&b.link);
	cmp_ok(open_fds(), "==", before, "a closed link takes them along");
}

/* ---- closing at any moment ---- */

static void
close_own(struct side *s)
{
	if (s->got == s->closes_at)
		link_close(&s->link);
}

static struct side *other;

static void
close_other(struct side *s)
{
	if (s->got == s->closes_at)
		link_close(&other->link);
}

TEST(closed_inside)
{
	struct side a, b;

	connect_sides(&a, &b);
	b.then = close_own;
	b.closes_at = 5;
	for (uint64_t i = 0; i < 20; i++)
		send_number(&a, i);
	RUN_UNTIL(a.gone);
	cmp_ok(b.got, "==", 5, "a link closed in its own callback delivers no more");
	cmp_ok(b.gone, "==", 0, "and is not told that it is gone");
	cmp_ok(a.gone, "==", 1, "its peer is, once");
	cmp_ok(a.why.code, "==", E_NONE, "as a plain end");
	link_close(&a.link);

	connect_sides(&a, &b);
	other = &a;
	b.then = close_other;
	b.closes_at = 5;
	for (uint64_t i = 0; i < 20; i++)
		send_number(&a, i);
	RUN_UNTIL(b.gone);
	cmp_ok(b.got, "==", 20, "a peer closed meanwhile: what it sent is delivered");
	cmp_ok(b.gone, "==", 1, "then its end");
	link_close(&b.link);

	connect_sides(&a, &b);
	b.closes_at = -1;
	link_close(&a.link);
	RUN_UNTIL(b.gone);
	ok(b.link == NULL && b.gone == 1, "a link can be closed when it is told that it is gone");
}

static void
pause_at(struct side *s)
{
	if (s->got == s->closes_at)
		link_pause(s->link);
}

TEST(paused)
{
	struct side a, b;

	connect_sides(&a, &b);
	b.then = pause_at;
	b.closes_at = 3;
	for (uint64_t i = 0; i < 10; i++)
		send_number(&a, i);
	run_ready();
	cmp_ok(b.got, "==", 3, "a pause holds from the next message on");
	link_pause(b.link);
	link_close(&a.link);
	run_ready();
	cmp_ok(b.gone, "==", 0, "a paused link does not see the end either");
	link_resume(b.link);
	link_resume(b.link);
	RUN_UNTIL(b.gone);
	cmp_ok(b.got, "==", 10, "resumed, it delivers the rest");
	ok(b.gone == 1 && b.out_of_order == 0, "in order, and then the end");
	link_resume(b.link);
	run_ready();
	cmp_ok(b.gone, "==", 1, "resuming a link that is gone does nothing");
	cmp_ok(send_number(&b, 1), "==", -1, "sending on it fails");
	cmp_ok(e.code, "==", E_CRASH, "since nobody is there");
	link_close(&b.link);
}

/* ---- peers that misbehave ---- */

static void
garbage(const char *what, const char *bytes, size_t n)
{
	struct side a;
	int         before = open_fds();
	int         fd = connect_bare(&a);

	raw_send(fd, bytes, n, (int[]){ 0, 1 }, 2);
	raw_send(fd, bytes, n, (int[]){ 0, 1 }, 2);
	RUN_UNTIL(a.gone);
	run_ready();
	cmp_ok(a.gone, "==", 1, "%s: the owner is told once", what);
	ok(a.got == 0 && a.why.code == E_PROTO && a.why.text[0] != '\0', "with the reason: %s", a.why.text);
	link_close(&a.link);
	close(fd);
	cmp_ok(open_fds(), "==", before, "no descriptor stays");
}

#define BYTES(s) (s), sizeof(s) - 1

TEST(garbage)
{
	garbage("garbage", BYTES("\xc1"));
	garbage("an envelope of another kind", BYTES("\x93\x03\xa6"
						     "detach\x80"));
	garbage("an id that is none", BYTES("\x94\x00\xc0\xa4"
					    "ping\x80"));
	garbage("half a message", BYTES("\x93\x02\xa6"
					"deta"));
}

/* ---- a whole envelope with a wrong content is one message's failure, not the link's ---- */

TEST(wrong_notices)
{
	struct side a;
	int         before = open_fds();
	int         fd = connect_bare(&a);

	raw_send(fd, BYTES("\x93\x02\xadgateway_ready\x80"), (int[]){ 0, 1 }, 2);
	raw_send(fd,
	    BYTES("\x93\x02\xa6"
		  "detach\x81\xa4"
		  "call\xc0"),
	    (int[]){ 0, 1 }, 2);
	raw_send(fd,
	    BYTES("\x93\x02\xa6"
		  "detach\x81\xa4"
		  "call\x00"),
	    NULL, 0);
	RUN_UNTIL(a.got > 0 || a.gone);
	ok(a.got == 1 && a.gone == 0,
	    "notices of another's, and with a wrong field, are dropped; the next is delivered");
	link_close(&a.link);
	close(fd);
	cmp_ok(open_fds(), "==", before, "no descriptor stays");
}

TEST(wrong_requests)
{
	struct side    a, b;
	struct msg_get long_name = { .session = "" };

	connect_sides(&a, &b);
	struct packet p = { 0 };
	msg_encode(&p, MSG_GET, 7, 9, &long_name, &e); /* by hand: a link would not send it */
	cmp_ok(
	    link_send(b.link, MSG_GET, 7, 9, &long_name, &e), "==", -1, "a value the table does not allow is not sent");
	like(e.text, "^get.session: must not be empty", "the text names the field");
	cmp_ok(link_send_packet(b.link, &p, &e), "==", 0, "one that was made by hand is");
	RUN_UNTIL(b.got > 0 || a.gone || b.gone);
	ok(a.got == 0 && a.gone == 0 && b.gone == 0, "it is not delivered, and both ends live");
	ok(b.failed_id == 7 && b.failed_conn == 9 && b.failure.code != E_NONE, "its sender is answered: %s",
	    b.failure.text);
	link_close(&a.link);
	link_close(&b.link);
}

TEST(wrong_replies)
{
	struct side a;
	int         fd = connect_bare(&a);

	raw_send(fd, BYTES("\x95\x01\x05\x80\xc0\x08"), NULL, 0);
	RUN_UNTIL(a.got > 0 || a.gone);
	ok(a.got == 1 && a.gone == 0, "a reply whose error is none is delivered");
	ok(a.failed_id == 5 && a.failed_conn == 8 && a.failure.code == E_CRASH, "as one that failed: %s",
	    a.failure.text);
	link_close(&a.link);
	close(fd);
}

/*
 * A worker that reports and dies, while we still have things to tell it: what it
 * said comes before its end, whichever of the two the loop looks at first.
 */
TEST(last_words)
{
	struct side       a;
	static const char words[] = "\x93\x02\xa6"
				    "detach\x81\xa4"
				    "call\x00";

	int fd = connect_bare(&a);
	for (int i = 0; i < 3 * LIM_LINK_BURST; i++)
		raw_send(fd, words, sizeof(words) - 1, NULL, 0);
	while (link_queued(a.link) < 10)
		send_number(&a, 0);
	close(fd);
	RUN_UNTIL(a.gone);
	cmp_ok(a.got, "==", 3 * LIM_LINK_BURST, "the last words of a peer arrive though we had a queue for it");
	cmp_ok(a.gone, "==", 1, "then its end");
	cmp_ok(a.why.code, "==", E_NONE, "as a plain end");
	link_close(&a.link);

	fd = connect_bare(&a);
	raw_send(fd, words, sizeof(words) - 1, NULL, 0);
	close(fd);
	cmp_ok(send_number(&a, 0), "==", -1, "sending to one that has just died fails");
	RUN_UNTIL(a.gone);
	cmp_ok(a.got, "==", 1, "its last words arrive still");
	link_close(&a.link);
}

int
main(void)
{
	int before = open_fds();

	loop = ev_loop_new(EVFLAG_AUTO);
	run_tests();
	ev_loop_destroy(loop);
	cmp_ok(open_fds(), "==", before, "no descriptor was left open");
	done_testing();
}
