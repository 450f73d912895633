/*
 * The network of a sandbox, made by its newborn child while that still has every right over its own namespace.
 *
 *	off, loopback	lo, and nothing else
 *	egress		lo with an address more, so that there is a source to connect from; routes for everything
 *			into lo; and rules (nft.c) that redirect what goes out to a socket made here
 *
 * box-egress gets the sockets and is the only way out.  Init keeps them as well, for whoever comes after a crash.
 */
#ifndef SESSION_NETNS_H
#define SESSION_NETNS_H

#include "err.h"
#include "msg.h"

/* Owned; -1 without. */
struct net_sockets {
	int listener; /* TCP of both families, where all connections end up */
	int dns;      /* UDP, 127.0.0.1 port 53 */
	int refusals; /* netlink: packets that the rules refused; -1 where the kernel has no log for them */
};

#define NET_SOCKETS_NONE ((struct net_sockets){ -1, -1, -1 })

struct net_plan {
	enum net_mode      mode;
	const struct strs *open; /* networks left to box-egress, see worker_start.net_open */
};

/* In the worker, before it clones: what needs the host's libraries. */
int netns_prepare(const struct net_plan *, struct err *);

/* In the child. */
int netns_build(const struct net_plan *, struct net_sockets *, struct err *);

void net_sockets_close(struct net_sockets *);

/* ---- nft.c ---- */

enum { NET_LOG_GROUP = 1 };

/* Load the library; it costs every worker half a millisecond, so only those come here that need it. */
int nft_load(struct err *);

/* Refuse and redirect.  logged: refusals are told to NET_LOG_GROUP. */
int nft_apply(const struct net_plan *, bool logged, struct err *);

#endif
