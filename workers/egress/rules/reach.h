/* May this session get there?  Rules, the names it was told, and what this machine knows of the address. */
#ifndef EGRESS_REACH_H
#define EGRESS_REACH_H

#include "dns/pins.h"
#include "rules/own.h"
#include "rules/route.h"
#include "rules/rules.h"
#include "rules/rule_sets.h"

struct reach {
	const struct compiled_rules *set;    /* borrowed; NULL: there are no rules, and what is built in holds */
	struct compiled_rules        narrow; /* owned; without rules: the client has set itself no bounds */
	struct pins                 *pins;   /* owned */
	struct routes               *routes; /* borrowed, like the next */
	const struct own            *own;
};

struct place {
	struct netaddr address;
	uint16_t       port;
	enum way       way;
	struct netaddr embedded;     /* that it stands for; of no family: none */
	bool           embedded_own; /* that is an address of this machine */
	bool           boxd_own;     /* a door of boxd */
};

struct names {
	const char *v[PIN_NAMES]; /* valid until the next reach_pin */
	size_t      n;
};

void reach_place(const struct reach *, const struct netaddr *, uint16_t port, struct place *);

/* What it was told this address for. */
void reach_names(const struct reach *, const struct netaddr *, struct names *);
void reach_pin(struct reach *, const struct netaddr *, const char *name, uint32_t ttl_sec);

void reach_judge(
    const struct reach *, const struct place *, const char *const *names, size_t n_names, struct verdict *);
void reach_judge_name(const struct reach *, const char *name, struct verdict *);

/*
 * Is there a port at which this address, told for that name, could be had?  Asked of what is guarded, for which an
 * answer must not be passed on; false fills the verdict.
 */
bool reach_somewhere(const struct reach *, const struct place *, const char *name, struct verdict *);

#endif
