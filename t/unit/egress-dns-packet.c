/* Questions of sandboxes: what is taken, what is refused, and what is answered without asking anybody. */
#include "dnswire.h"
#include "tap.h"
#include "workers/egress/dns/dns_local.h"
#include "workers/egress/dns/dns_packet.h"

enum { SILENCE = QUESTION_SILENCE, OK = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5 };

static struct buf      b;
static struct question q;

/* In a copy that ends where the bytes end, so that a look behind them is seen. */
static int
parse(const void *bytes, size_t n)
{
	uint8_t *copy = malloc(n + 1); /* malloc(0) may be NULL */

	if (n > 0)
		memcpy(copy + 1, bytes, n);
	int r = question_parse(&q, copy + 1, n);
	free(copy);
	return r;
}

static int
parse_it(void)
{
	int r = parse(b.data, b.len);

	b.len = 0;
	return r;
}

static int
parse_name(const char *name, unsigned type)
{
	wire_ask(&b, 7, name, type);
	return parse_it();
}

/* A reply of every kind, freed again. */
static const char *
text_of(bool made, struct reply *r)
{
	const char *text = made ? wire_text(r->bytes, r->n) : "no memory";

	reply_clear(r);
	return text;
}

static const char *
rcode_text(int rcode)
{
	struct reply r = { 0 };

	return text_of(reply_rcode(&r, &q, rcode), &r);
}

/* ---- questions ---- */

TEST(questions)
{
	wire_head(&b, 0xbeef, RD | CD, 1, 0, 0, 0);
	wire_question(&b, "WwW.Example.COM", T_A);
	cmp_ok(parse_it(), "==", OK, "a question");
	is(q.name, "www.example.com", "in lower case");
	ok(q.id == 0xbeef && q.type == T_A && q.recursion && q.unchecked && !q.edns, "with all that it says");
	cmp_ok(q.udp_most, "==", 512, "and takes 512 bytes");
	is(rcode_text(NXDOMAIN), "NXDOMAIN WwW.Example.COM. A", "the reply repeats it to the letter");
	struct reply r = { 0 };
	reply_rcode(&r, &q, OK);
	cmp_mem(r.bytes, "\xbe\xef\x81\x90", 4, "with its number and its flags");
	reply_clear(&r);

	static const unsigned known[] = { T_A, T_AAAA, T_CNAME, T_MX, T_TXT, T_SRV, T_PTR, T_NS, T_SOA, T_CAA, T_NAPTR,
		T_SVCB, T_HTTPS };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		cmp_ok(parse_name("a.example", known[i]), "==", OK, "type %u", known[i]);
	static const unsigned others[] = { 0, 3, 10, 13, 39, T_OPT, 43, 46, 48, 249, 250, 251, 252, 253, 254, 255, 256,
		999, 65535 };
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		cmp_ok(parse_name("a.example", others[i]), "==", NOTIMP, "type %u is not for sandboxes", others[i]);
	cmp_ok(parse_name("_dmarc.x-1.example", T_TXT), "==", OK, "digits, '-' and '_'");
}

static int
parse_raw_name(const char *wire, size_t n)
{
	wire_head(&b, 7, RD, 1, 0, 0, 0);
	buf_append(&b, wire, n);
	wire_u16(&b, T_A);
	wire_u16(&b, 1);
	return parse_it();
}

