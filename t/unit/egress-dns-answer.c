/* Answers of resolvers: what of them reaches a sandbox, and what they cannot do. */
#include <malloc.h>

#include "check.h"
#include "dnswire.h"
#include "tap.h"
#include "workers/egress/dns/dns_packet.h"

enum { OK = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5 };

static struct buf      b;
static struct question q;

/* Now this is asked. */
static void
ask(const char *name, unsigned type)
{
	struct buf a = { 0 };

	wire_ask(&a, 7, name, type);
	must(question_parse(&q, (const uint8_t *)a.data, a.len) == 0, "'%s' cannot be asked for", name);
	buf_clear(&a);
}

static const char *
text_of(bool made, struct reply *r)
{
	const char *text = made ? wire_text(r->bytes, r->n) : "no memory";

	reply_clear(r);
	return text;
}

static char     told[4096]; /* the addresses that were judged */
static unsigned judged;

static bool
judge(void *arg, const struct netaddr *a, uint32_t ttl)
{
	char text[NETADDR_TEXT];

	judged++;
	netaddr_text(a, text);
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s/%u", *told ? " " : "", text, ttl);
	return netrange_of(a) == NULL;
}

static const char *
answer_n(const void *bytes, size_t n, size_t most)
{
	struct reply r = { 0 };
	uint8_t     *copy = malloc(n + 1);

	if (n > 0)
		memcpy(copy + 1, bytes, n);
	*told = '\0';
	judged = 0;
	bool made = reply_answer(&r, &q, most, copy + 1, n, judge, NULL);
	free(copy);
	if (made && r.n > most)
		diag("%zu bytes, of at most %zu", r.n, most);
	return text_of(made && r.n <= most, &r);
}

static const char *
answer_it(void)
{
	const char *text = answer_n(b.data, b.len, REPLY_TCP_MOST);

	b.len = 0;
	return text;
}

/* The head and question of an answer to what is asked now; records follow. */
static void
begin(const char *name, unsigned type, unsigned rcode, unsigned an, unsigned ns)
{
	ask(name, type);
	wire_head(&b, 99, QR | RD | RA | rcode, 1, an, ns, 0);
	wire_question(&b, name, type);
}

TEST(addresses)
{
	begin("a.example", T_A, OK, 2, 0);
	wire_address(&b, "a.example", 300, "1.1.1.1");
	wire_address(&b, "A.exAmple", 7, "1.1.1.2");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 A 1.1.1.1, a.example. 7 A 1.1.1.2", "addresses");
	is(told, "1.1.1.1/300 1.1.1.2/7", "are judged, each");
	begin("a.example", T_A, OK, 3, 0);
	wire_address(&b, "a.example", 300, "10.0.0.1");
	wire_address(&b, "a.example", 300, "1.1.1.1");
	wire_address(&b, "a.example", 300, "169.254.169.254");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 A 1.1.1.1", "those that are refused are left out");
	begin("a.example", T_A, OK, 1, 1);
	wire_address(&b, "a.example", 300, "10.0.0.1");
	wire_soa(&b, "example", 60);
	is(answer_it(), "NOERROR a.example. A", "also if none is left");
	begin("a.example", T_AAAA, OK, 3, 0);
	wire_address(&b, "a.example", 300, "2606::1");
	wire_address(&b, "a.example", 300, "::ffff:10.0.0.1");
	wire_address(&b, "a.example", 300, "fd00::1");
	is(answer_it(), "NOERROR a.example. AAAA: a.example. 300 AAAA 2606::1", "IPv6");
	is(told, "2606::1/300 10.0.0.1/300 fd00::1/300", "in which IPv4 is judged as that");
	begin("a.example", T_A, OK, 3, 0);
	wire_address(&b, "a.example", UINT32_MAX, "1.1.1.1");
	wire_address(&b, "a.example", 1000000, "1.1.1.2");
	wire_address(&b, "a.example", 0, "1.1.1.3");
	answer_it();
	is(told, "1.1.1.1/0 1.1.1.2/86400 1.1.1.3/0", "a TTL is one of a day at most");
}

