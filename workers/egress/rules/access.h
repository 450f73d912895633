/* May this session get there?  Rules, the names it was told, and what this machine knows of the address. */
#pragma once

#include "dns/pins.h"
#include "rules/boxd_ports.h"
#include "rules/route.h"
#include "rules/rules.h"
#include "rules/rule_sets.h"

struct access {
	const struct compiled_rules *set;    /* borrowed; NULL: there are no rules, and what is built in holds */
	struct compiled_rules        narrow; /* owned; without rules: the client has set itself no bounds */
	struct pins                 *pins;   /* owned */
	struct routes               *routes; /* borrowed, like the next */
	const struct boxd_ports     *boxd_ports;
};

struct place {
	struct netaddr address;
	uint16_t       port;
	enum way       way;
	struct netaddr embedded;     /* that it stands for; of no family: none */
	bool           embedded_own; /* that is an address of this machine */
	bool           boxd_own;     /* a port of boxd */
};

struct names {
	const char *v[PIN_NAMES]; /* valid until the next access_pin */
	size_t      n;
};

void access_place(const struct access *, const struct netaddr *, uint16_t port, struct place *);

/* What it was told this address for. */
void access_names(const struct access *, const struct netaddr *, struct names *);
void access_pin(struct access *, const struct netaddr *, const char *name, uint32_t ttl_sec);

void access_judge(
    const struct access *, const struct place *, const char *const *names, size_t n_names, struct verdict *);
void access_judge_name(const struct access *, const char *name, struct verdict *);

/*
 * Is there a port at which this address, told for that name, could be had?  Asked of what is guarded, for which an
 * answer must not be passed on; false fills the verdict.
 */
bool access_somewhere(const struct access *, const struct place *, const char *name, struct verdict *);