TEST(question_names)
{
	char longest[256] = "", one[64];

	memset(one, 'a', 63);
	one[63] = '\0';
	snprintf(longest, sizeof(longest), "%s.%s.%s.%.61s", one, one, one, one);
	cmp_ok(parse_name(longest, T_A), "==", OK, "the longest name there is");
	is(q.name, longest, "is whole");
	is(rcode_text(OK) + 8 + 254, " A", "and is repeated");
	snprintf(longest, sizeof(longest), "%s.%s.%s.%.62s", one, one, one, one);
	cmp_ok(parse_name(longest, T_A), "==", FORMERR, "one more is none");
	for (int i = 0; i < 127; i++)
		memcpy(longest + 2 * i, "a.", 3);
	longest[253] = '\0';
	cmp_ok(parse_name(longest, T_A), "==", OK, "of 127 labels");
	is(q.name, longest, "too");

	cmp_ok(parse_raw_name("", 1), "==", REFUSED, "the root");
	cmp_ok(parse_raw_name("\1a\3b.c\0", 7), "==", REFUSED, "a dot in a label");
	cmp_ok(parse_raw_name("\3a\0c\0", 5), "==", REFUSED, "a NUL");
	cmp_ok(parse_raw_name("\3a c\0", 5), "==", REFUSED, "a space");
	cmp_ok(parse_raw_name("\1*\1a\0", 5), "==", REFUSED, "an asterisk");
	cmp_ok(parse_raw_name("\3\xc3\xa4x\0", 5), "==", REFUSED, "not of ASCII");
	cmp_ok(parse_raw_name("\3a\x1bx\0", 5), "==", REFUSED, "an escape");
	cmp_ok(parse_raw_name("\x40", 1), "==", FORMERR, "a label of no known kind");
	cmp_ok(parse_raw_name("\xc0\x0c", 2), "==", FORMERR, "a pointer to itself");
	cmp_ok(parse_raw_name("\1a\xc0\x0c", 4), "==", FORMERR, "a pointer in a circle");
	cmp_ok(parse_raw_name("\xc0\xff", 2), "==", FORMERR, "a pointer out of the packet");
	cmp_ok(parse_raw_name("\xc0\x00", 2), "==", FORMERR, "a pointer to the head");
}

static int
parse_head(unsigned flags, unsigned qd, unsigned an, unsigned ns, unsigned ar)
{
	wire_head(&b, 0x1234, flags, qd, an, ns, ar);
	wire_question(&b, "a.example", T_A);
	wire_address(&b, "a.example", 1, "1.1.1.1");
	wire_address(&b, "a.example", 1, "1.1.1.1");
	return parse_it();
}

TEST(malformed)
{
	cmp_ok(parse_head(QR | RD, 1, 0, 0, 0), "==", SILENCE, "an answer is not answered");
	cmp_ok(parse_head(2 << 11, 1, 0, 0, 0), "==", NOTIMP, "STATUS");
	is(rcode_text(NOTIMP), "NOTIMPL", "is answered by its number alone");
	cmp_ok(parse_head(5 << 11, 1, 0, 0, 0), "==", NOTIMP, "UPDATE");
	cmp_ok(parse_head(RD, 0, 0, 0, 0), "==", FORMERR, "no question");
	is(rcode_text(FORMERR), "FORMERR", "is answered by its number alone");
	cmp_ok(q.id, "==", 0x1234, "which it had");
	cmp_ok(parse_head(RD, 2, 0, 0, 0), "==", FORMERR, "two questions");
	cmp_ok(parse_head(RD, 1, 1, 0, 0), "==", FORMERR, "a question with an answer");
	cmp_ok(parse_head(RD, 1, 0, 1, 0), "==", FORMERR, "with an authority");
	cmp_ok(parse_head(RD, 1, 0, 0, 2), "==", FORMERR, "with much more");
	cmp_ok(parse_head(RD, 65535, 65535, 65535, 65535), "==", FORMERR, "with very much more");
	cmp_ok(parse_head(RD, 1, 0, 0, 1), "==", OK, "with one more, whatever it is");

	wire_head(&b, 7, RD, 1, 0, 0, 0);
	wire_name(&b, "a.example");
	wire_u16(&b, T_A);
	wire_u16(&b, 3);
	cmp_ok(parse_it(), "==", REFUSED, "another class");

	wire_ask(&b, 7, "a.example", T_A);
	while (b.len < QUESTION_MOST)
		buf_append(&b, "", 1);
	cmp_ok(parse(b.data, b.len), "==", OK, "the longest packet");
	buf_append(&b, "", 1);
	cmp_ok(parse_it(), "==", FORMERR, "one byte more");

	int wrong = 0;
	wire_head(&b, 7, RD, 1, 0, 0, 1);
	wire_question(&b, "a.example", T_A);
	wire_opt(&b, 1232, 0);
	for (size_t n = 0; n < b.len; n++)
		wrong += parse(b.data, n) != (n < 12 ? SILENCE : FORMERR);
	cmp_ok(wrong, "==", 0, "cut anywhere: silence within the head, FORMERR behind it");
	cmp_ok(parse_it(), "==", OK, "and whole it is one");
}

