/*
 * The rules of a sandbox's network namespace, as text for nft.h.  A session loads them, and so does doctor in a namespace
 * that it throws away: what doctor says about a machine is about these rules.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/msg.h"

/* Borrowed, all of it. */
struct nft_plan {
	enum net_mode      mode;   /* NET_MODE_EGRESS or NET_MODE_SLIRP */
	const struct strs *open;   /* networks left to box-egress, see worker_start.net_open */
	const char        *own;    /* slirp: addresses of the host, a comma behind each; may be NULL */
	bool               logged; /* egress: refusals are sent to NET_LOG_GROUP */
};

/* Everything at once, for a namespace that has none.  The text ends with a NUL; look at .failed. */
void nftrules_write(struct buf *, const struct nft_plan *);

/* These networks are left to box-egress from now on. */
void nftrules_reopen(struct buf *, const struct strs *open);