TEST(what_is_left_out)
{
	begin("a.example", T_A, OK, 5, 0);
	wire_address(&b, "b.example", 300, "1.1.1.1");
	wire_address(&b, "a.example", 300, "2606::1");
	wire_record(&b, "a.example", T_HTTPS, 300, "\0\1\0", 3);
	wire_record(&b, "a.example", T_TXT, 300, "\1x", 2);
	wire_address(&b, "a.example", 300, "1.1.1.2");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 A 1.1.1.2", "another name, other types");
	is(told, "1.1.1.2/300", "are not even judged");
	begin("a.example", T_A, OK, 2, 0);
	wire_address(&b, "a.example", 300, "1.1.1.1");
	b.data[b.len - 11] = 3;
	wire_address(&b, "a.example", 300, "1.1.1.2");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 A 1.1.1.2", "another class");
	ask("a.example", T_A);
	wire_head(&b, 99, QR | RD | RA, 1, 1, 1, 2);
	wire_question(&b, "a.example", T_A);
	wire_address(&b, "a.example", 300, "1.1.1.1");
	wire_pointing(&b, "example", T_NS, "", 0, "ns.example");
	wire_address(&b, "ns.example", 300, "1.1.1.9");
	wire_opt(&b, 4096, 0);
	is(answer_it(), "NOERROR a.example. A: a.example. 300 A 1.1.1.1", "what is authority, and what is additional");
	begin("a.example", T_A, OK, 200, 0);
	for (int i = 0; i < 200; i++)
		wire_address(&b, "a.example", 300, "1.1.1.1");
	answer_it();
	cmp_ok(judged, "==", REPLY_RECORDS, "more records than anybody needs");
	begin("a.example", T_A, OK, 300, 0);
	for (int i = 0; i < 299; i++)
		wire_address(&b, "b.example", 300, "1.1.1.1");
	wire_address(&b, "a.example", 300, "1.1.1.1");
	is(answer_it(), "NOERROR a.example. A", "what stands behind very many");
}

static void
cname(const char *name, const char *target)
{
	wire_pointing(&b, name, T_CNAME, "", 0, target);
}

TEST(chains)
{
	begin("a.example", T_A, OK, 3, 0);
	cname("a.example", "b.example");
	cname("b.example", "c.example");
	wire_address(&b, "c.example", 300, "1.1.1.1");
	is(answer_it(),
	    "NOERROR a.example. A: a.example. 300 CNAME b.example., b.example. 300 CNAME c.example., "
	    "c.example. 300 A 1.1.1.1",
	    "a chain");
	begin("a.example", T_A, OK, 3, 0);
	wire_address(&b, "C.example", 300, "1.1.1.1");
	cname("b.example", "c.example");
	cname("a.example", "B.EXAMPLE");
	is(answer_it(),
	    "NOERROR a.example. A: a.example. 300 CNAME B.example., B.example. 300 CNAME c.example., "
	    "c.example. 300 A 1.1.1.1",
	    "in any order");
	begin("a.example", T_A, OK, 4, 0);
	cname("a.example", "b.example");
	wire_address(&b, "c.example", 300, "1.1.1.1");
	cname("x.example", "c.example");
	cname("a.example", "c.example");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 CNAME b.example.", "one that leads nowhere");
	begin("a.example", T_A, OK, 3, 0);
	cname("a.example", "b.example");
	cname("b.example", "c.example");
	cname("c.example", "a.example");
	is(answer_it(),
	    "NOERROR a.example. A: a.example. 300 CNAME b.example., b.example. 300 CNAME c.example., "
	    "c.example. 300 CNAME a.example.",
	    "a circle");
	begin("a.example", T_A, OK, 1, 0);
	cname("a.example", "a.example");
	is(answer_it(), "NOERROR a.example. A: a.example. 300 CNAME a.example.", "one to itself");
	begin("a.example", T_CNAME, OK, 2, 0);
	cname("a.example", "b.example");
	cname("b.example", "c.example");
	is(answer_it(), "NOERROR a.example. CNAME: a.example. 300 CNAME b.example.", "asked for, it is not followed");
	begin("n0.example", T_A, OK, 40, 0);
	for (int i = 0; i < 40; i++) {
		char from[32], to[32];
		snprintf(from, sizeof(from), "n%d.example", i);
		snprintf(to, sizeof(to), "n%d.example", i + 1);
		cname(from, to);
	}
	unlike(answer_it(), "n20.example", "a very long one ends somewhere");
	begin("a.example", T_A, NXDOMAIN, 1, 1);
	cname("a.example", "b.other");
	wire_soa(&b, "other", 60);
	is(answer_it(),
	    "NXDOMAIN a.example. A: a.example. 300 CNAME b.other. "
	    "auth other. 60 SOA ns.example. admin.example. 1 2 3 4 5",
	    "to a name that is none");
}

