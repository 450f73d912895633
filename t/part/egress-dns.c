/*
 * The names of a session, between a client and a name server of the test's own: what is asked for, what comes back, and
 * what neither side can do to the other.
 */
#include "check.h"
#include "dnsbox.h"
#include "dnswire.h"
#include "tap.h"

/* ---- one question ---------------------------------------------------------------------------- */

TEST(answers)
{
	session_open(PLENTY);
	is(lookup("a.test", T_A), "NOERROR a.test. A: a.test. 300 A 93.184.216.34", "an address");
	is(s.asked, "a.test", "its name was judged");
	is(s.told, "a.test=93.184.216.34/300", "and so was the address");
	is(lookup("A.Test", T_AAAA), "NOERROR A.Test. AAAA: A.Test. 300 AAAA 2606::1",
	    "in the letters it was asked in");
	is(s.asked, "a.test a.test", "but judged in small ones");
	is(lookup("a.test", T_TXT), "NOERROR a.test. TXT: a.test. 300 TXT \"hello\"", "a text");
	size_t before = server.asked;
	is(lookup("deny.test", T_A), "NXDOMAIN deny.test. A", "a name that is denied is none");
	is(lookup("a.test", T_HTTPS), "NOERROR a.test. HTTPS", "hints of addresses are not told");
	is(lookup("a.test", T_SVCB), "NOERROR a.test. SVCB", "of either kind");
	is(lookup("a.test", 255), "NOTIMPL a.test. ANY", "ANY is not asked for");
	cmp_ok(server.asked, "==", before, "for none of these the server was asked");
	cmp_ok(s.judged, "==", 6, "but those that may be asked were judged");
	*s.told = '\0';
	is(lookup("chain.test", T_A),
	    "NOERROR chain.test. A: chain.test. 300 CNAME cdn.other., cdn.other. 300 CNAME "
	    "edge.other., edge.other. 60 A 1.1.1.1",
	    "a chain, without what was refused");
	is(s.told, "chain.test=1.1.1.1/60", "its addresses are the asked name's");
	cmp_ok(s.refused_addresses, "==", 1, "one was refused");
	is(lookup("nx.test", T_A), "NXDOMAIN nx.test. A auth test. 60 SOA ns.example. admin.example. 1 2 3 4 5",
	    "no name");
	is(lookup("fail.test", T_A), "SERVFAIL fail.test. A", "a failure");
	session_close();
}

TEST(local)
{
	size_t before = server.asked;

	session_open(PLENTY);
	is(lookup("localhost", T_A), "NOERROR localhost. A: localhost. 86400 A 127.0.0.1", "localhost");
	is(lookup("x.localhost", T_AAAA), "NOERROR x.localhost. AAAA: x.localhost. 86400 AAAA ::1", "all of it");
	is(lookup("1.0.0.10.in-addr.arpa", T_PTR), "NXDOMAIN 1.0.0.10.in-addr.arpa. PTR",
	    "a private address has no name");
	ok(s.judged == 0 && server.asked == before && *s.told == '\0', "nobody was asked");
	like(lookup("single", T_A), "^NOERROR single. A: ", "one label is a name like any other");
	like(lookup("db.internal", T_A), "^NOERROR db.internal. A: ", "and so are internal ones");
	is(s.asked, "single db.internal", "the rules judge them");
	session_close();
}

TEST(hostile_server)
{
	session_open(PLENTY);
	is(lookup("others.test", T_A), "NOERROR others.test. A: others.test. 300 A 93.184.216.34",
	    "answers to other questions are not taken");
	is(s.told, "others.test=93.184.216.34/300", "not even judged");
	is(lookup("loop.test", T_A), "SERVFAIL loop.test. A", "an answer with a name without end");
	is(lookup("cut.test", T_A), "SERVFAIL cut.test. A", "one that is cut");
	like(lookup("a.test", T_A), "^NOERROR a.test. A: ", "and the next is as before");
	session_close();
}

TEST(hostile_client)
{
	struct buf b = { 0 };
	int        sent = 0;

	session_open(PLENTY);
	ask_udp(1, "a.test", T_A);
	say("", 0);
	say("\0\1\1\0\0\1", 6);
	wire_head(&b, 2, QR, 1, 0, 0, 0);
	wire_question(&b, "a.test", T_A);
	say(b.data, b.len);
	b.len = 0;
	wire_head(&b, 3, RD, 1, 0, 0, 0);
	say(b.data, b.len);
	buf_append(&b, got, 2000);
	say(b.data, b.len);
	is(lookup("a.test", T_A), "another's reply", "after packets that are none");
	for (int i = 0; i < 3; i++) {
		sent += got_id() == 1 || got_id() == 3;
		UNTIL(hear());
	}
	ok(sent == 3 && got_id() == 4711, "those with a number are answered, and the next is as before");
	for (int i = 0; i < 3000; i++) {
		uint8_t noise[64];
		rnd_bytes(noise, sizeof(noise));
		noise[2] &= 0x7f;
		say(noise, rnd() % sizeof(noise));
		ev_run(loop, EVRUN_NOWAIT);
		while (hear())
			;
	}
	pass("3000 packets of noise");
	buf_clear(&b);
	session_close();
}

