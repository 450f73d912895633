#include "rules/reach.h"

#include "base/clock.h"

static double
now_sec(void)
{
	return (double)span_us() / 1e6;
}

static bool
is_boxd_own(const struct reach *r, const struct place *p)
{
	return own_is(r->own, &p->address, p->port, p->way == WAY_OWN) ||
	       (p->embedded.family != 0 && own_is(r->own, &p->embedded, p->port, p->embedded_own));
}

void
reach_place(const struct reach *r, const struct netaddr *a, uint16_t port, struct place *p)
{
	*p = (struct place){ .address = *a, .port = port, .way = route_to(r->routes, a) };
	if (netaddr_embedded(a, &p->embedded))
		p->embedded_own = route_to(r->routes, &p->embedded) == WAY_OWN;
	p->boxd_own = is_boxd_own(r, p);
}

void
reach_names(const struct reach *r, const struct netaddr *a, struct names *names)
{
	names->n = pins_names(r->pins, a, now_sec(), names->v);
}

void
reach_pin(struct reach *r, const struct netaddr *a, const char *name, uint32_t ttl_sec)
{
	pins_add(r->pins, a, name, ttl_sec, now_sec());
}

static const struct rules *
set_of(const struct reach *r)
{
	return r->set != NULL ? r->set->rules : NULL;
}

void
reach_judge(const struct reach *r, const struct place *p, const char *const *names, size_t n, struct verdict *v)
{
	struct target t = {
		.address = p->address,
		.port = p->port,
		.embedded = p->embedded,
		.embedded_own = p->embedded_own,
		.host_own = p->way == WAY_OWN,
		.boxd_own = p->boxd_own,
		.names = names,
		.n_names = n,
	};

	rules_judge(set_of(r), r->narrow.rules, &t, v);
}

void
reach_judge_name(const struct reach *r, const char *name, struct verdict *v)
{
	rules_judge_name(set_of(r), r->narrow.rules, name, v);
}

/* At the ports where this list changes its mind. */
static bool
somewhere_in(
    const struct reach *r, struct place *p, const struct compiled_rules *l, const char *name, struct verdict *v)
{
	for (size_t i = 0; i < l->edges.n; i++) {
		p->port = l->edges.v[i];
		p->boxd_own = is_boxd_own(r, p);
		reach_judge(r, p, &name, 1, v);
		if (v->allowed)
			return true;
	}
	return false;
}

bool
reach_somewhere(const struct reach *r, const struct place *at, const char *name, struct verdict *v)
{
	static const struct compiled_rules none;
	struct place                       p = *at;
	const struct compiled_rules       *set = r->set != NULL ? r->set : &none;

	/* too many to try: it will be judged when it is connected to */
	if (set->edges.many || r->narrow.edges.many)
		return true;
	if (somewhere_in(r, &p, set, name, v) || somewhere_in(r, &p, &r->narrow, name, v))
		return true;
	p.port = 443; /* the refusal that most would get */
	reach_judge(r, &p, &name, 1, v);
	return v->allowed;
}