TEST(negative)
{
	begin("a.b.example", T_A, NXDOMAIN, 0, 1);
	wire_soa(&b, "b.example", 60);
	is(answer_it(), "NXDOMAIN a.b.example. A auth b.example. 60 SOA ns.example. admin.example. 1 2 3 4 5",
	    "no such name, and for how long");
	begin("example", T_A, OK, 0, 2);
	wire_pointing(&b, "example", T_NS, "", 0, "ns.example");
	wire_soa(&b, "example", 60);
	is(answer_it(), "NOERROR example. A auth example. 60 SOA ns.example. admin.example. 1 2 3 4 5",
	    "no such record");
	begin("a.example", T_A, NXDOMAIN, 0, 1);
	wire_soa(&b, "other", 60);
	is(answer_it(), "NXDOMAIN a.example. A", "what another zone says does not count");
	begin("a.example", T_A, NXDOMAIN, 0, 1);
	wire_soa(&b, "b.a.example", 60);
	is(answer_it(), "NXDOMAIN a.example. A", "nor one below");
	static const unsigned others[] = { FORMERR, SERVFAIL, NOTIMP, REFUSED, 9, 15 };
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		begin("a.example", T_A, others[i], 1, 0);
		wire_address(&b, "a.example", 300, "1.1.1.1");
		is(answer_it(), "SERVFAIL a.example. A", "rcode %u is a failure", others[i]);
	}
	is(answer_n("", 0, 512), "SERVFAIL a.example. A", "and so is nothing");
}

static void
passes(unsigned type, const char *before, size_t n, const char *target, const char *want)
{
	begin("a.example", type, OK, 1, 0);
	if (target != NULL)
		wire_pointing(&b, "a.example", type, before, n, target);
	else
		wire_record(&b, "a.example", type, 300, before, n);
	const char *text = answer_it(), *at = strstr(text, ": ");
	is(at == NULL ? text : at + 2, want, "type %u", type);
}

static void
breaks(unsigned type, const char *data, size_t n, const char *what)
{
	begin("a.example", type, OK, 1, 0);
	wire_record(&b, "a.example", type, 300, data, n);
	like(answer_it(), "^SERVFAIL a.example. [A-Z]+$", "%s", what);
}

TEST(types)
{
	passes(T_MX, "\0\12", 2, "mx.example", "a.example. 300 MX 10 mx.example.");
	passes(T_NS, "", 0, "ns.example", "a.example. 300 NS ns.example.");
	passes(T_PTR, "", 0, "host.example", "a.example. 300 PTR host.example.");
	passes(T_SRV, "\0\1\0\2\0\120", 6, "srv.example", "a.example. 300 SRV 1 2 80 srv.example.");
	passes(
	    T_NAPTR, "\0\1\0\2\1S\3SIP\0", 11, "r.example", "a.example. 300 NAPTR 1 2 \"S\" \"SIP\" \"\" r.example.");
	passes(T_TXT, "\5hello\0\2yo", 10, NULL, "a.example. 300 TXT \"hello\" \"\" \"yo\"");
	passes(T_CAA, "\0\5issueca.example", 17, NULL, "a.example. 300 CAA 0 issue \"ca.example\"");

	breaks(T_A, "\1\1\1", 3, "an address of 3 bytes");
	breaks(T_A, "\1\1\1\1\1", 5, "of 5");
	breaks(T_AAAA, "\1\1\1\1", 4, "of 4 in IPv6");
	breaks(T_A, "", 0, "of none");
	breaks(T_TXT, "", 0, "no text");
	breaks(T_TXT, "\5hell", 5, "a text that is longer than it is");
	breaks(T_CAA, "\0", 1, "half a CAA");
	breaks(T_CAA, "\0\0", 2, "one without a tag");
	breaks(T_CAA, "\0\7issue", 7, "one with too short a tag");
	breaks(T_MX, "\0\12", 2, "a mail exchange without a name");
	breaks(T_MX, "", 0, "without anything");
	breaks(T_MX, "\0\12\1x\0z", 6, "with more than a name");
	breaks(T_MX, "\0\12\5x\0", 5, "whose name is not in it");
	breaks(T_CNAME, "\xc0\x0c\0", 3, "a CNAME with something behind it");
	breaks(T_SOA, "\0\0\0\0", 4, "a SOA without its numbers");
	breaks(T_SRV, "\0\1\0\2\0\120", 6, "a service without a host");
	breaks(T_NAPTR, "\0\1\0\2\1S\3SIP\0", 11, "a NAPTR without its end");
}

