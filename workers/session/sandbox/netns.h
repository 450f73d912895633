/*
 * The network of a sandbox, made by its newborn child while that still has every right over its own namespace.
 *
 *	off, loopback	lo, and nothing else
 *	egress		lo with an address more, so that there is a source to connect from; routes for everything
 *			into lo; and rules (netfilter.c) that redirect what goes out to a socket made here
 *
 *	slirp		what slirp4netns sets up from outside, and rules that refuse the same ranges
 *
 * box-egress gets the sockets and is the only way out.  Init keeps them as well, for whoever comes after a crash.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/slirp.h"
#include "wire/msg.h"

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
	struct slirp       slirp;
	struct buf         own; /* slirp: addresses of the host, with commas behind each */
};

/* In the worker, before it clones: what needs the host's libraries and programs; and when it has. */
int  netns_prepare(struct net_plan *, struct err *);
int  netns_born(struct net_plan *, const struct cgroup *, pid_t, struct err *);
void net_plan_clear(struct net_plan *);

/* In the child: while the host's /proc is there, and when the root is built. */
void netns_enter(const struct net_plan *);
int  netns_build(const struct net_plan *, struct net_sockets *, struct err *);

void net_sockets_close(struct net_sockets *);

/* ---- netfilter.c ---- */

/* Refuse and redirect.  logged: refusals are sent to NET_LOG_GROUP. */
int netfilter_apply(const struct net_plan *, bool logged, struct err *);

/* In the namespace of a sandbox that lives: these networks are left to box-egress from now on. */
int netfilter_reopen(const struct strs *open, struct err *);
