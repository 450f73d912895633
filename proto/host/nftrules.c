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
 *
 * Each line is a command of its own, so that the one which is refused can be named.  Protocols are given by number:
 * libnftables looks names up in /etc/protocols, which not every machine has.
 */
#include "host/nftrules.h"

#include <stdio.h>
#include <string.h>

#include "base/bounds.h"
#include "base/netaddr.h"

#define REFUSE "add rule inet box refuse "
#define DIVERT "add rule inet box divert "
#define OWN "add rule inet box own "

#define OWN_DNS "ip daddr 127.0.0.1 tcp dport 53 "

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

	buf_printf(b, "add set inet box %s%u { type ipv%u_addr; flags interval; auto-merge;", name, family, family);
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
	buf_printf(b, REFUSE "meta l4proto 6 ip daddr @range4 ip daddr != @open4 %sreject with tcp reset\n", log);
	buf_printf(b, REFUSE "meta l4proto 6 ip6 daddr @range6 ip6 daddr != @open6 %sreject with tcp reset\n", log);
}

/* Those that are tracked: to anywhere else, and DNS. */
static void
write_rates(struct buf *b, const char *which, int per_sec, int burst, const char *log)
{
	buf_printf(b,
	    REFUSE
	    "%stcp flags & (syn | ack) == syn limit rate over %d/second burst %d packets %sreject with tcp reset\n",
	    which, per_sec, burst, log);
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
	write_rates(b, OWN_DNS, NET_DNS_PER_SEC, NET_DNS_BURST, too_fast);
	buf_printf(b, REFUSE "fib daddr type local accept\n");
	/* ICMP is the kernel's own here: no command has a socket for it */
	buf_printf(b, REFUSE "meta l4proto { 1, 58 } drop\n");
	buf_printf(b, REFUSE "meta l4proto != 6 %sreject with icmpx host-unreachable\n", log);
	write_refusals(b, log);
	write_rates(b, "", NET_PER_SEC, NET_BURST, too_fast);
	buf_printf(b, "add chain inet box divert { type nat hook output priority -100; policy accept; }\n"
		      "add chain inet box own { type filter hook output priority -300; policy accept; }\n");
	buf_printf(b, DIVERT OWN_DNS "redirect to :%d\n", NET_PORT);
	buf_printf(b, DIVERT "fib daddr type local return\n");
	buf_printf(b, DIVERT "meta l4proto 6 redirect to :%d\n", NET_PORT);
	buf_printf(b, OWN "tcp sport %d return\n", NET_PORT);
	buf_printf(b, OWN OWN_DNS "return\n");
	buf_printf(b, OWN "fib daddr type local notrack\n");
}

/* Neighbours are found by ICMPv6 to link-local and multicast addresses. */
static void
write_slirp(struct buf *b, const char *own)
{
	buf_printf(b, REFUSE "fib daddr type local accept\n" REFUSE "ip daddr " SLIRP_DNS
			     " meta l4proto { 6, 17 } th dport 53 accept\n" REFUSE "icmpv6 type { nd-neighbor-solicit, "
			     "nd-neighbor-advert, nd-router-solicit, mld2-listener-report } accept\n");
	write_refusals(b, "");
	for (const char *p = own, *end; p != NULL && (end = strchr(p, ',')) != NULL; p = end + 1)
		buf_printf(b, REFUSE "%s daddr %.*s reject with icmpx host-unreachable\n",
		    memchr(p, ':', (size_t)(end - p)) == NULL ? "ip" : "ip6", (int)(end - p), p);
	buf_printf(b, REFUSE "ip daddr @range4 ip daddr != @open4 reject with icmpx host-unreachable\n");
	buf_printf(b, REFUSE "ip6 daddr @range6 ip6 daddr != @open6 reject with icmpx host-unreachable\n");
}

void
nftrules_write(struct buf *b, const struct nft_plan *p)
{
	buf_printf(b, "add table inet box\n");
	write_set(b, "range", 4, NULL);
	write_set(b, "range", 6, NULL);
	write_set(b, "open", 4, p->open);
	write_set(b, "open", 6, p->open);
	buf_printf(b, "add chain inet box refuse { type filter hook output priority -150; policy accept; }\n");
	if (p->mode == NET_MODE_EGRESS)
		write_egress(b, p->logged);
	else
		write_slirp(b, p->own);
	buf_append(b, "", 1);
}

void
nftrules_reopen(struct buf *b, const struct strs *open)
{
	for (unsigned family = 4; family <= 6; family += 2) {
		struct buf elements = { 0 };

		buf_printf(b, "flush set inet box open%u\n", family);
		if (write_open(&elements, open, family))
			buf_printf(
			    b, "add element inet box open%u { %.*s }\n", family, (int)elements.len, elements.data);
		b->failed |= elements.failed;
		buf_clear(&elements);
	}
	buf_append(b, "", 1);
}