TEST(pointers)
{
	begin("a.example", T_CNAME, OK, 1, 0);
	wire_record(&b, "a.example", T_CNAME, 300, "\1b\xc0\x0e", 4);
	is(answer_it(), "NOERROR a.example. CNAME: a.example. 300 CNAME b.example.",
	    "a name that goes on in the question");
	breaks(T_CNAME, "\xc0\x30", 2, "one that points to itself");
	breaks(T_CNAME, "\1x\xc0\x30", 4, "one that goes round");
	breaks(T_CNAME, "\xff\xff", 2, "one that points out of the packet");
	breaks(T_CNAME, "\xc0", 1, "half a pointer");
	begin("a.example", T_CNAME, OK, 2, 0);
	wire_record(&b, "a.example", T_CNAME, 300, "\xc0\x32", 2);
	wire_address(&b, "b.example", 300, "1.1.1.1");
	is(answer_it(), "SERVFAIL a.example. CNAME", "one that points behind its record");
}

/* An answer with all sorts of things in it, for what follows. */
static void
rich(void)
{
	begin("a.example", T_MX, OK, 4, 1);
	cname("a.example", "b.example");
	wire_record(&b, "b.example", T_MX, 300, "\0\12\2mx\xc0\x0e", 7);
	wire_record(&b, "b.example", T_MX, 300, "\0\24\xc0\x0c", 4);
	wire_record(&b, "x", T_TXT, 300, "\3abc", 4);
	wire_soa(&b, "example", 60);
}

TEST(cuts)
{
	int whole = 0, other = 0;

	rich();
	for (size_t n = 0; n < b.len; n++) {
		const char *text = answer_n(b.data, n, REPLY_TCP_MOST);
		whole += strncmp(text, "NOERROR", 7) == 0;
		other += strncmp(text, "NOERROR", 7) != 0 && strcmp(text, "SERVFAIL a.example. MX") != 0;
	}
	ok(whole == 0 && other == 0, "an answer that is cut anywhere is none");
	like(answer_n(b.data, b.len, REPLY_TCP_MOST), "^NOERROR.*MX 20 a.example.$", "and whole it is one");
	b.len = 0;
}

TEST(changes)
{
	int broken = 0, odd = 0;

	rich();
	struct buf copy = { 0 };
	for (int i = 0; i < 30000; i++) {
		copy.len = 0;
		buf_append(&copy, b.data, b.len);
		for (uint64_t k = rnd() % 4; k < 4; k++)
			copy.data[rnd() % copy.len] = (char)(rnd() >> 20);
		const char *text = answer_n(copy.data, rnd() % 4 == 0 ? rnd() % copy.len : copy.len, REPLY_UDP_LEAST);
		broken += strcmp(text, "broken") == 0 || strcmp(text, "no memory") == 0;
		odd += strstr(text, "a.example. MX") == NULL || strstr(text, "odd") != NULL ||
		       strstr(text, "more") != NULL;
	}
	buf_clear(&copy);
	b.len = 0;
	ok(broken == 0, "30000 changed answers: every reply is a packet");
	ok(odd == 0, "with our question, and no more than it should have");
}

TEST(other_questions)
{
	ask("a.example", T_A);
	wire_head(&b, 99, QR | RA, 1, 0, 0, 0);
	wire_question(&b, "b.example", T_A);
	is(answer_it(), "SERVFAIL a.example. A", "an answer to another name");
	wire_head(&b, 99, QR | RA, 1, 0, 0, 0);
	wire_question(&b, "a.example", T_AAAA);
	is(answer_it(), "SERVFAIL a.example. A", "to another type");
	wire_head(&b, 99, QR | RA, 0, 0, 0, 0);
	is(answer_it(), "SERVFAIL a.example. A", "to none");
	wire_head(&b, 99, QR | RA, 2, 0, 0, 0);
	wire_question(&b, "a.example", T_A);
	wire_question(&b, "a.example", T_A);
	is(answer_it(), "SERVFAIL a.example. A", "to two");
	wire_head(&b, 99, RA, 1, 0, 0, 0);
	wire_question(&b, "a.example", T_A);
	is(answer_it(), "SERVFAIL a.example. A", "a question");
	wire_head(&b, 99, QR | RA | 2 << 11, 1, 0, 0, 0);
	wire_question(&b, "a.example", T_A);
	is(answer_it(), "SERVFAIL a.example. A", "something else");
}

