/*
 * Only the kernel may tell us: a message from anybody else is passed over.  The packets in its messages are the
 * sandbox's own bytes, so nothing in them is believed beyond what fits into them.
 *
 * When more was refused than the socket holds, the kernel drops messages and says ENOBUFS once: the number is lost,
 * the fact is not, for those before it are there.
 */
#include "rules/refusals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netfilter/nfnetlink.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 32768, PORTS = 4 /* the two of TCP and UDP are in front */ };

static void
read_ports(struct refusal *r, uint8_t protocol, const uint8_t *p, size_t n)
{
	r->kind = protocol == IPPROTO_TCP ? NET_TCP : protocol == IPPROTO_UDP ? NET_UDP : NET_OTHER;
	if (r->kind != NET_OTHER && n >= PORTS)
		r->port = (uint16_t)(p[2] << 8 | p[3]);
}

static bool
read_ipv4(struct refusal *r, const uint8_t *p, size_t n)
{
	struct iphdr h;

	if (n < sizeof(h))
		return false;
	memcpy(&h, p, sizeof(h));
	size_t len = h.ihl * 4U;
	if (h.version != 4 || len < sizeof(h) || len > n)
		return false;
	r->to = (struct netaddr){ .family = 4 };
	memcpy(r->to.bytes, &h.daddr, 4);
	/* behind the first, fragments have no ports */
	read_ports(r, h.protocol, p + len, (ntohs(h.frag_off) & IP_OFFMASK) == 0 ? n - len : 0);
	return true;
}

/* With a header between, which takes rights that a sandbox has not, it is of no kind that we tell. */
static bool
read_ipv6(struct refusal *r, const uint8_t *p, size_t n)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
	struct ip6_hdr      h;
	uint16_t            none;

	if (n < sizeof(h) || p[0] >> 4 != 6)
		return false;
	memcpy(&h, p, sizeof(h));
	to.sin6_addr = h.ip6_dst;
	read_ports(r, h.ip6_nxt, p + sizeof(h), n - sizeof(h));
	return netaddr_of((struct sockaddr *)&to, &r->to, &none);
}

/* Of one message; NULL: it has none. */
struct parts {
	const struct nlattr *payload, *prefix;
};

static int
on_attribute(const struct nlattr *a, void *arg)
{
	struct parts *parts = arg;

	if (mnl_attr_get_type(a) == NFULA_PAYLOAD)
		parts->payload = a;
	if (mnl_attr_get_type(a) == NFULA_PREFIX)
		parts->prefix = a;
	return MNL_CB_OK;
}

static bool
is_too_fast(const struct nlattr *prefix)
{
	return prefix != NULL && mnl_attr_validate(prefix, MNL_TYPE_NUL_STRING) == 0 &&
	       strcmp(mnl_attr_get_str(prefix), NET_TOO_FAST) == 0;
}

static void
read_packet(const struct nlmsghdr *h, refusal_fn *fn, void *arg)
{
	struct parts   parts = { 0 };
	struct refusal r = { 0 };

	if (h->nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) ||
	    mnl_nlmsg_get_payload_len(h) < sizeof(struct nfgenmsg))
		return;
	mnl_attr_parse(h, sizeof(struct nfgenmsg), on_attribute, &parts);
	if (parts.payload == NULL)
		return;
	const uint8_t *p = mnl_attr_get_payload(parts.payload);
	size_t         n = mnl_attr_get_payload_len(parts.payload);
	r.too_fast = is_too_fast(parts.prefix);
	if (n > 0 && (p[0] >> 4 == 4 ? read_ipv4(&r, p, n) : read_ipv6(&r, p, n)))
		fn(arg, &r);
}

/*
 * Not by mnl_cb_run, which takes a length with its highest bit set for a short one.  libmnl reads a message up to its
 * aligned length, and the kernel fills it up to there: a shorter one is not from the kernel.
 */
void
refusals_parse(const void *bytes, size_t n, refusal_fn *fn, void *arg)
{
	const struct nlmsghdr *h = bytes;

	while (n >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= n) {
		size_t len = MNL_ALIGN(h->nlmsg_len);

		if (len > n)
			return;
		read_packet(h, fn, arg);
		n -= len;
		h = (const struct nlmsghdr *)((const char *)h + len);
	}
}

/* One message; false: none is there. */
static bool
take_one(int fd, refusal_fn *fn, void *arg)
{
	_Alignas(struct nlmsghdr) char bytes[BYTES];
	struct sockaddr_nl             from = { 0 };
	socklen_t                      len = sizeof(from);
	ssize_t n = recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	if (n > 0 && from.nl_pid == 0)
		refusals_parse(bytes, (size_t)n, fn, arg);
	return n > 0 || (n == -1 && (errno == ENOBUFS || errno == EINTR));
}

bool
refusals_take(int fd, int most, refusal_fn *fn, void *arg)
{
	for (int i = 0; i < most; i++)
		if (!take_one(fd, fn, arg))
			return false;
	return true;
}

void
refusal_rule(const struct refusal *r, char rule[LIM_NET_RULE + 1])
{
	const struct netrange *range = netrange_of(&r->to);

	if (r->kind != NET_TCP)
		snprintf(rule, LIM_NET_RULE + 1, "built-in: only TCP and DNS go out");
	else if (range != NULL)
		snprintf(rule, LIM_NET_RULE + 1, "built-in: %s %s/%u", range->what, range->text, range->prefix);
	else
		snprintf(rule, LIM_NET_RULE + 1, "built-in: refused in its namespace");
}
