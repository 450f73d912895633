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
 */
#include <dlfcn.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "netaddr.h"
#include "netns.h"

#define LIBRARY "libnftables.so.1"

static struct {
	struct nft_ctx *(*ctx_new)(uint32_t);
	void (*ctx_free)(struct nft_ctx *);
	int (*buffer_error)(struct nft_ctx *);
	const char *(*error)(struct nft_ctx *);
	int (*run)(struct nft_ctx *, const char *);
} nft;

int
nft_load(struct err *e)
{
	const struct {
		const char *name;
		void       *to;
	} calls[] = {
		{ "nft_ctx_new", &nft.ctx_new },
		{ "nft_ctx_free", &nft.ctx_free },
		{ "nft_ctx_buffer_error", &nft.buffer_error },
		{ "nft_ctx_get_error_buffer", &nft.error },
		{ "nft_run_cmd_from_buffer", &nft.run },
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return err_set(
		    e, E_BACKEND, "network: on needs %s: %s; remedy: install libnftables", LIBRARY, dlerror());
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *found = dlsym(library, calls[i].name);

		if (found == NULL)
			return err_set(e, E_BACKEND, "network: on: %s has no %s", LIBRARY, calls[i].name);
		memcpy(calls[i].to, &found, sizeof(found));
	}
	return 0;
}

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

static void
write_rules(struct buf *b, const struct net_plan *p, bool logged)
{
	char log[64] = "";

	if (logged)
		snprintf(log, sizeof(log), "log group %d snaplen 96 ", NET_LOG_GROUP);
	buf_printf(b, "table inet box {\n");
	write_set(b, "range", 4, NULL);
	write_set(b, "range", 6, NULL);
	write_set(b, "open", 4, p->open);
	write_set(b, "open", 6, p->open);
	buf_printf(b,
	    "chain refuse { type filter hook output priority -150; policy accept;\n"
	    "fib daddr type local accept\n"
	    "meta l4proto != tcp %sreject with icmpx host-unreachable\n"
	    "ip daddr @open4 accept\n"
	    "ip6 daddr @open6 accept\n"
	    "ip daddr @range4 %sreject with tcp reset\n"
	    "ip6 daddr @range6 %sreject with tcp reset\n"
	    "}\n",
	    log, log, log);
	buf_printf(b,
	    "chain divert { type nat hook output priority -100; policy accept;\n"
	    "ip daddr 127.0.0.1 tcp dport 53 redirect to :%d\n"
	    "fib daddr type local return\n"
	    "meta l4proto tcp redirect to :%d\n"
	    "}\n}\n",
	    NET_PORT, NET_PORT);
	buf_append(b, "", 1);
}

static int
run(const char *rules, struct err *e)
{
	struct nft_ctx *ctx = nft.ctx_new(NFT_CTX_DEFAULT);

	if (ctx == NULL)
		return err_set(e, E_SYS, "nftables: no context");
	nft.buffer_error(ctx);
	int r = nft.run(ctx, rules);
	if (r != 0) {
		const char *why = nft.error(ctx);
		size_t      n = strcspn(why, "\n");

		err_set(e, E_BACKEND,
		    "network: on needs nftables with nat, redirect, reject and fib in the kernel, which says: %.*s; "
		    "remedy: "
		    "modprobe nft_redir nft_reject_inet nft_fib_inet, or network_on = slirp",
		    (int)(n > 200 ? 200 : n), why);
	}
	nft.ctx_free(ctx);
	return r == 0 ? 0 : -1;
}

int
nft_apply(const struct net_plan *p, bool logged, struct err *e)
{
	struct buf rules = { 0 };

	write_rules(&rules, p, logged);
	int r = rules.failed ? err_set(e, E_SYS, "no memory for the rules of a network") : run(rules.data, e);
	buf_clear(&rules);
	return r;
}
