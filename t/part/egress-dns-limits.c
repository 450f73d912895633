/* The names of a session: how much, how many and how long, connections by TCP, and ends in the middle of something. */
#include "check.h"
#include "dnsbox.h"
#include "dnswire.h"
#include "tap.h"

/* ---- questions that wait ------------------------------------------------------------------------ */

/* As many as may wait, and those beyond. */
TEST(waiting)
{
	char name[32];

	session_open(PLENTY);
	for (unsigned i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "hold%u.test", i);
		ask_udp(i, name, T_A);
	}
	UNTIL(n_held == 64);
	is(lookup("a.test", T_A), "REFUSED a.test. A", "while 64 wait, no other is asked");
	cmp_ok(s.over_limit, "==", 1, "and it is counted");
	is(lookup("localhost", T_A), "NOERROR localhost. A: localhost. 86400 A 127.0.0.1",
	    "what needs nobody is answered");
	release();
	for (int i = 0; i < 64; i++)
		UNTIL(hear());
	like(lookup("a.test", T_A), "^NOERROR a.test. A: ", "when they are answered, more can be asked");
	session_close();
}

TEST(closing)
{
	int before = open_fds();

	session_open(PLENTY);
	struct client c = client_open(), d = client_open();
	for (unsigned i = 0; i < 10; i++) {
		ask_udp(i, "hold.test", T_A);
		client_ask(&c, i, "hold.test", T_TXT);
	}
	client_ask(&d, 1, "hold.test", T_A);
	UNTIL(n_held == 21);
	client_close(&d);
	session_close();
	release();
	session_open(PLENTY);
	like(lookup("a.test", T_A), "^NOERROR", "answers for a session that has closed go nowhere");
	cmp_ok(s.judged, "==", 1, "and not to the next");
	session_close();
	UNTIL(recv(c.fd, got, sizeof(got), MSG_DONTWAIT) == 0);
	pass("its connections are closed");
	client_close(&c);
	for (int i = 0; i < 2000 && open_fds() > before; i++) { /* the resolver's sockets go a moment later */
		ev_run(loop, EVRUN_NOWAIT);
		usleep(10000);
	}
	cmp_ok(open_fds(), "<=", before, "and no descriptor is left");

	session_open(PLENTY);
	ask_udp(1, "hold.test", T_A);
	UNTIL(n_held == 1);
	resolver_close(&resolver);
	UNTIL(hear());
	is(wire_text(got, n_got), "SERVFAIL hold.test. A", "without a resolver there is no answer");
	session_close();
	n_held = 0;
	dnsbox_resolver();
}

/* ---- by TCP ------------------------------------------------------------------------------------ */

TEST(pipelining)
{
	struct buf b = { 0 };
	char       name[32];
	unsigned   wrong = 0, n = 0;

	session_open(PLENTY);
	struct client c = client_open();
	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "p%u.test", i);
		put_framed(&b, i, name, T_A);
	}
	client_say(&c, b.data, b.len);
	while (n < 50) {
		UNTIL(client_hear(&c));
		snprintf(name, sizeof(name), "p%u.test. A: ", got_id());
		wrong += strstr(wire_text(got, n_got), name) == NULL;
		n++;
	}
	cmp_ok(wrong, "==", 0, "50 questions in one piece: each has its answer");
	b.len = 0;
	put_framed(&b, 77, "a.test", T_A);
	for (size_t i = 0; i < b.len; i++) {
		client_say(&c, b.data + i, 1);
		ev_run(loop, EVRUN_NOWAIT);
	}
	UNTIL(client_hear(&c));
	like(wire_text(got, n_got), "^NOERROR a.test. A: ", "one question in many pieces");
	is(client_lookup(&c, "deny.test", T_A), "NXDOMAIN deny.test. A", "a name that is denied");
	client_ask(&c, 78, "hold.test", T_A);
	UNTIL(n_held == 1);
	shutdown(c.fd, SHUT_WR);
	ev_run(loop, EVRUN_NOWAIT);
	release();
	UNTIL(client_hear(&c));
	like(wire_text(got, n_got), "^NOERROR hold.test. A: ", "one who says no more still gets his answer");
	UNTIL(client_hear(&c) || c.ended);
	pass("and then the connection is closed");
	client_close(&c);
	buf_clear(&b);
	session_close();
}

static void
closes_on(const char *bytes, size_t n, const char *what)
{
	struct client c = client_open();

	client_say(&c, bytes, n);
	UNTIL(client_hear(&c) || c.ended);
	ok(c.ended, "closed on %s", what);
	client_close(&c);
}

