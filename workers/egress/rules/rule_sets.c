#include "rules/rule_sets.h"

#include <stdlib.h>
#include <string.h>

struct set {
	char                 *name; /* owned */
	struct compiled_rules rules;
};

struct rule_sets {
	size_t     n;
	struct set v[];
};

/* ---- one list ------------------------------------------------------------------- */

static void
add_edge(struct edges *e, uint64_t port)
{
	if (port < 1 || port > UINT16_MAX)
		return;
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i] == port)
			return;
	if (e->n == EDGES_MOST)
		e->many = true;
	else
		e->v[e->n++] = (uint16_t)port;
}

int
compiled_rules_init(struct compiled_rules *l, const struct msg_net_rule *rules, size_t n, struct err *e)
{
	*l = (struct compiled_rules){ 0 };
	if ((l->rules = rules_new(rules, n, e)) == NULL)
		return -1;
	add_edge(&l->edges, 1);
	for (size_t i = 0; i < n && !l->edges.many; i++) {
		add_edge(&l->edges, rules[i].port_low);
		add_edge(&l->edges, rules[i].port_high + 1);
	}
	return 0;
}

void
compiled_rules_clear(struct compiled_rules *l)
{
	rules_drop(&l->rules);
}

/* ---- all of them ------------------------------------------------------------------ */

static int
set_init(struct set *s, const struct msg_net_set *from, struct err *e)
{
	if ((s->name = strdup(from->name)) == NULL)
		return err_set(e, E_SYS, "no memory for rules");
	if (compiled_rules_init(&s->rules, from->rules.v, from->rules.n, e) == -1)
		return err_prefix(e, "set '%s'", from->name);
	return 0;
}

struct rule_sets *
rule_sets_new(const struct msg_net_set *from, size_t n, struct err *e)
{
	struct rule_sets *s = calloc(1, sizeof(*s) + n * sizeof(s->v[0]));

	if (s == NULL) {
		err_set(e, E_SYS, "no memory for rules");
		return NULL;
	}
	s->n = n;
	for (size_t i = 0; i < n; i++)
		if (set_init(&s->v[i], &from[i], e) == -1) {
			rule_sets_free(&s);
			return NULL;
		}
	return s;
}

void
rule_sets_free(struct rule_sets **sp)
{
	struct rule_sets *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	for (size_t i = 0; i < s->n; i++) {
		compiled_rules_clear(&s->v[i].rules);
		free(s->v[i].name);
	}
	free(s);
}

const struct compiled_rules *
rule_sets_find(const struct rule_sets *s, const char *name)
{
	const struct compiled_rules *common = NULL;

	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->v[i].name, name) == 0)
			return &s->v[i].rules;
		if (*s->v[i].name == '\0')
			common = &s->v[i].rules;
	}
	return common;
}