/* ---- sizes ---- */

static void
begin_texts(unsigned n)
{
	begin("a.example", T_TXT, OK, n, 0);
	for (unsigned i = 0; i < n; i++)
		wire_record(&b, "a.example", T_TXT, 300, "\x0fsixteen letters", 16);
}

TEST(sizes)
{
	begin_texts(16); /* 27 bytes of head and question, and 28 for each */
	like(answer_n(b.data, b.len, 512), "^NOERROR a.example. TXT: ", "what fits 512 bytes");
	b.len = 0;
	begin_texts(18);
	is(answer_n(b.data, b.len, 512), "NOERROR tc a.example. TXT", "what does not");
	like(answer_n(b.data, b.len, 1232), "^NOERROR a.example. TXT: ", "fits more");
	b.len = 0;
	begin_texts(64);
	is(answer_n(b.data, b.len, 1232), "NOERROR tc a.example. TXT", "or not");
	like(answer_it(), "^NOERROR a.example. TXT: ", "but by TCP");

	struct buf text = { 0 };
	char       string[256];
	memset(string, 255, sizeof(string));
	while (text.len < 65000)
		buf_append(&text, string, sizeof(string));
	begin("a.example", T_TXT, OK, 1, 0);
	wire_record(&b, "a.example", T_TXT, 300, text.data, text.len);
	like(answer_n(b.data, b.len, REPLY_TCP_MOST), "^NOERROR a.example. TXT: ", "nearly all that TCP takes");
	b.len = 0;
	/* a name that each record has whole, and that the answer has once */
	begin("a.example", T_MX, OK, REPLY_RECORDS, 0);
	for (int i = 0; i < REPLY_RECORDS; i++)
		wire_pointing(&b, "a.example", T_MX, "\0\1", 2, "x");
	like(answer_it(), "^NOERROR a.example. MX: ", "as many records as there may be");
	buf_clear(&text);
}

/* Each of these strings, and each of these names, could cost a thousand times its size. */
TEST(costs)
{
	struct mallinfo2 before = mallinfo2();
	struct buf       text = { 0 };

	buf_reserve(&text, 60000);
	memset(text.data, 0, 60000);
	begin("a.example", T_TXT, OK, 1, 0);
	wire_record(&b, "a.example", T_TXT, 300, text.data, 60000);
	struct reply r = { 0 };
	ok(reply_answer(&r, &q, REPLY_TCP_MOST, (uint8_t *)b.data, b.len, judge, NULL) && r.n > 60000,
	    "60000 empty strings in one text");
	reply_clear(&r);
	struct mallinfo2 after = mallinfo2();
	cmp_ok(after.arena + after.hblkhd, "<", before.arena + before.hblkhd + (8 << 20), "take no more than they are");
	buf_clear(&text);
	b.len = 0;

	/* pointers to pointers, and records whose names go through all of them */
	begin("a.example", T_A, OK, 4000, 0);
	wire_record(&b, "x", 999, 0, "", 0);
	b.data[b.len - 2] = 0x3f; /* the length: 16128 bytes, a chain */
	b.data[b.len - 1] = 0;
	size_t at = b.len;
	buf_append(&b, "\xc0\x0c", 2);
	while (b.len + 2 <= at + 0x3f00)
		wire_u16(&b, 0xc000 | (unsigned)(b.len - 2));
	unsigned last = (unsigned)(b.len - 2);
	while (b.len < 65000) {
		wire_u16(&b, 0xc000 | last);
		buf_append(&b, "\0\1\0\1\0\0\1\0\0\4\1\1\1\1", 14);
	}
	like(answer_it(), "^NOERROR a.example. A: a.example. 256 A 1.1.1.1", "8000 pointers on the way to a name");
	cmp_ok(judged, "==", REPLY_RECORDS, "for a bounded number of names");
}

int
main(void)
{
	run_tests();
	buf_clear(&b);
	done_testing();
}
