/*
 * A list is an array of rules, looked at from its beginning; nothing is indexed, because a list is judged once for a
 * connection or a name, and the longest takes well under a millisecond.
 *
 * Two things are guarded: the ranges of netrange.def and the machine's own addresses.  What is guarded is opened by an
 * operator's rule with an address alone, so an "allow" of another kind is passed over there as if it did not match.
 * Ranges that are never opened let every "allow" be passed over.  A "deny" is never passed over.
 */
#include "rules/rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum scope { FOR_ALL, FOR_NETWORK, FOR_NAME, FOR_BELOW };

struct rule {
	enum scope     scope;
	bool           allow;
	uint16_t       port_low, port_high;
	struct netaddr network;
	unsigned       prefix;
	char          *name; /* owned; of FOR_BELOW without its "*." */
	size_t         name_len;
	char          *text; /* owned */
};

struct rules {
	unsigned    owners;
	size_t      n;
	struct rule v[]; /* owned */
};

/* ---- making a list ---------------------------------------------------------------- */

static int
take_network(struct rule *r, const struct msg_net_rule *m, struct err *e)
{
	uint64_t prefix = m->prefix;

	r->scope = FOR_NETWORK;
	if (!netaddr_parse(m->address, &r->network))
		return err_set(e, E_INVALID, "'%s' is not an address", m->address);
	/* an IPv4 address in an IPv6 one is that IPv4 address, and so are networks of them */
	if (r->network.family == 4 && strchr(m->address, ':') != NULL)
		prefix = prefix >= 96 ? prefix - 96 : UINT64_MAX;
	if (prefix > netaddr_bits(&r->network))
		return err_set(e, E_INVALID, "%s has no networks of %lu bits", m->address, m->prefix);
	r->prefix = (unsigned)prefix;
	return 0;
}

static int
take_name(struct rule *r, const struct msg_net_rule *m, struct err *e)
{
	bool        below = strncmp(m->name, "*.", 2) == 0;
	const char *name = m->name + (below ? 2 : 0);
	size_t      n = strlen(name);

	if (n > 0 && name[n - 1] == '.')
		n--;
	if (n == 0 || n > LIM_DNS_NAME || memchr(name, '*', n) != NULL)
		return err_set(e, E_INVALID, "'%s' is not a name", m->name);
	r->scope = below ? FOR_BELOW : FOR_NAME;
	r->name_len = n;
	if ((r->name = strndup(name, n)) == NULL)
		return err_set(e, E_SYS, "no memory for a rule");
	for (char *p = r->name; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return 0;
}

static int
take(struct rule *r, const struct msg_net_rule *m, struct err *e)
{
	r->allow = m->action == RULE_ACTION_ALLOW;
	if (m->port_low > m->port_high || m->port_high > UINT16_MAX)
		return err_set(e, E_INVALID, "%lu-%lu are no ports", m->port_low, m->port_high);
	r->port_low = (uint16_t)m->port_low;
	r->port_high = (uint16_t)m->port_high;
	if (*m->name != '\0' && *m->address != '\0')
		return err_set(e, E_INVALID, "a rule has a name (%s) or an address (%s)", m->name, m->address);
	if (strlen(m->text) > LIM_NET_RULE)
		return err_set(e, E_INVALID, "a rule of more than %d characters", LIM_NET_RULE);
	if ((r->text = strdup(m->text)) == NULL)
		return err_set(e, E_SYS, "no memory for a rule");
	if (*m->address != '\0')
		return take_network(r, m, e);
	return *m->name != '\0' ? take_name(r, m, e) : 0;
}

struct rules *
rules_new(const struct msg_net_rule *from, size_t n, struct err *e)
{
	struct rules *l = calloc(1, sizeof(*l) + n * sizeof(l->v[0]));

	if (l == NULL) {
		err_set(e, E_SYS, "no memory for %zu rules", n);
		return NULL;
	}
	l->owners = 1;
	for (; l->n < n; l->n++)
		if (take(&l->v[l->n], &from[l->n], e) == -1) {
			err_prefix(e, "rule %zu", l->n + 1);
			l->n++; /* what the last one has by now is freed too */
			rules_drop(&l);
			return NULL;
		}
	return l;
}

struct rules *
rules_share(struct rules *l)
{
	if (l != NULL)
		l->owners++;
	return l;
}

void
rules_drop(struct rules **lp)
{
	struct rules *l = *lp;

	*lp = NULL;
	if (l == NULL || --l->owners > 0)
		return;
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].text);
	}
	free(l);
}

/* ---- what a rule matches ------------------------------------------------------------ */

static bool
is_by_name(const struct rule *r)
{
	return r->scope == FOR_NAME || r->scope == FOR_BELOW;
}

/* In any case of letters, and with a dot at the name's end or without. */
static bool
matches_name(const struct rule *r, const char *name)
{
	size_t n = strlen(name);

	if (n > 0 && name[n - 1] == '.')
		n--;
	if (r->scope == FOR_NAME)
		return n == r->name_len && strncasecmp(name, r->name, n) == 0;
	/* something, and a dot, before the rest */
	return r->scope == FOR_BELOW && n > r->name_len + 1 && name[n - r->name_len - 1] == '.' &&
	       strncasecmp(name + n - r->name_len, r->name, r->name_len) == 0;
}

/* *by: the name it matches by, if it is a rule with a name. */
static bool
matches(const struct rule *r, const struct target *t, const char **by)
{
	*by = NULL;
	if (t->port < r->port_low || t->port > r->port_high)
		return false;
	if (r->scope == FOR_ALL)
		return true;
	if (r->scope == FOR_NETWORK)
		return netaddr_within(&t->address, &r->network, r->prefix);
	for (size_t i = 0; i < t->n_names && *by == NULL; i++)
		if (matches_name(r, t->names[i]))
			*by = t->names[i];
	return *by != NULL;
}

