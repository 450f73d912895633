/* The rooms of a tenant: tenant.c its life, tenant_accept.c its connections, tenant_tell.c what is said of it. */
#ifndef EGRESS_TENANT_IMPL_H
#define EGRESS_TENANT_IMPL_H

#include "flow/flow.h"
#include "rules/denials.h"
#include "rules/reach.h"
#include "tenant.h"

struct tenant {
	struct egress      *egress;
	uint64_t            id;
	char               *set; /* owned; whose rules */
	struct reach        reach;
	int                 listener, refusals; /* owned; the latter may be -1 */
	ev_io               knocking;           /* at the listener; runs unless looking away */
	ev_timer            away;               /* runs while the kernel has no room */
	ev_io               refused;
	struct dns         *dns; /* owned */
	struct party        party;
	struct flow_home    home;
	struct flow_list    flows;   /* owned */
	struct msg_net_info numbers; /* without lists */
	struct denials      denials;
	struct trickle      trickle;
	ev_timer            telling; /* runs from a change of the numbers until they are told */
};

/* Numbers have changed: they are told soon. */
void tenant_changed(struct tenant *);

/* Count a denial, keep it, and tell it to the log.  An address of no family: none. */
void tenant_deny(
    struct tenant *, enum net_kind, const char *name, const struct netaddr *, uint16_t port, const char *rule);
void tenant_remember(struct tenant *, const struct msg_net_info *before);

/* All that was refused before now is counted. */
void tenant_catch_up(struct tenant *);

void tenant_tell_init(struct tenant *);

/* Connections that wait at the listener, up to so many. */
void tenant_accept(struct tenant *, int most);
int  tenant_accept_init(struct tenant *, struct err *);

extern const struct flow_ops tenant_flow_ops;

#endif
