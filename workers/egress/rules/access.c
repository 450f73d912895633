#include "rules/access.h"

#include "base/clock.h"

static double
now_sec(void)
{
	return (double)span_us() / 1e6;
}

static bool
is_boxd_own(const struct access *r, const struct place *p)
{
	return boxd_ports_have(r->boxd_ports, &p->address, p->port, p->way == WAY_OWN) ||
	       (p->embedded.family != 0 && boxd_ports_have(r->boxd_ports, &p->embedded, p->port, p->embedded_own));
}

void
access_place(const struct access *r, const struct netaddr *a, uint16_t port, struct place *p)
{
	*p = (struct place){ .address = *a, .port = port, .way = route_to(r->routes, a) };
	if (netaddr_embedded(a, &p->embedded))
		p->embedded_own = route_to(r->routes, &p->embedded) == WAY_OWN;
	p->boxd_own = is_boxd_own(r, p);
}

void
access_names(const struct access *r, const struct netaddr *a, struct names *names)
{
	names->n = pins_names(r->pins, a, now_sec(), names->v);
}

void
access_pin(struct access *r, const struct netaddr *a, const char *name, uint32_t ttl_sec)
{
	pins_add(r->pins, a, name, ttl_sec, now_sec());
}

static const struct rules *
set_of(const struct access *r)
{
	return r->set != NULL ? r->set->rules : NULL;
}

void
access_judge(const struct access *r, const struct place *p, const char *const *names, size_t n, struct verdict *v)
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
access_judge_name(const struct access *r, const char *name, struct verdict *v)
{
	rules_judge_name(set_of(r), r->narrow.rules, name, v);
}

/* At the ports where this list changes its mind. */
static bool
somewhere_in(
    const struct access *r, struct place *p, const struct compiled_rules *l, const char *name, struct verdict *v)
{
	for (size_t i = 0; i < l->edges.n; i++) {
		p->port = l->edges.v[i];
		p->boxd_own = is_boxd_own(r, p);
		access_judge(r, p, &name, 1, v);
		if (v->allowed)
			return true;
	}
	return false;
}

bool
access_somewhere(const struct access *r, const struct place *at, const char *name, struct verdict *v)
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
	access_judge(r, &p, &name, 1, v);
	return v->allowed;
}