/* ---- connections -------------------------------------------------------------------- */

static bool
may_open(const struct rule *r, const struct target *t, const struct netrange *range)
{
	if (range != NULL && range->never)
		return false;
	return r->scope == FOR_NETWORK || (range == NULL && !t->host_own);
}

static const struct rule *
first_of_set(const struct rules *l, const struct target *t, const struct netrange *range, const char **by)
{
	for (size_t i = 0; l != NULL && i < l->n; i++)
		if (matches(&l->v[i], t, by) && (!l->v[i].allow || may_open(&l->v[i], t, range)))
			return &l->v[i];
	return NULL;
}

static const struct rule *
first_of_narrow(const struct rules *l, const struct target *t, const char **by)
{
	for (size_t i = 0; l != NULL && i < l->n; i++)
		if (matches(&l->v[i], t, by))
			return &l->v[i];
	return NULL;
}

static void
put_name(struct verdict *v, const char *name)
{
	snprintf(v->name, sizeof(v->name), "%s", name);
}

static void
built_in(struct verdict *v, bool allowed, const char *what)
{
	v->allowed = allowed;
	snprintf(v->rule, sizeof(v->rule), "built-in: %s", what);
}

static void
built_in_range(struct verdict *v, const struct netrange *r)
{
	v->allowed = false;
	snprintf(v->rule, sizeof(v->rule), "built-in: %s %s/%u", r->what, r->text, r->prefix);
}

static void
by_rule(struct verdict *v, const struct rule *r, const char *by)
{
	v->allowed = r->allow;
	v->by_name = r->allow && by != NULL;
	snprintf(v->rule, sizeof(v->rule), "%s", r->text);
	if (by != NULL)
		put_name(v, by);
}

/* The client's list after the set has allowed: what it allows, it leaves as it is. */
static void
narrow_by(struct verdict *v, const struct rule *r, const char *by)
{
	if (r == NULL)
		return;
	if (!r->allow) {
		by_rule(v, r, by);
	} else if (by != NULL && !v->by_name) {
		v->by_name = true;
		put_name(v, by);
	}
}

/* The rule with an address that decides about an address that another one stands for. */
static const struct rule *
first_of_embedded(const struct rules *l, const struct target *t, const struct netrange *range)
{
	for (size_t i = 0; l != NULL && i < l->n; i++) {
		const struct rule *r = &l->v[i];

		if (r->scope == FOR_NETWORK && t->port >= r->port_low && t->port <= r->port_high &&
		    netaddr_within(&t->embedded, &r->network, r->prefix) &&
		    (!r->allow || range == NULL || !range->never))
			return r;
	}
	return NULL;
}

/*
 * What was allowed for the address as it is must be so for the one that it stands for: that is not denied, and if it is
 * guarded, it is opened.
 */
static void
judge_embedded(const struct rules *set, const struct rules *narrow, const struct target *t, struct verdict *v)
{
	const struct netrange *range = netrange_of(&t->embedded);
	const struct rule     *r = first_of_embedded(set, t, range), *own = first_of_embedded(narrow, t, NULL);

	if (r != NULL && !r->allow)
		by_rule(v, r, NULL);
	else if (r == NULL && range != NULL)
		built_in_range(v, range);
	else if (r == NULL && t->embedded_own)
		built_in(v, false, "this host's own address");
	else if (own != NULL && !own->allow)
		by_rule(v, own, NULL);
	v->by_name &= v->allowed;
}

void
rules_judge(const struct rules *set, const struct rules *narrow, const struct target *t, struct verdict *v)
{
	const struct netrange *range = netrange_of(&t->address);
	const char            *by = NULL;

	*v = (struct verdict){ 0 };
	if (t->n_names > 0)
		put_name(v, t->names[0]);
	if (t->address.family == 0) {
		built_in(v, false, "no address");
		return;
	}
	if (t->boxd_own) {
		built_in(v, false, "a port of boxd");
		return;
	}
	const struct rule *r = first_of_set(set, t, range, &by);
	if (r != NULL)
		by_rule(v, r, by);
	else if (range != NULL)
		built_in_range(v, range);
	else if (t->host_own)
		built_in(v, false, "this host's own address");
	else
		built_in(v, true, "everything else");
	if (v->allowed) {
		r = first_of_narrow(narrow, t, &by);
		narrow_by(v, r, by);
	}
	if (v->allowed && t->embedded.family != 0)
		judge_embedded(set, narrow, t, v);
}

/* ---- names -------------------------------------------------------------------------- */

/* Port 0 is nobody's. */
static bool
is_for_all_ports(const struct rule *r)
{
	return r->port_low <= 1 && r->port_high == UINT16_MAX;
}

static const struct rule *
first_for_name(const struct rules *l, const char *name)
{
	for (size_t i = 0; l != NULL && i < l->n; i++) {
		const struct rule *r = &l->v[i];

		if ((r->allow || is_for_all_ports(r)) && (r->scope == FOR_ALL || matches_name(r, name)))
			return r;
	}
	return NULL;
}

static const char *
named_by(const struct rule *r, const char *name)
{
	return r != NULL && is_by_name(r) ? name : NULL;
}

void
rules_judge_name(const struct rules *set, const struct rules *narrow, const char *name, struct verdict *v)
{
	const struct rule *r = first_for_name(set, name);

	*v = (struct verdict){ 0 };
	put_name(v, name);
	if (r != NULL)
		by_rule(v, r, named_by(r, name));
	else
		built_in(v, true, "everything else");
	if (v->allowed) {
		r = first_for_name(narrow, name);
		narrow_by(v, r, named_by(r, name));
	}
}