static int
parse_edns(unsigned bytes, unsigned version)
{
	wire_head(&b, 7, RD, 1, 0, 0, 1);
	wire_question(&b, "a.example", T_A);
	wire_opt(&b, bytes, version);
	return parse_it();
}

TEST(edns)
{
	ok(parse_edns(0, 0) == OK && q.edns && q.udp_most == 512, "EDNS that takes nothing takes 512");
	ok(parse_edns(700, 0) == OK && q.udp_most == 700, "what it takes");
	ok(parse_edns(65535, 0) == OK && q.udp_most == 1232, "but 1232 at most");
	is(rcode_text(OK), "NOERROR edns a.example. A", "the reply has it too");
	cmp_ok(parse_edns(1232, 1), "==", 16, "another version");
	is(rcode_text(16), "+1 NOERROR edns a.example. A", "is BADVERS");
}

/* ---- what is answered here ---- */

TEST(local)
{
	static const char *const loopback[] = { "localhost", "a.localhost", "a.b.localhost" };
	static const char *const nobody[] = { "onion", "abc.onion", "1.0.0.10.in-addr.arpa", "10.in-addr.arpa",
		"254.169.254.169.in-addr.arpa", "1.0.0.127.in-addr.arpa", "168.192.in-addr.arpa",
		"x.1.2.168.192.in-addr.arpa",
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa", "d.f.ip6.arpa",
		"8.b.d.0.1.0.0.2.ip6.arpa", "0.8.e.f.ip6.arpa", "f.ip6.arpa", "0.ip6.arpa", "4.ip6.arpa" };
	static const char *const asked[] = { "localhost.example", "xlocalhost", "example", "in-addr.arpa", "ip6.arpa",
		"1.1.1.1.in-addr.arpa", "192.in-addr.arpa", "172.in-addr.arpa", "300.10.in-addr.arpa.example",
		"2.ip6.arpa", "3.ip6.arpa", "x10.in-addr.arpa", "0010.in-addr.arpa", "8.8.8.8.in-addr.arpa",
		"6.0.6.2.ip6.arpa", "xonion", "1010.in-addr.arpa" };
	struct reply             r = { 0 };

	for (size_t i = 0; i < sizeof(loopback) / sizeof(*loopback); i++)
		cmp_ok(local_name(loopback[i]), "==", LOCAL_LOOPBACK, "%s is here", loopback[i]);
	for (size_t i = 0; i < sizeof(nobody) / sizeof(*nobody); i++)
		cmp_ok(local_name(nobody[i]), "==", LOCAL_NXDOMAIN, "%s is nobody's business", nobody[i]);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		cmp_ok(local_name(asked[i]), "==", LOCAL_NOT, "%s is asked for", asked[i]);
	parse_name("localhost", T_A);
	is(text_of(reply_loopback(&r, &q), &r), "NOERROR localhost. A: localhost. 86400 A 127.0.0.1", "IPv4");
	parse_name("a.localhost", T_AAAA);
	is(text_of(reply_loopback(&r, &q), &r), "NOERROR a.localhost. AAAA: a.localhost. 86400 AAAA ::1", "IPv6");
	parse_name("localhost", T_MX);
	is(text_of(reply_loopback(&r, &q), &r), "NOERROR localhost. MX", "and nothing else");
}

int
main(void)
{
	run_tests();
	buf_clear(&b);
	done_testing();
}
