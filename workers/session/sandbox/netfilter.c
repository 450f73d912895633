/* Loads the rules of proto/host/nftrules.c into a sandbox's namespace. */
#include "base/buf.h"
#include "host/nft.h"
#include "host/nftrules.h"
#include "sandbox/netns.h"

/* Takes the text. */
static int
load(struct buf *rules, int (*run)(const char *, struct err *), struct err *e)
{
	struct err why;
	int        r = 0;

	if (rules->failed)
		r = err_set(e, E_SYS, "no memory for the rules of a network");
	else if (run(rules->data, &why) == -1)
		r = err_set(
		    e, E_BACKEND, "network: on: %s; remedy: " NFT_REMEDY ", or network_on = loopback", why.text);
	buf_clear(rules);
	return r;
}

int
netfilter_apply(const struct net_plan *p, bool logged, struct err *e)
{
	struct nft_plan plan = { p->mode, p->open, p->own.data, logged };
	struct buf      rules = { 0 };

	nftrules_write(&rules, &plan);
	return load(&rules, nft_fill, e);
}

int
netfilter_reopen(const struct strs *open, struct err *e)
{
	struct buf rules = { 0 };

	nftrules_reopen(&rules, open);
	return load(&rules, nft_run, e);
}
