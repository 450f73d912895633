/* The rooms of a tenant: tenant.c its life, net_session_accept.c its connections, net_session_tell.c what is said of it. */
#pragma once

#include "flow/flow.h"
#include "rules/denials.h"
#include "rules/access.h"
#include "net_session.h"

struct net_session {
	struct egress *egress;
	uint64_t       id;
	char          *set; /* owned; whose rules */
	struct access  access;
	int            listener, refusals; /* owned; the latter may be -1 */
	ev_io          knocking;           /* at the listener; runs unless looking away */
	ev_timer       away;               /* runs while the kernel has no room */
	ev_io          refused;
	struct dns    *dns; /* owned */
	struct fairq_class class;
	struct flow_home    home;
	struct flow_list    flows;   /* owned */
	struct msg_net_info numbers; /* without lists */
	struct denials      denials;
	struct trickle      trickle;
	ev_timer            telling; /* runs from a change of the numbers until they are reported */
};

/* Numbers have changed: report them soon. */
void net_session_changed(struct net_session *);

/* Count a denial, keep it, and tell it to the log.  An address of no family: none. */
void net_session_deny(
    struct net_session *, enum net_kind, const char *name, const struct netaddr *, uint16_t port, const char *rule);
void net_session_remember(struct net_session *, const struct msg_net_info *before);

/* All that was refused before now is counted. */
void net_session_catch_up(struct net_session *);

void net_session_tell_init(struct net_session *);

/* Connections that wait at the listener, up to this number. */
void net_session_accept(struct net_session *, int most);
int  net_session_accept_init(struct net_session *, struct err *);

extern const struct flow_ops net_session_flow_ops;
