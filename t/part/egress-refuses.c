/* What a namespace refuses by itself is told as a denial, and what is too much for this process is refused by it. */
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "egressbox.h"
#include "egressworld.h"
#include "tap.h"
#include "workers/egress/rules/refusals.h"

/* ---- messages of the kernel ------------------------------------------------------------ */

static char heard[256];

static void
hear(void *arg, const struct refusal *r)
{
	char text[NETADDR_TEXT];

	snprintf(heard, sizeof(heard), "%s %s %u%s", msg_enum_name(MSG_NET_DENIAL, "kind", (int)r->kind),
	    netaddr_text(&r->to, text), r->port, r->too_fast ? " too fast" : "");
}

/* A packet in a message as the kernel makes it, with the rule's prefix or without; what is heard of it. */
static const char *
tell_with(const char *prefix, const void *packet, size_t n)
{
	_Alignas(struct nlmsghdr) char bytes[1024];
	struct nlmsghdr               *h = mnl_nlmsg_put_header(bytes);
	struct nfgenmsg               *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET;
	m->nfgen_family = AF_INET;
	mnl_attr_put_u32(h, NFULA_MARK, 7);
	if (prefix != NULL)
		mnl_attr_put_strz(h, NFULA_PREFIX, prefix);
	mnl_attr_put(h, NFULA_PAYLOAD, n, packet);
	strcpy(heard, "nothing");
	refusals_parse(bytes, h->nlmsg_len, hear, NULL);
	return heard;
}

static const char *
tell(const void *packet, size_t n)
{
	return tell_with(NULL, packet, n);
}

#define TELL(bytes) tell(bytes, sizeof(bytes) - 1)
#define IPV4(protocol, offset) "\x45\0\0\x28\0\0" offset "\x40" protocol "\0\0\xc0\0\2\1\x0a\1\2\3"
#define IPV6(protocol)                           \
	"\x60\0\0\0\0\x08" protocol "\x40"       \
	"\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1" \
	"\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2"

static void
test_packets(void)
{
	is(TELL(IPV4("\6", "\0\0") "\x80\0\0\x16"), "tcp 10.1.2.3 22", "TCP");
	is(TELL(IPV4("\x11", "\0\0") "\x80\0\1\xbb"), "udp 10.1.2.3 443", "UDP");
	is(TELL(IPV4("\1", "\0\0") "\x08\0\1\xbb"), "other 10.1.2.3 0", "ICMP");
	is(TELL(IPV4("\x11", "\0\5") "\x80\0\1\xbb"), "udp 10.1.2.3 0", "a fragment has no port");
	is(TELL(IPV4("\6", "\0\0") "\x80\0"), "tcp 10.1.2.3 0", "nor has a packet that was cut");
	is(TELL(IPV6("\6") "\x80\0\0\x50"), "tcp fd00::2 80", "IPv6");
	is(TELL(IPV6("\x2b") "\x80\0\0\x50"), "other fd00::2 0", "with a header between");
	is(TELL("\x45\0\0\x28"), "nothing", "too short");
	is(TELL("\x6f"), "nothing", "far too short");
	is(TELL("\x4f\0\0\x28\0\0\0\0\x40\6\0\0\xc0\0\2\1\x0a\1\2\3"), "nothing", "a header longer than the packet");
	is(TELL("\x41\0\0\x28\0\0\0\0\x40\6\0\0\xc0\0\2\1\x0a\1\2\3"), "nothing", "or shorter than a header");
	is(TELL("\x95\0\0\x28\0\0\0\0\x40\6\0\0\xc0\0\2\1\x0a\1\2\3\x45\0\0\x28\0\0\0\0\x40\6\0\0\xc0\0\2\1"),
	    "nothing", "of another protocol");
	is(tell("", 0), "nothing", "empty");
	const char packet[] = IPV4("\6", "\0\0") "\x80\0\0\x16";
	is(tell_with(NET_TOO_FAST, packet, sizeof(packet)), "tcp 10.1.2.3 22 too fast", "one of too many");
	is(tell_with("other", packet, sizeof(packet)), "tcp 10.1.2.3 22", "with a prefix that says nothing");
}

/* ---- a real kernel's -------------------------------------------------------------------- */

static struct egressbox box;
static struct sandbox   inside;

static void
send_udp(const char *address, uint16_t port)
{
	struct sockaddr_storage to;
	struct netaddr          a;

	netaddr_parse(address, &a);
	socklen_t   len = netaddr_sockaddr(&a, port, &to);
	AUTO_FD int s = world_socket(inside.ns, to.ss_family, SOCK_DGRAM);
	sendto(s, "x", 1, 0, (struct sockaddr *)&to, len);
}