/* ---- sizes ----------------------------------------------------------------------------------- */

TEST(truncation)
{
	struct client c;
	struct buf    b = { 0 };

	session_open(PLENTY);
	size_t tcp = server.asked_tcp;
	is(lookup("some.test", T_TXT), "NOERROR tc some.test. TXT", "too long for 512 bytes");
	wire_head(&b, 4711, RD, 1, 0, 0, 1);
	wire_question(&b, "some.test", T_TXT);
	wire_opt(&b, 4096, 0);
	say(b.data, b.len);
	buf_clear(&b);
	UNTIL(hear());
	like(wire_text(got, n_got), "^NOERROR edns some.test. TXT: ", "EDNS lets it be longer");
	is(lookup("long.test", T_TXT), "NOERROR tc long.test. TXT", "too long for any UDP");
	cmp_ok(server.asked_tcp, ">", tcp, "the server told by TCP, which we know of");
	c = client_open();
	like(client_lookup(&c, "long.test", T_TXT), "^NOERROR long.test. TXT: (.*TXT.*){50}$", "and so can the client");
	client_close(&c);
	session_close();
}

/* ---- many ------------------------------------------------------------------------------------- */

TEST(many)
{
	char     name[32];
	unsigned seen[256] = { 0 }, wrong = 0;

	session_open(PLENTY);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < 60; i++) {
			snprintf(name, sizeof(name), "n%u.test", round * 60 + i);
			ask_udp(round * 60 + i, name, T_A);
		}
		for (unsigned i = 0; i < 60; i++) {
			UNTIL(hear());
			snprintf(name, sizeof(name), "n%u.test. A: ", got_id());
			wrong += strstr(wire_text(got, n_got), name) == NULL;
			seen[got_id() % 256]++;
		}
	}
	for (unsigned i = 0; i < 240; i++)
		wrong += seen[i] != 1;
	cmp_ok(wrong, "==", 0, "240 questions, 60 at a time: each gets its own answer, once");
	session_close();
}

/* ---- servers ------------------------------------------------------------------------------------- */

static void
refuses_server(const char *text)
{
	struct err e = { 0 };

	ok(resolver_servers(resolver, &(struct strs){ 1, &text }, &e) == -1 && e.code == E_INVALID, "no server: %s",
	    text);
}

TEST(servers)
{
	struct namebox other;
	struct err     e = { 0 };
	const char    *addresses[10];

	namebox_open(&other, loop, dnsbox_asked);
	session_open(PLENTY);
	ask_udp(1, "hold.test", T_A);
	UNTIL(n_held == 1);
	n_held = 0;
	addresses[0] = other.address;
	ok(resolver_servers(resolver, &(struct strs){ 1, addresses }, &e) == 0, "another server");
	UNTIL(n_held == 1);
	cmp_ok(other.asked, "==", 1, "is asked what waits");
	release();
	UNTIL(hear());
	like(wire_text(got, n_got), "^NOERROR hold.test. A: ", "and its answer is taken");
	size_t before = server.asked;
	like(lookup("a.test", T_A), "^NOERROR", "and so is that to the next question");
	ok(other.asked == 2 && server.asked == before, "the one before is asked no more");
	refuses_server("example.com");
	refuses_server("1.2.3.4:0");
	refuses_server("1.2.3.4:65536");
	refuses_server("1.2.3.4:");
	refuses_server("1.2.3.4:5x");
	refuses_server("[::1");
	refuses_server("[::1]x");
	refuses_server("[]:53");
	refuses_server("");
	for (int i = 0; i < 10; i++)
		addresses[i] = "::1";
	cmp_ok(resolver_servers(resolver, &(struct strs){ 9, addresses }, &e), "==", -1, "no more than eight");
	like(lookup("a.test", T_A), "^NOERROR", "after all these it is the same");
	ask_udp(1, "hold.test", T_A);
	UNTIL(n_held == 1);
	n_held = 0;
	ok(resolver_servers(resolver, &(struct strs){ 0 }, &e) == 0, "no server at all");
	UNTIL(hear());
	is(wire_text(got, n_got), "SERVFAIL hold.test. A", "what waits has no answer");
	is(lookup("a.test", T_A), "SERVFAIL a.test. A", "and neither has the next");
	addresses[0] = "[::1]:53";
	addresses[1] = "::1";
	addresses[2] = "127.0.0.1";
	ok(resolver_servers(resolver, &(struct strs){ 3, addresses }, &e) == 0, "addresses in all spellings");
	namebox_close(&other); /* nobody is at its port now */
	addresses[0] = other.address;
	addresses[1] = server.address;
	ok(resolver_servers(resolver, &(struct strs){ 1, addresses }, &e) == 0, "one that is not there");
	is(lookup("a.test", T_A), "SERVFAIL a.test. A", "gives no answer");
	ok(resolver_servers(resolver, &(struct strs){ 2, addresses }, &e) == 0,
	    "one that is not there and one that is");
	like(lookup("a.test", T_A), "^NOERROR", "give one");
	ok(resolver_servers(resolver, &(struct strs){ 1, addresses + 1 }, &e) == 0, "the first again");
	session_close();
}

