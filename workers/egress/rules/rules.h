/*
 * What a session may reach: two lists of rules that must both allow, the operator's set and the client's own, and
 * behind the set the ranges of netrange.def.  See proto/messages/network.def for what a rule matches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/netaddr.h"
#include "wire/msg.h"

/* One list.  It never changes, and is counted: sessions share their set. */
struct rules;

/* Copies.  NULL and the reason: a rule whose address or ports are none. */
struct rules *rules_new(const struct msg_net_rule *, size_t n, struct err *);
struct rules *rules_share(struct rules *);
void          rules_drop(struct rules **);

/* Where a connection wants to go. */
struct target {
	struct netaddr     address;
	uint16_t           port;
	struct netaddr     embedded;     /* that it stands for; of no family: none */
	bool               embedded_own; /* that is an address of this machine */
	bool               host_own;     /* an address of this machine, or a broadcast or multicast of its networks */
	bool               boxd_own;     /* a port of boxd: no rule opens it */
	const char *const *names;        /* that the session was told this address for */
	size_t             n_names;
};

struct verdict {
	bool allowed;
	bool by_name; /* allowed by a rule that names a name, in one of the lists: it counts only for that name */
	char rule[LIM_NET_RULE + 1]; /* that decided: its text; of the ranges "built-in: private 10.0.0.0/8" */
	char name[LIM_DNS_NAME + 1]; /* that it matched by, else the first of the target; empty: none */
};

/* NULL for a list: it is missing and narrows nothing. */
void rules_judge(const struct rules *set, const struct rules *narrow, const struct target *, struct verdict *);

/*
 * May this name be asked for?  A rule that denies some ports only does not decide, and neither does one with an
 * address.  The name is in lower case and has no dot at its end.
 */
void rules_judge_name(const struct rules *set, const struct rules *narrow, const char *name, struct verdict *);