TEST(hostile_stream)
{
	struct client c[9];
	char          big[2 + 1025] = { 4, 1 };

	session_open(PLENTY);
	closes_on("\0\0", 2, "a question of no bytes");
	closes_on(big, sizeof(big), "one that is too long");
	closes_on("\xff\xff", 2, "one that is much too long");
	struct client half = client_open();
	client_say(&half, "\0\20ab", 4);
	ev_run(loop, EVRUN_NOWAIT);
	client_close(&half);
	ev_run(loop, EVRUN_NOWAIT);
	pass("half a question, and gone");
	half = client_open();
	client_say(&half, "\0\5hello\0\14\0\1\1\0\0\1\0\0\0\0\0\0", 21);
	UNTIL(client_hear(&half));
	ok(n_got == 12 && got_id() == 1, "what is no question gets silence, and the next its answer");
	client_close(&half);
	ev_run(loop, EVRUN_NOWAIT);
	for (int i = 0; i < 9; i++)
		c[i] = client_open();
	UNTIL(client_hear(&c[8]) || c[8].ended);
	ok(c[8].ended && s.over_limit == 1, "a ninth connection is closed, and counted");
	like(client_lookup(&c[7], "a.test", T_A), "^NOERROR", "the eighth is not");
	client_close(&c[0]);
	ev_run(loop, EVRUN_NOWAIT);
	client_close(&c[8]);
	c[8] = client_open();
	like(client_lookup(&c[8], "a.test", T_A), "^NOERROR", "and when one goes, another may come");
	for (int i = 1; i < 9; i++)
		client_close(&c[i]);
	session_close();
}

/* Asks on and on and reads nothing: then it is not read either, or dropped. */
TEST(slow_reader)
{
	int size = 4096, said = 0;

	session_open(PLENTY);
	struct client c = client_open();
	setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(c.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (int quiet = 0; quiet < 50 && said < 100000;) {
		bool took = client_ask(&c, (unsigned)said, "long.test", T_TXT);
		said += took;
		quiet = took ? 0 : quiet + 1;
		if (!took && (errno == EPIPE || errno == ECONNRESET))
			break;
		ev_run(loop, EVRUN_NOWAIT);
		ev_run(loop, EVRUN_NOWAIT);
	}
	cmp_ok(said, "<", 5000, "a client that does not read is not read for ever (%d questions)", said);
	like(lookup("a.test", T_A), "^(NOERROR|REFUSED) a.test. A", "its session is answered otherwise");
	client_close(&c);
	session_close();
}

/* ---- how much ----------------------------------------------------------------------------------- */

/* Until it is refused, and until it is not. */
TEST(volume)
{
	unsigned answered = 0;

	session_open(6000);
	while (strncmp(lookup("a.test", T_A), "NOERROR", 7) == 0)
		answered++;
	is(wire_text(got, n_got), "REFUSED a.test. A", "who has asked for too much is refused");
	cmp_ok(s.over_limit, "==", 1, "which is counted");
	cmp_ok(answered, ">=", 6000 / (24 + 46) - 1, "after what a minute brings");
	unsigned refused = s.over_limit;
	while (strncmp(lookup("a.test", T_A), "REFUSED", 7) == 0)
		refused++;
	cmp_ok(s.over_limit, "==", refused, "every time");
	like(wire_text(got, n_got), "^NOERROR", "after a while there is more");
	session_close();

	session_open(1);
	is(lookup("localhost", T_A), "REFUSED localhost. A", "whoever may ask for nothing gets nothing");
	session_close();
}

/* An answer of 2700 bytes, for who has 600: it takes minutes until there is something again. */
TEST(debt)
{
	session_open(600);
	struct client c = client_open();
	like(client_lookup(&c, "long.test", T_TXT), "^NOERROR", "an answer may cost more than there is");
	is(lookup("a.test", T_A), "REFUSED a.test. A", "but then there is no other");
	is(client_lookup(&c, "a.test", T_A), "REFUSED a.test. A", "by TCP neither");
	cmp_ok(s.over_limit, "==", 2, "both are counted");
	client_close(&c);
	session_close();
}

TEST(flood)
{
	unsigned replies = 0, said = 0;

	session_open(2000);
	while (said < 20000) {
		ask_udp(said++, "deny.test", T_A);
		if (said % 50 == 0)
			ev_run(loop, EVRUN_NOWAIT);
		while (hear())
			replies++;
	}
	cmp_ok(replies, "<", said, "a flood is read slowly (%u replies to %u questions)", replies, said);
	cmp_ok(s.judged, "<", said / 10, "and does little");
	session_close();
}

/* ---- what takes its time: all of it at once ---------------------------------------------------- */

TEST(patience)
{
	struct err  e = { 0 };
	const char *twice[] = { server.address, server.address };

	session_open(PLENTY);
	must(resolver_servers(resolver, &(struct strs){ 2, twice }, &e) != -1, "%s", e.text);
	struct client idle = client_open(), slow = client_open(), waits = client_open();
	size_t        before = server.asked;
	client_ask(&waits, 5, "never.test", T_A);
	client_say(&slow, "\0\20a", 3);
	is(lookup("never.test", T_TXT), "SERVFAIL never.test. TXT", "a server that says nothing is no server");
	cmp_ok(server.asked, ">", before + 2, "but it was asked more than once");
	UNTIL(client_hear(&waits) || waits.ended);
	is(wire_text(got, n_got), "SERVFAIL never.test. A", "who waits for us is not sent away");
	UNTIL((client_hear(&idle), idle.ended) && (client_hear(&slow), slow.ended));
	pass("but who says nothing for long, or half a question");
	client_close(&idle);
	client_close(&slow);
	client_close(&waits);
	session_close();
}

int
main(void)
{
	dnsbox_open();
	run_tests();
	dnsbox_close();
	done_testing();
}