static void
test_refused(void)
{
	send_udp("1.1.1.1", 443);
	is(denial_text(egressbox_look(&box, &inside, false), 0),
	    "udp - 1.1.1.1 443 built-in: only TCP and DNS go out 1", "a datagram is refused, and known at once");
	send_udp("2606:2800:220:1::34", 443);
	is(denial_text(egressbox_look(&box, &inside, false), 0),
	    "udp - 2606:2800:220:1::34 443 built-in: only TCP and DNS go out 1", "of IPv6 too");
	int c = inside_connect(&inside, "172.20.1.1", 25);
	cmp_ok(c, "==", -1, "a connection that the namespace refuses");
	is(denial_text(egressbox_look(&box, &inside, false), 0),
	    "tcp - 172.20.1.1 25 built-in: private 172.16.0.0/12 1", "is known by its range");
	cmp_ok(egressbox_look(&box, &inside, false)->denied, "==", 3, "all are counted");
}

/* More than a socket holds: some are lost, and it goes on. */
static void
test_flood(void)
{
	for (int i = 0; i < 5000; i++)
		send_udp("1.1.1.1", (uint16_t)(1 + i % 1000));
	send_udp("1.1.1.1", 7777);
	for (;;) {
		const struct msg_net_info *i = egressbox_look(&box, &inside, false);

		if (strcmp(denial_text(i, 0), "udp - 1.1.1.1 7777 built-in: only TCP and DNS go out 1") == 0)
			break;
		send_udp("1.1.1.1", 7777);
	}
	pass("a flood of them does not stop it");
}

/* ---- names by TCP ----------------------------------------------------------------------- */

static void
test_names_by_tcp(void)
{
	static const char question[] = "\0\x1e\0\7\1\0\0\1\0\0\0\0\0\0\4good\7example\0\0\1\0\1";
	char              reply[512];
	int               c = inside_connect(&inside, "127.0.0.1", 53);

	must(send(c, question, sizeof(question) - 1, 0) != -1, "send: %s", strerror(errno));
	shutdown(c, SHUT_WR);
	ssize_t n = recv(c, reply, sizeof(reply), MSG_WAITALL);
	cmp_ok(n, ">", 2 + 12, "a question by TCP is answered");
	cmp_ok(reply[2 + 3] & 0xf, "==", 0, "well");
	is(outcome(c), "end", "and ends in order");
	close(c);
	cmp_ok(egressbox_look(&box, &inside, false)->dns_queries, "==", 1, "it counts as a question");
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void
test_no_descriptor(void)
{
	struct rlimit most, before;

	uint64_t over = egressbox_look(&box, &inside, false)->over_limit;
	must(prlimit(box.work.pid, RLIMIT_NOFILE, NULL, &before) != -1, "prlimit: %s", strerror(errno));
	most = (struct rlimit){ egressbox_descriptors(&box), before.rlim_max };
	must(prlimit(box.work.pid, RLIMIT_NOFILE, &most, NULL) != -1, "prlimit: %s", strerror(errno));
	for (int i = 0; i < 3; i++) {
		int c = inside_connect(&inside, SERVER, 80);

		is(outcome(c), "reset", "without a descriptor left a connection is reset");
		close(c);
	}
	cmp_ok(egressbox_look(&box, &inside, false)->over_limit - over, "==", 3, "as one too many");
	prlimit(box.work.pid, RLIMIT_NOFILE, &before, NULL);
	int listener = net_listen(80), c = inside_connect(&inside, SERVER, 80), s = net_accept(listener, NULL);
	put(c, "again");
	ok(got(s, "again"), "and then it goes on");
	close(c);
	close(s);
	close(listener);
}

/* As many connections as are let out, up to so many. */
static size_t
take(const struct sandbox *who, int listener, int *fds, size_t most)
{
	size_t n = 0;

	for (; n < most; n++) {
		fds[n] = inside_connect(who, SERVER, 80);
		/* it is let out or reset by the time that it was asked for */
		if (egressbox_look(&box, who, false)->open <= n)
			break;
		fds[most + n] = net_accept(listener, NULL);
	}
	return n;
}

static void
test_share(void)
{
	enum { MOST = 200, ALL = 400 };
	static int     fds[2][2 * MOST];
	struct sandbox other;
	int            listener = net_listen(80);

	egressbox_may_have(ALL);
	egressbox_start(&box, "", NULL);
	egressbox_open(&box, &inside, NULL, NULL);
	sandbox_make(&other, 72);
	egressbox_open(&box, &other, NULL, NULL);
	egressbox_look(&box, &other, false);
	size_t greedy = take(&inside, listener, fds[0], MOST), late = take(&other, listener, fds[1], MOST);
	cmp_ok(
	    2 * greedy, ">", ALL / 2 - 64, "a session may have more than its share while there is room (%zu)", greedy);
	cmp_ok(2 * greedy, "<=", ALL * 3 / 4, "but leaves a quarter");
	cmp_ok(2 * late, ">=", (ALL - 64) / 4, "which one that comes later gets (%zu)", late);
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends");
	sandbox_free(&other);
	close(listener);
}

int
main(void)
{
	test_packets();
	world_begin();
	net_names("good.example 3.3.3.3\n");
	egressbox_start(&box, "", NULL);
	sandbox_make(&inside, 71);
	egressbox_open(&box, &inside, NULL, NULL);
	test_refused();
	test_names_by_tcp();
	test_flood();
	test_no_descriptor();
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends");
	test_share();
	sandbox_free(&inside);
	done_testing();
}