/* ---- ports ------------------------------------------------------------------------------------ */

enum { QUESTIONS = 30 };

static struct nb_question seen[QUESTIONS * 4];
static size_t             n_seen;
static bool               answering;

static void
on_noted(struct namebox *b, const struct nb_question *q)
{
	if (n_seen < sizeof(seen) / sizeof(*seen))
		seen[n_seen++] = *q;
	if (answering)
		dnsbox_asked(b, q);
}

static size_t
different_ports(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_seen; i++) {
		bool again = false;

		for (size_t j = 0; j < i; j++)
			again |= seen[j].from.sin_port == seen[i].from.sin_port;
		n += !again;
	}
	return n;
}

static void
ask_many(const char *label, unsigned from, unsigned n)
{
	char name[64];

	for (unsigned i = from; i < from + n; i++) {
		snprintf(name, sizeof(name), "%s%u.test", label, i);
		ask_udp(i, name, T_A);
	}
}

TEST(ports)
{
	size_t before;

	session_open(PLENTY);
	server.handler = on_noted;
	n_seen = 0;
	answering = true;
	for (int i = 0; i < QUESTIONS / 2; i++)
		lookup("a.test", T_A);
	cmp_ok(different_ports(), ">=", n_seen - 2, "questions one after the other come from other ports");
	answering = false;
	n_seen = 0;
	ask_many("wait", 100, QUESTIONS);
	UNTIL(n_seen == QUESTIONS);
	cmp_ok(different_ports(), "==", QUESTIONS, "and so do those at the same time");
	before = n_seen;
	for (size_t i = 0; i < before; i++)
		dnsbox_asked(&server, &seen[i]);
	for (size_t i = 0; i < before; i++)
		UNTIL(hear());
	server.handler = dnsbox_asked;
	pass("each gets its answer");
	session_close();
}

/* An answer with that number and name, to that port, from another one or from the server's. */
static void
forge(const struct nb_question *to, uint16_t id, const char *name, int from)
{
	struct nb_question q = *to;
	struct buf         b = { 0 };

	wire_head(&b, id, QR | RD, 1, 1, 0, 0);
	wire_question(&b, name, T_A);
	wire_address(&b, name, 300, "6.6.6.6");
	q.fd = from != -1 ? from : q.fd;
	namebox_send(&q, b.data, b.len);
	buf_clear(&b);
}

TEST(forged)
{
	int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	session_open(PLENTY);
	server.handler = on_noted;
	n_seen = 0;
	ask_udp(1, "wait1.test", T_A);
	ask_udp(2, "wait2.test", T_A);
	UNTIL(n_seen == 2);
	forge(&seen[0], seen[0].id, seen[0].name, stranger);
	forge(&seen[0], (uint16_t)(seen[0].id + 1), seen[0].name, -1);
	forge(&seen[0], seen[0].id, "other.test", -1);
	forge(&seen[1], seen[0].id, seen[0].name, -1);
	forge(&seen[0], seen[1].id, seen[1].name, -1);
	for (int i = 0; i < 200; i++) {
		ev_run(loop, EVRUN_NOWAIT);
		if (hear())
			break;
	}
	cmp_ok(n_got, "==", 0, "another port, number, question, or the port of another question: no answer is taken");
	server.handler = dnsbox_asked;
	answering = true;
	dnsbox_asked(&server, &seen[1]);
	UNTIL(hear());
	unlike(wire_text(got, n_got), "6.6.6.6", "the answer to the question is");
	close(stranger);
	session_close();
}

/* More questions than there may be sockets: the rest share, and all are answered. */
TEST(many_share)
{
	size_t n = 0;

	session_open(PLENTY);
	server.handler = on_noted;
	answering = true;
	n_seen = 0;
	ask_many("hold", 1, DNSBOX_SOCKETS + 20);
	UNTIL(n_held == DNSBOX_SOCKETS + 20);
	cmp_ok(different_ports(), "<=", DNSBOX_SOCKETS, "there are no more sockets than there may be");
	release();
	for (; n < DNSBOX_SOCKETS + 20; n++)
		UNTIL(hear());
	pass("and all questions are answered");
	server.handler = dnsbox_asked;
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
