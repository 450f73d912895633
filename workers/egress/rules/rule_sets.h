/* The lists of rules, by the names of their sets. */
#pragma once

#include "rules/rules.h"
#include "wire/msg.h"

enum { EDGES_MOST = 64 };

/*
 * Ports at which the rules of a list begin or end: between two of them all ports are treated alike.  They answer
 * whether there is any port at all that a list lets through.
 */
struct edges {
	bool     many; /* more than are here */
	size_t   n;
	uint16_t v[EDGES_MOST];
};

struct compiled_rules {
	struct rules *rules; /* owned */
	struct edges  edges;
};

int  compiled_rules_init(struct compiled_rules *, const struct msg_net_rule *, size_t n, struct err *);
void compiled_rules_clear(struct compiled_rules *);

struct rule_sets;

struct rule_sets *rule_sets_new(const struct msg_net_set *, size_t n, struct err *); /* NULL and the reason */
void              rule_sets_free(struct rule_sets **);

/* The set of this name, else the one without a name; NULL if there are no sets, and so no rules. */
const struct compiled_rules *rule_sets_find(const struct rule_sets *, const char *name);
