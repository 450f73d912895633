/*
 * Rules in a sandbox's namespace.  Every packet of a sandbox goes out through lo, so two chains are enough:
 *
 *	refuse	before anything is translated: what has no business outside is refused at once, so that connect(2)
 *		and sendto(2) fail and nothing waits.  TCP to a range of netrange.def gets a reset; all that is neither
 *		TCP nor for the sandbox itself an unreachable.
 *	divert	every other connection is redirected to NET_PORT, where box-egress asks for the original destination
 *		and decides; it decides once more about what was let through here.
 *
 * What a sandbox says to its own addresses stays as it is; only its DNS over TCP goes to box-egress.
 *
 *	own	and is not tracked.  A tracked connection takes memory of the kernel's that no limit of the session counts;
 *		so those that are, can be begun only so fast, and are forgotten soon after their end (netns.c).
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "netaddr.h"
#include "netns.h"
#include "nft.h"

/* The networks of a set, with commas between them; false: there are none of this family, and no empty set. */
static bool
write_ranges(struct buf *b, unsigned family)
{
	unsigned               n;
	const struct netrange *all = netranges(&n);
	bool                   any = false;

	for (unsigned i = 0; i < n; i++)
		if (all[i].network.family == family) {
			buf_printf(b, "%s%s/%u", any ? ", " : "", all[i].text, all[i].prefix);
			any = true;
		}
	return any;
}

static bool
write_open(struct buf *b, const struct strs *open, unsigned family)
{
	bool any = false;

	for (size_t i = 0; i < open->n; i++)
		if ((strchr(open->v[i], ':') == NULL ? 4 : 6) == family) {
			buf_printf(b, "%s%s", any ? ", " : "", open->v[i]);
			any = true;
		}
	return any;
}

/* open: these; NULL: the ranges.  auto-merge, for networks lie within networks. */
static void
write_set(struct buf *b, const char *name, unsigned family, const struct strs *open)
{
	struct buf elements = { 0 };
	bool       any = open == NULL ? write_ranges(&elements, family) : write_open(&elements, open, family);

	buf_printf(b, "set %s%u { type ipv%u_addr; flags interval; auto-merge;", name, family, family);
	if (any)
		buf_printf(b, " elements = { %.*s };", (int)elements.len, elements.data);
	buf_printf(b, " }\n");
	b->failed |= elements.failed;
	buf_clear(&elements);
}

/* Connections to the ranges, but for what is opened there. */
static void
write_refusals(struct buf *b, const char *log)
{
	buf_printf(b,
	    "meta l4proto tcp ip daddr @range4 ip daddr != @open4 %sreject with tcp reset\n"
	    "meta l4proto tcp ip6 daddr @range6 ip6 daddr != @open6 %sreject with tcp reset\n",
	    log, log);
}

static void
write_egress(struct buf *b, bool logged)
{
	char log[64] = "", too_fast[96] = "";

	if (logged) {
		snprintf(log, sizeof(log), "log group %d snaplen 96 ", NET_LOG_GROUP);
		snprintf(
		    too_fast, sizeof(too_fast), "log group %d snaplen 96 prefix \"" NET_TOO_FAST "\" ", NET_LOG_GROUP);
	}
	/* ICMP is the kernel's own here: no command has a socket for it */
	buf_printf(b, "meta l4proto { icmp, ipv6-icmp } drop\n");
	buf_printf(b, "meta l4proto != tcp %sreject with icmpx host-unreachable\n", log);
	write_refusals(b, log);
	buf_printf(b,
	    "tcp flags & (syn | ack) == syn limit rate over %d/second burst %d packets %sreject with tcp reset\n",
	    NET_PER_SEC, NET_BURST, too_fast);
	buf_printf(b,
	    "}\n"
	    "chain divert { type nat hook output priority -100; policy accept;\n"
	    "ip daddr 127.0.0.1 tcp dport 53 redirect to :%d\n"
	    "fib daddr type local return\n"
	    "meta l4proto tcp redirect to :%d\n"
	    "}\n"
	    "chain own { type filter hook output priority -300; policy accept;\n"
	    "tcp sport %d return\n"
	    "ip daddr 127.0.0.1 tcp dport 53 return\n"
	    "fib daddr type local notrack\n",
	    NET_PORT, NET_PORT, NET_PORT);
}

/* Neighbours are found by ICMPv6 to link-local and multicast addresses. */
static void
write_slirp(struct buf *b, const struct buf *own)
{
	buf_printf(b,
	    "ip daddr " SLIRP_DNS " meta l4proto { tcp, udp } th dport 53 accept\n"
	    "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } "
	    "accept\n");
	write_refusals(b, "");
	for (const char *p = own->data, *end; p != NULL && (end = strchr(p, ',')) != NULL; p = end + 1)
		buf_printf(b, "%s daddr %.*s reject with icmpx host-unreachable\n",
		    memchr(p, ':', (size_t)(end - p)) == NULL ? "ip" : "ip6", (int)(end - p), p);
	buf_printf(b, "ip daddr @range4 ip daddr != @open4 reject with icmpx host-unreachable\n"
		      "ip6 daddr @range6 ip6 daddr != @open6 reject with icmpx host-unreachable\n");
}

static void
write_rules(struct buf *b, const struct net_plan *p, bool logged)
{
	buf_printf(b, "table inet box {\n");
	write_set(b, "range", 4, NULL);
	write_set(b, "range", 6, NULL);
	write_set(b, "open", 4, p->open);
	write_set(b, "open", 6, p->open);
	buf_printf(b, "chain refuse { type filter hook output priority -150; policy accept;\n"
		      "fib daddr type local accept\n");
	if (p->mode == NET_MODE_EGRESS)
		write_egress(b, logged);
	else
		write_slirp(b, &p->own);
	buf_printf(b, "}\n}\n");
	buf_append(b, "", 1);
}

int
netfilter_apply(const struct net_plan *p, bool logged, struct err *e)
{
	struct buf rules = { 0 };

	write_rules(&rules, p, logged);
	int r = rules.failed ? err_set(e, E_SYS, "no memory for the rules of a network") : nft_run(rules.data, e);
	buf_clear(&rules);
	return r;
}

int
netfilter_reopen(const struct strs *open, struct err *e)
{
	struct buf rules = { 0 };

	for (unsigned family = 4; family <= 6; family += 2) {
		struct buf elements = { 0 };

		buf_printf(&rules, "flush set inet box open%u\n", family);
		if (write_open(&elements, open, family))
			buf_printf(
			    &rules, "add element inet box open%u { %.*s }\n", family, (int)elements.len, elements.data);
		rules.failed |= elements.failed;
		buf_clear(&elements);
	}
	buf_append(&rules, "", 1);
	int r = rules.failed ? err_set(e, E_SYS, "no memory for the rules of a network") : nft_run(rules.data, e);
	buf_clear(&rules);
	return r;
}
