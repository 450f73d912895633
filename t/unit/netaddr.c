/* Addresses, networks, and the ranges that a sandbox does not get to. */
#include "base/netaddr.h"
#include "tap.h"

TEST(parses)
{
	static const char *const bad[] = { "", "1.2.3", "1.2.3.4.5", "0x7f.1", "127.1", "2130706433", "1.2.3.4/8",
		"::1%lo", "[::1]", ":::", "g::", " 1.2.3.4", "1.2.3.4 " };
	struct netaddr           a;
	char                     text[NETADDR_TEXT];

	ok(netaddr_parse("10.1.2.3", &a) && a.family == 4, "an IPv4 address");
	is(netaddr_text(&a, text), "10.1.2.3", "as text");
	ok(netaddr_parse("2001:DB8:0::1", &a) && a.family == 6, "an IPv6 address");
	is(netaddr_text(&a, text), "2001:db8::1", "as text");
	ok(netaddr_parse("::ffff:10.1.2.3", &a) && a.family == 4, "a mapped one is the IPv4 address");
	is(netaddr_text(&a, text), "10.1.2.3", "as text");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!netaddr_parse(bad[i], &a), "'%s' is none", bad[i]);
}

static bool
within(const char *address, const char *network, unsigned prefix)
{
	struct netaddr a, n;

	return netaddr_parse(address, &a) && netaddr_parse(network, &n) && netaddr_within(&a, &n, prefix);
}

TEST(is_within)
{
	ok(within("10.255.0.1", "10.0.0.0", 8), "in a /8");
	ok(!within("11.0.0.1", "10.0.0.0", 8), "not in it");
	ok(within("172.31.255.255", "172.16.0.0", 12) && !within("172.32.0.0", "172.16.0.0", 12), "bits within a byte");
	ok(within("1.2.3.4", "1.2.3.4", 32) && !within("1.2.3.5", "1.2.3.4", 32), "one address");
	ok(within("1.2.3.4", "0.0.0.0", 0) && within("ff::", "::", 0), "all of a family");
	ok(!within("1.2.3.4", "::", 0) && !within("::1", "0.0.0.0", 0), "and none of the other");
	ok(within("fdff::1", "fc00::", 7) && !within("fe00::1", "fc00::", 7), "IPv6");
	ok(!within("1.2.3.4", "1.2.3.4", 33), "a prefix that is too long");
}

TEST(converts)
{
	struct sockaddr_storage s;
	struct netaddr          a, back;
	uint16_t                port;

	netaddr_parse("9.8.7.6", &a);
	ok(netaddr_sockaddr(&a, 443, &s) == sizeof(struct sockaddr_in), "as a socket's address");
	ok(netaddr_of((struct sockaddr *)&s, &back, &port) && netaddr_same(&a, &back) && port == 443, "and back");
	netaddr_parse("2001:db8::5", &a);
	ok(netaddr_sockaddr(&a, 53, &s) == sizeof(struct sockaddr_in6), "the same of IPv6");
	ok(netaddr_of((struct sockaddr *)&s, &back, &port) && netaddr_same(&a, &back) && port == 53, "and back");
	struct sockaddr_in6 mapped = { .sin6_family = AF_INET6, .sin6_port = htons(1) };
	mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
	mapped.sin6_addr.s6_addr[15] = 1;
	ok(netaddr_of((struct sockaddr *)&mapped, &a, &port) && a.family == 4, "a mapped one is IPv4");
	struct sockaddr other = { .sa_family = AF_UNIX };
	ok(!netaddr_of(&other, &a, &port), "no other family");
}

static const char *
range_of(const char *address)
{
	struct netaddr         a;
	const struct netrange *r = netaddr_parse(address, &a) ? netrange_of(&a) : NULL;

	return r == NULL ? "the internet" : r->what;
}

TEST(knows_ranges)
{
	static const char *const rows[][2] = {
		{ "127.0.0.1", "loopback" },
		{ "127.255.255.254", "loopback" },
		{ "0.0.0.0", "this host" },
		{ "10.0.0.1", "private" },
		{ "172.16.0.1", "private" },
		{ "172.31.255.255", "private" },
		{ "172.32.0.1", "the internet" },
		{ "192.168.255.1", "private" },
		{ "169.254.169.254", "link-local and metadata" },
		{ "168.63.129.16", "metadata" },
		{ "168.63.129.17", "the internet" },
		{ "100.100.100.200", "carrier-grade NAT" },
		{ "192.0.0.192", "protocol assignments" },
		{ "224.0.0.251", "multicast" },
		{ "255.255.255.255", "reserved and broadcast" },
		{ "::1", "loopback" },
		{ "::", "this host" },
		{ "::ffff:127.0.0.1", "loopback" },
		{ "::7f00:1", "IPv4-compatible" },
		{ "::ffff:0:7f00:1", "IPv4-translated" },
		{ "64:ff9b::7f00:1", "IPv4 by NAT64" },
		{ "64:ff9b:1:7f00::1", "IPv4 by NAT64" },
		{ "64:ff9b:2::1", "not of the internet" },
		{ "200::1", "not of the internet" },
		{ "4000::1", "not of the internet" },
		{ "a000::1", "not of the internet" },
		{ "100:0:0:1::1", "dummy" },
		{ "2002:7f00:1::", "IPv4 by 6to4" },
		{ "2001:0:1::", "protocol assignments and Teredo" },
		{ "fd00:ec2::254", "unique local and metadata" },
		{ "fe80::1", "link-local" },
		{ "ff02::1", "multicast" },
		{ "2001:db8::1", "documentation" },
		{ "8.8.8.8", "the internet" },
		{ "2606:4700::1111", "the internet" },
		{ "2001:4860:4860::8888", "the internet" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is(range_of(rows[i][0]), rows[i][1], "%s", rows[i][0]);
	unsigned               n;
	const struct netrange *all = netranges(&n);
	for (unsigned i = 0; i < n; i++) /* of IPv4-mapped ones none is ever asked for: they are IPv4 */
		ok(all[i].network.family != 0 && netaddr_within(&all[i].network, &all[i].network, all[i].prefix),
		    "%s/%u is a network", all[i].text, all[i].prefix);
}

static const char *
embedded_in(const char *address)
{
	static char    text[NETADDR_TEXT];
	struct netaddr a, v4;

	return netaddr_parse(address, &a) && netaddr_embedded(&a, &v4) ? netaddr_text(&v4, text) : "none";
}

TEST(finds_embedded)
{
	is(embedded_in("64:ff9b::10.1.2.3"), "10.1.2.3", "NAT64 stands for an address of IPv4");
	is(embedded_in("64:ff9b:1::10.1.2.3"), "10.1.2.3", "and so does its local prefix");
	is(embedded_in("64:ff9b:1:a01:2:300::"), "10.1.2.3", "in its shortest form too");
	is(embedded_in("2002:a01:203::1"), "10.1.2.3", "6to4");
	is(embedded_in("2001:0:808:808::f5fe:fdfc"), "10.1.2.3", "Teredo");
	is(embedded_in("2606:4700::5efe:10.1.2.3"), "10.1.2.3", "ISATAP");
	is(embedded_in("2606:4700::200:5efe:10.1.2.3"), "10.1.2.3", "ISATAP of an address of the internet");
	is(embedded_in("2606:4700::1111"), "none", "others stand for none");
	is(embedded_in("2001:4860:4860::8888"), "none", "nor does what only looks like Teredo");
	is(embedded_in("10.1.2.3"), "none", "nor IPv4 itself");
}
