/* The rules of a sandbox's network are taken by the kernel, need no names of protocols, and a refusal tells which and why. */
#include <sched.h>

#include "host/nft.h"
#include "host/nftrules.h"
#include "tap.h"

static const char       *networks[] = { "10.0.0.0/8", "2001:db8::/32", NULL };
static const struct strs none, some = { 2, networks };

static void
loads(const struct nft_plan *plan, const char *what)
{
	struct buf rules = { 0 };
	struct err e = { 0 };

	nftrules_write(&rules, plan);
	ok(!rules.failed && nft_run(rules.data, &e) == 0, "%s: %s", what, e.text);
	for (const char *p = rules.data; (p = strstr(p, "l4proto ")) != NULL; p += 8)
		ok(strspn(p + 8, "!={ ") == strcspn(p + 8, "0123456789"), "a number, not a name: %.12s", p);
	buf_clear(&rules);
	nftrules_reopen(&rules, &some);
	ok(nft_run(rules.data, &e) == 0, "other networks are left to box-egress: %s", e.text);
	buf_clear(&rules);
	ok(nft_run("delete table inet box\n", &e) == 0, "it is all in one table");
}

static const char *
refused(const char *rules)
{
	static struct err e;

	return nft_fill(rules, &e) == -1 ? e.text : "taken";
}

#define CHAIN "add table inet box\nadd chain inet box c { type filter hook output priority 0; }\n"

static void
test_refusals(void)
{
	struct err e;

	is(refused(CHAIN "add rule inet box c meta l4proto nosuch drop\n"),
	    "nftables refuses \"add rule inet box c meta l4proto nosuch drop\": Could not resolve protocol name",
	    "a name that is none");
	/* redirect is for chains that translate */
	is(refused(CHAIN "add rule inet box c meta l4proto 6 redirect to :1\nadd rule inet box c drop\n"),
	    "nftables refuses \"add rule inet box c meta l4proto 6 redirect to :1\": Could not process rule: "
	    "Operation not supported",
	    "what the kernel refuses");
	ok(nft_run("delete table inet box\nnonsense\n", &e) == -1, "what is no rule");
	like(e.text, "^nftables: syntax error", "is told so");
	ok(nft_run("delete table inet box\n", &e) == 0, "and nothing beside it was done");
}

int
main(void)
{
	struct err e;

	if (nft_load(&e) == -1)
		plan(SKIP_ALL, e.text);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1)
		plan(SKIP_ALL, "no network namespace of its own here");
	loads(&(struct nft_plan){ NET_MODE_EGRESS, &none, NULL, true }, "egress, with a log");
	loads(&(struct nft_plan){ NET_MODE_EGRESS, &some, NULL, false }, "egress, with networks opened");
	loads(&(struct nft_plan){ NET_MODE_SLIRP, &some, "192.0.2.7,2001:db8::7,", false }, "slirp");
	test_refusals();
	done_testing();
}
