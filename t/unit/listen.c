/* Addresses of LangBot's door: how they are written, which are the loopback's, who counts as one. */
#include "base/fd.h"
#include "supervisor/auth/listen.h"
#include "tap.h"

static void
takes(const char *text, bool loopback)
{
	struct address a;
	struct err     e = { 0 };
	char           back[ADDRESS_TEXT];

	if (!ok(address_parse(&a, text, &e) == 0, "taken: %s", text))
		diag("%s", e.text);
	is(address_text(&a, back), text, "and printed as it was");
	ok(address_is_loopback(&a) == loopback, "%s the loopback's", loopback ? "it is" : "it is not");
}

static void
refuses(const char *text)
{
	struct address a;
	struct err     e = { 0 };

	cmp_ok(address_parse(&a, text, &e), "==", -1, "refused: '%s'", text);
	like(e.text, "is not an address and a port, such as 127.0.0.1:5410 or \\[::1\\]:5410, nor none$",
	    "with an example");
	cmp_ok(a.len, "==", 0, "and nothing is left of it");
}

static bool
same_net(const char *x, const char *y)
{
	struct address a, b;
	struct err     e;
	unsigned char  m[ADDRESS_NET], n[ADDRESS_NET];

	must(address_parse(&a, x, &e) != -1 && address_parse(&b, y, &e) != -1, "%s", e.text);
	address_net(&a, m);
	address_net(&b, n);
	return memcmp(m, n, sizeof(m)) == 0;
}

TEST(counts)
{
	ok(same_net("10.0.0.1:1", "10.0.0.1:2"), "ports do not count");
	ok(!same_net("10.0.0.1:1", "10.0.0.2:1"), "IPv4 addresses are told apart");
	ok(same_net("10.0.0.1:1", "[::ffff:10.0.0.1]:1"), "IPv4 in IPv6 is IPv4");
	ok(same_net("[2001:db8:1:2::1]:1", "[2001:db8:1:2:ffff::2]:1"), "a /64 is one");
	ok(!same_net("[2001:db8:1:2::1]:1", "[2001:db8:1:3::1]:1"), "two are two");
}

TEST(listens)
{
	struct address a, at;
	struct err     e = { 0 };

	address_parse(&a, "127.0.0.1:0", &e);
	AUTO_FD int fd = listen_open(&a, &e), second = -1;
	must(ok(fd != -1, "port 0 is any"), "%s", e.text);
	address_of_socket(&at, fd);
	cmp_ok(at.at.v4.sin_port, "!=", 0, "and then one that is known");
	ok(listen_is_at(fd, &a) && listen_is_at(fd, &at), "it listens there");
	second = listen_open(&at, &e);
	cmp_ok(second, "==", -1, "a second cannot");
	like(e.text,
	    "^listen = 127.0.0.1:[0-9]+: Address already in use; another boxd or LangBot's own runtime\\? set listen "
	    "in "
	    "boxd.conf$",
	    "and says what to do");
	address_parse(&at, "127.0.0.2:0", &e);
	ok(!listen_is_at(fd, &at), "another address is another");
	ok(!listen_is_at(STDERR_FILENO, &a), "what is no socket does not listen");
	address_of_peer(&at, fd);
	cmp_ok(at.len, "==", 0, "and has no peer");
}

int
main(void)
{
	takes("127.0.0.1:5410", true);
	takes("127.255.0.1:0", true);
	takes("0.0.0.0:65535", false);
	takes("192.168.1.7:80", false);
	takes("[::1]:5410", true);
	takes("[::]:5410", false);
	takes("[2001:db8::1]:1", false);
	takes("[::ffff:127.0.0.1]:1", true);
	takes("[::ffff:10.0.0.1]:1", false);
	takes("none", true);
	refuses("");
	refuses("127.0.0.1");
	refuses("127.0.0.1:");
	refuses("127.0.0.1:65536");
	refuses("127.0.0.1:-1");
	refuses("127.0.0.1: 1");
	refuses("127.0.0.1:000001");
	refuses("127.0.0.1:http");
	refuses("localhost:5410");
	refuses(":5410");
	refuses("*:5410");
	refuses("::1:5410");
	refuses("[::1]");
	refuses("[127.0.0.1]:1");
	refuses("[::1%lo]:1");
	refuses("127.0.0.256:1");
	refuses("[]:1");
	refuses("None");
	run_tests();
	done_testing();
}
