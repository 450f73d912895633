/* What sessions may reach: every line of network.def's opening, both families, and all of netrange.def. */
#include "tap.h"
#include "workers/egress/rules/rules.h"

enum { MOST = 8 };

/* ---- rules as a person writes them ---- */

static void
parse(struct msg_net_rule *m, const char *text)
{
	static char space[64][2][LIM_NET_RULE];
	static int  at;
	char       *what = space[at % 64][0], *rest = space[at % 64][1], action[8], *slash;
	unsigned    low = 0, high = UINT16_MAX;

	at++;
	*rest = '\0';
	must(sscanf(text, "%7s %255s %255[^\n]", action, what, rest) >= 2, "'%s' is no rule", text);
	msg_defaults(MSG_NET_RULE, m);
	m->text = text;
	m->action = strcmp(action, "allow") == 0 ? RULE_ACTION_ALLOW : RULE_ACTION_DENY;
	if (sscanf(rest, "port %u-%u", &low, &high) == 1)
		high = low;
	m->port_low = low;
	m->port_high = high;
	if (strcmp(what, "all") == 0)
		return;
	if (strpbrk(what, ":/") == NULL && strspn(what, "0123456789.") < strlen(what)) {
		m->name = what;
		return;
	}
	m->address = what;
	m->prefix = strchr(what, ':') != NULL ? 128 : 32;
	if ((slash = strchr(what, '/')) != NULL) {
		sscanf(slash + 1, "%lu", &m->prefix);
		*slash = '\0';
	}
}

static struct rules *
list(const char *const *texts)
{
	struct msg_net_rule m[MOST];
	struct err          e = { 0 };
	size_t              n = 0;

	if (texts == NULL)
		return NULL;
	for (; texts[n] != NULL; n++)
		parse(&m[n], texts[n]);
	struct rules *l = rules_new(m, n, &e);
	must(l != NULL, "%s", e.text);
	return l;
}

#define LIST(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
#define NONE NULL
#define ELSE "built-in: everything else"

/* ---- judging ---- */

static struct target
to(const char *address, uint16_t port)
{
	struct target t = { .port = port };

	must(netaddr_parse(address, &t.address), "'%s' is no address", address);
	return t;
}

static struct target
named(const char *address, uint16_t port, const char *const *names)
{
	struct target t = to(address, port);

	t.names = names;
	while (names[t.n_names] != NULL)
		t.n_names++;
	return t;
}

static struct verdict
judge(const char *const *set, const char *const *narrow, struct target t)
{
	struct rules  *s = list(set), *n = list(narrow);
	struct verdict v;

	rules_judge(s, n, &t, &v);
	rules_drop(&s);
	rules_drop(&n);
	return v;
}

static struct verdict
judge_name(const char *const *set, const char *const *narrow, const char *name)
{
	struct rules  *s = list(set), *n = list(narrow);
	struct verdict v;

	rules_judge_name(s, n, name, &v);
	rules_drop(&s);
	rules_drop(&n);
	return v;
}

static void
allowed(struct verdict v, const char *rule, const char *what)
{
	ok(v.allowed, "allowed: %s", what);
	is(v.rule, rule, "by %s", rule);
}

static void
denied(struct verdict v, const char *rule, const char *what)
{
	ok(!v.allowed && !v.by_name, "denied: %s", what);
	is(v.rule, rule, "by %s", rule);
}

/* ---- addresses that stand for another ---- */

static struct target
translated(const char *address, bool own)
{
	struct target t = to(address, 443);

	must(netaddr_embedded(&t.address, &t.embedded), "%s stands for none", address);
	t.embedded_own = own;
	return t;
}

TEST(embedded)
{
	static const char *const nat64[] = { "allow 64:ff9b::/96", NULL };
	static const char *const lan[] = { "allow 64:ff9b::/96", "allow 10.0.0.0/8", NULL };
	static const char *const no[] = { "deny 8.8.0.0/16", "allow 64:ff9b::/96", NULL };

	denied(
	    judge(NONE, NONE, translated("64:ff9b::8.8.8.8", false)), "built-in: IPv4 by NAT64 64:ff9b::/96", "NAT64");
	allowed(judge(nat64, NONE, translated("64:ff9b::8.8.8.8", false)), nat64[0], "opened, to the internet");
	denied(judge(nat64, NONE, translated("64:ff9b::10.1.2.3", false)), "built-in: private 10.0.0.0/8",
	    "opened, to what is private");
	denied(judge(nat64, NONE, translated("64:ff9b::169.254.169.254", false)),
	    "built-in: link-local and metadata 169.254.0.0/16", "opened, to metadata");
	denied(judge(nat64, NONE, translated("64:ff9b::8.8.8.8", true)), "built-in: this host's own address",
	    "opened, to this host");
	allowed(judge(lan, NONE, translated("64:ff9b::10.1.2.3", false)), nat64[0], "both opened");
	denied(judge(lan, NONE, translated("64:ff9b::127.0.0.1", false)), "built-in: loopback 127.0.0.0/8", "loopback");
	denied(judge(no, NONE, translated("64:ff9b::8.8.8.8", false)), no[0], "denied by what it stands for");
	denied(judge(nat64, no, translated("64:ff9b::8.8.8.8", false)), no[0], "by a client too");
}

/* ---- without any rule ---- */

static void
last_of(const struct netrange *r, struct target *t)
{
	t->address = r->network;
	for (unsigned bit = r->prefix; bit < netaddr_bits(&r->network); bit++)
		t->address.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

/* The same in another range before it, as for ::1 in ::/96. */
static void
range_text(const struct target *t, char text[128])
{
	const struct netrange *r = netrange_of(&t->address);

	snprintf(text, 128, "built-in: %s %s/%u", r->what, r->text, r->prefix);
}

static void
check_range(const struct netrange *r, struct target t, const char *end)
{
	char network[80], narrow[80], want[128];

	range_text(&t, want);
	bool never = netrange_of(&t.address)->never;
	snprintf(network, sizeof(network), "allow %s/%u", r->text, r->prefix);
	snprintf(narrow, sizeof(narrow), "allow %s/%u port 80-90", r->text, r->prefix);
	t.names = LIST("db.example");
	t.n_names = 1;
	denied(judge(NONE, NONE, t), want, end);
	denied(judge(LIST("allow all"), NONE, t), want, "and not opened by allow all");
	denied(judge(LIST("allow db.example", "allow *.example"), NONE, t), want, "nor by a name");
	denied(judge(NONE, LIST(network), t), want, "nor by a client");
	if (strcmp(r->text, "::ffff:0:0") == 0)
		return; /* a rule with such an address is one of IPv4 */
	struct verdict v = judge(LIST("allow all", network), NONE, t);
	if (never)
		denied(v, want, "nor by its address");
	else
		allowed(v, network, "opened by its address");
	t.port = 443;
	denied(judge(LIST(narrow), NONE, t), want, "but not at another port");
}

TEST(ranges)
{
	unsigned               n;
	const struct netrange *all = netranges(&n);

	for (unsigned i = 0; i < n; i++) {
		struct target t = { .address = all[i].network, .port = 80 };

		check_range(&all[i], t, "the first of a range");
		last_of(&all[i], &t);
		check_range(&all[i], t, "the last of a range");
	}
	allowed(judge(NONE, NONE, to("9.255.255.255", 80)), ELSE, "the one before a range");
	allowed(judge(NONE, NONE, to("11.0.0.0", 80)), ELSE, "the one behind it");
	allowed(judge(NONE, NONE, to("2606:4700::1", 443)), ELSE, "IPv6 of the internet");
	denied(judge(NONE, NONE, to("::ffff:10.1.2.3", 80)), "built-in: private 10.0.0.0/8", "IPv4 in IPv6 is IPv4");
	allowed(
	    judge(LIST("allow 10.1.2.3"), NONE, to("::ffff:10.1.2.3", 80)), "allow 10.1.2.3", "and is opened as that");
	denied(judge(LIST("allow ::/0"), NONE, to("10.1.2.3", 80)), "built-in: private 10.0.0.0/8",
	    "not by a network of the other family");
	denied(judge(LIST("allow 0.0.0.0/0"), NONE, to("fd00::1", 80)), "built-in: unique local and metadata fc00::/7",
	    "in both directions");
	allowed(judge(LIST("allow 0.0.0.0/0"), NONE, to("10.1.2.3", 80)), "allow 0.0.0.0/0", "by a larger network");
	denied(judge(LIST("allow 0.0.0.0/0"), NONE, to("127.0.0.1", 80)), "built-in: loopback 127.0.0.0/8",
	    "but never the loopback");
}

/* ---- this machine's own addresses, and boxd's ---- */

TEST(own)
{
	static const char host[] = "built-in: this host's own address", port[] = "built-in: a port of boxd";
	struct target     t = named("93.184.216.34", 443, LIST("me.example"));

	t.host_own = true;
	denied(judge(NONE, NONE, t), host, "an address of this host");
	denied(judge(LIST("allow all"), NONE, t), host, "not by allow all");
	denied(judge(LIST("allow me.example"), NONE, t), host, "not by its name");
	allowed(judge(LIST("allow all", "allow 93.184.216.34"), NONE, t), "allow 93.184.216.34", "by its address");
	denied(judge(NONE, LIST("allow 93.184.216.34"), t), host, "not by a client");
	denied(judge(LIST("allow all", "deny all"), NONE, t), "deny all", "a rule that denies is told");
	t.boxd_own = true;
	denied(judge(LIST("allow 93.184.216.34 port 443"), NONE, t), port, "a port of boxd, by any rule");
	t.host_own = false;
	denied(judge(LIST("allow all", "allow 0.0.0.0/0"), NONE, t), port, "wherever it is");

	t = to("10.0.0.1", 80);
	t.host_own = true;
	denied(
	    judge(NONE, NONE, t), "built-in: private 10.0.0.0/8", "a private address of this host is told as private");
	allowed(judge(LIST("allow 10.0.0.1"), NONE, t), "allow 10.0.0.1", "and one rule opens it");
	t.address.family = 0;
	denied(judge(LIST("allow all"), NONE, t), "built-in: no address", "no address at all");
}

/* ---- the operator's list ---- */

TEST(order)
{
	struct target t = to("93.184.216.34", 443);

	denied(judge(LIST("deny all"), NONE, t), "deny all", "all");
	allowed(judge(LIST("allow all", "deny all"), NONE, t), "allow all", "the first decides");
	denied(judge(LIST("deny 93.184.0.0/16", "allow all"), NONE, t), "deny 93.184.0.0/16", "by network");
	allowed(judge(LIST("deny 93.185.0.0/16", "deny 2000::/3"), NONE, t), ELSE, "other networks do not matter");
	denied(judge(LIST("allow all", "deny 10.0.0.0/8"), NONE, to("10.0.0.1", 80)), "deny 10.0.0.0/8",
	    "an allow that is passed over does not hide a deny behind it");
	allowed(judge(LIST("allow all", "allow 10.0.0.0/8"), NONE, to("10.0.0.1", 80)), "allow 10.0.0.0/8",
	    "nor an allow that counts");
	denied(judge(LIST("deny 10.0.0.1", "allow 10.0.0.0/8"), NONE, to("10.0.0.1", 80)), "deny 10.0.0.1",
	    "one out of an opened network");
	denied(judge(LIST("deny 2606:4700::/32"), NONE, to("2606:4700:1::1", 443)), "deny 2606:4700::/32", "IPv6");
	allowed(judge(LIST("deny 2606:4700::/33"), NONE, to("2606:4700:8000::1", 443)), ELSE, "to the bit");
}

TEST(ports)
{
	const char *const *set = LIST("allow all port 443", "allow all port 8000-8080", "deny all");

	allowed(judge(set, NONE, to("1.1.1.1", 443)), "allow all port 443", "the port");
	denied(judge(set, NONE, to("1.1.1.1", 442)), "deny all", "the one below");
	denied(judge(set, NONE, to("1.1.1.1", 444)), "deny all", "the one above");
	allowed(judge(set, NONE, to("1.1.1.1", 8000)), "allow all port 8000-8080", "the first of several");
	allowed(judge(set, NONE, to("1.1.1.1", 8080)), "allow all port 8000-8080", "the last");
	denied(judge(set, NONE, to("1.1.1.1", 8081)), "deny all", "and no more");
	denied(judge(LIST("deny all port 65535"), NONE, to("::2:1", 65535)), "deny all port 65535", "the highest");
	denied(judge(LIST("deny a.example port 25"), NONE, named("1.1.1.1", 25, LIST("a.example"))),
	    "deny a.example port 25", "with a name");
	allowed(judge(LIST("deny a.example port 25"), NONE, named("1.1.1.1", 26, LIST("a.example"))), ELSE,
	    "only that one");
}

static bool
name_matches(const char *rule, const char *name)
{
	char text[300];

	snprintf(text, sizeof(text), "deny %s", rule);
	return !judge(LIST(text), NONE, named("1.1.1.1", 80, LIST(name))).allowed;
}

TEST(names)
{
	ok(name_matches("example.com", "example.com"), "a name is itself");
	ok(!name_matches("example.com", "www.example.com"), "and not one below it");
	ok(!name_matches("example.com", "example.co"), "nor one like it");
	ok(!name_matches("example.com", "anexample.com"), "nor one that ends so");
	ok(name_matches("*.example.com", "www.example.com"), "a wildcard is what is below");
	ok(name_matches("*.example.com", "a.b.example.com"), "however far");
	ok(!name_matches("*.example.com", "example.com"), "and not the name itself");
	ok(!name_matches("*.example.com", "anexample.com"), "nor one that ends so");
	ok(!name_matches("*.example.com", ".example.com"), "nor nothing before it");
	ok(!name_matches("*.example.com", "www.example.com.evil.org"), "nor one that has it in it");
	ok(name_matches("Example.COM", "example.com") && name_matches("example.com", "EXAMPLE.com"), "in any letters");
	ok(name_matches("*.Example.COM", "WWW.example.com"), "with a wildcard too");
	ok(name_matches("example.com.", "example.com") && name_matches("example.com", "example.com."),
	    "with a dot at the end or without");
	ok(name_matches("*.com", "example.com") && !name_matches("*.com", "com"), "of the first level");
	ok(name_matches("localhost", "localhost"), "of one label");

	struct verdict v = judge(LIST("allow *.b", "deny all"), NONE, named("1.1.1.1", 80, LIST("x.a", "x.b", "y.b")));
	allowed(v, "allow *.b", "one of several names");
	ok(v.by_name, "is by name");
	is(v.name, "x.b", "and tells by which");
	v = judge(LIST("allow *.b", "deny all"), NONE, named("1.1.1.1", 80, LIST("x.a")));
	denied(v, "deny all", "none of its names");
	is(v.name, "x.a", "and tells the first");
	v = judge(LIST("allow *.b", "deny all"), NONE, to("1.1.1.1", 80));
	denied(v, "deny all", "an address without a name");
	is(v.name, "", "and tells none");
	v = judge(LIST("deny *.b"), NONE, named("1.1.1.1", 80, LIST("x.a", "x.b")));
	denied(v, "deny *.b", "one of several is denied");
	is(v.name, "x.b", "and it is told");
	v = judge(LIST("allow 1.1.1.1"), NONE, named("1.1.1.1", 80, LIST("x.a")));
	ok(v.allowed && !v.by_name, "by address is not by name");
	is(v.name, "x.a", "but the name is told");
}

/* ---- the client's list ---- */

TEST(narrow)
{
	struct target  t = named("1.1.1.1", 443, LIST("a.example", "b.example"));
	struct verdict v;

	allowed(judge(NONE, LIST("allow all"), t), ELSE, "what it allows was allowed before");
	denied(judge(NONE, LIST("deny all"), t), "deny all", "it can deny all");
	denied(judge(NONE, LIST("deny all port 443"), t), "deny all port 443", "or a port");
	allowed(judge(NONE, LIST("deny all port 80"), t), ELSE, "no match allows");
	denied(judge(LIST("deny all"), LIST("allow all", "allow 1.1.1.1"), t), "deny all", "it opens nothing");
	v = judge(NONE, LIST("allow b.example", "deny all"), t);
	allowed(v, ELSE, "an allow by name");
	ok(v.by_name, "is by name");
	is(v.name, "b.example", "and tells by which");
	v = judge(LIST("allow *.example", "deny all"), LIST("allow b.example", "deny all"), t);
	allowed(v, "allow *.example", "by name in both");
	is(v.name, "a.example", "tells that of the operator's");
	v = judge(LIST("allow *.example"), LIST("deny b.example"), t);
	denied(v, "deny b.example", "one of the names is denied");
	is(v.name, "b.example", "and it is told");
	denied(judge(LIST("allow 10.0.0.0/8"), LIST("allow 1.1.1.1", "deny all"), to("10.0.0.1", 80)), "deny all",
	    "what an operator opens, it can close");
	v = judge(
	    LIST("allow 10.0.0.0/8"), LIST("allow db.example", "deny all"), named("10.0.0.1", 80, LIST("db.example")));
	allowed(v, "allow 10.0.0.0/8", "opened by address, narrowed to a name");
	ok(v.by_name, "is by name");
	v = judge(LIST("allow 10.0.0.0/8"), LIST("allow all"), named("10.0.0.1", 80, LIST("db.example")));
	ok(v.allowed && !v.by_name, "narrowed to all is not");
}

/* ---- names that are asked for ---- */

TEST(asking)
{
	struct verdict v = judge_name(NONE, NONE, "a.example");

	allowed(v, ELSE, "any name");
	ok(!v.by_name, "not by name");
	is(v.name, "a.example", "which is told");
	denied(judge_name(LIST("deny all"), NONE, "a.example"), "deny all", "none at all");
	v = judge_name(LIST("allow *.example", "deny all"), NONE, "a.example");
	allowed(v, "allow *.example", "one that may be reached");
	ok(v.by_name, "by name");
	denied(judge_name(LIST("allow *.example", "deny all"), NONE, "example"), "deny all", "one that may not");
	v = judge_name(LIST("deny a.example"), NONE, "a.example");
	denied(v, "deny a.example", "one by name");
	is(v.name, "a.example", "which is told");
	allowed(judge_name(LIST("deny a.example port 25", "deny all port 80-443"), NONE, "a.example"), ELSE,
	    "denied at some ports only");
	denied(judge_name(LIST("deny a.example port 1-65535"), NONE, "a.example"), "deny a.example port 1-65535",
	    "at all ports there are");
	allowed(judge_name(LIST("allow a.example port 443", "deny all"), NONE, "a.example"), "allow a.example port 443",
	    "allowed at one port");
	denied(judge_name(LIST("allow 10.0.0.0/8", "deny all"), NONE, "a.example"), "deny all",
	    "rules with an address do not matter");
	allowed(judge_name(LIST("deny 0.0.0.0/0"), NONE, "a.example"), ELSE, "of either kind");
	denied(
	    judge_name(LIST("allow all"), LIST("allow b.example", "deny all"), "a.example"), "deny all", "by a client");
	v = judge_name(LIST("allow all"), LIST("allow b.example", "deny all"), "b.example");
	allowed(v, "allow all", "by both");
	ok(v.by_name, "the client's was by name");
	denied(judge_name(LIST("deny all"), LIST("allow all"), "a.example"), "deny all", "a client opens nothing");
}

/* ---- lists that are none ---- */

static void
refused(struct msg_net_rule m, const char *want)
{
	struct msg_net_rule two[2] = { m, m };
	struct err          e = { 0 };

	msg_defaults(MSG_NET_RULE, &two[0]);
	two[0].name = "good.example";
	ok(rules_new(two, 2, &e) == NULL && e.code == E_INVALID, "refused: %s", want);
	is(e.text, want, "with the reason");
}

TEST(refusals)
{
	struct msg_net_rule m;
	char                long_name[LIM_DNS_NAME + 2] = "";

#define RULE(...) (msg_defaults(MSG_NET_RULE, &m), __VA_ARGS__, m)
	refused(RULE(m.address = "10.0.0"), "rule 2: '10.0.0' is not an address");
	refused(RULE(m.address = "example.com"), "rule 2: 'example.com' is not an address");
	refused(RULE(m.address = "10.0.0.0", m.prefix = 33), "rule 2: 10.0.0.0 has no networks of 33 bits");
	refused(
	    RULE(m.address = "::ffff:10.0.0.0", m.prefix = 95), "rule 2: ::ffff:10.0.0.0 has no networks of 95 bits");
	refused(RULE(m.port_low = 2, m.port_high = 1), "rule 2: 2-1 are no ports");
	refused(RULE(m.port_high = 65536), "rule 2: 0-65536 are no ports");
	refused(RULE(m.address = "1.1.1.1", m.name = "a.b"), "rule 2: a rule has a name (a.b) or an address (1.1.1.1)");
	refused(RULE(m.name = "*."), "rule 2: '*.' is not a name");
	refused(RULE(m.name = "*"), "rule 2: '*' is not a name");
	refused(RULE(m.name = "a.*.b"), "rule 2: 'a.*.b' is not a name");
	memset(long_name, 'x', LIM_DNS_NAME + 1);
	struct err e = { 0 };
	m = RULE(m.name = long_name);
	ok(rules_new(&m, 1, &e) == NULL, "refused: a name that is too long");

	m = RULE(m.address = "::ffff:10.0.0.0", m.prefix = 104, m.text = "mapped", m.action = RULE_ACTION_ALLOW);
	struct rules  *l = rules_new(&m, 1, &e);
	struct target  t = to("10.9.9.9", 80);
	struct verdict v;
	rules_judge(l, NULL, &t, &v);
	allowed(v, "mapped", "a network of IPv4 addresses in IPv6 ones is theirs");
	rules_drop(&l);
}

TEST(sharing)
{
	struct rules  *a = list(LIST("deny all")), *b = rules_share(a);
	struct target  t = to("1.1.1.1", 80);
	struct verdict v;
	struct err     e = { 0 };

	rules_drop(&a);
	ok(a == NULL, "dropped by one");
	rules_judge(b, NULL, &t, &v);
	denied(v, "deny all", "the other still has it");
	rules_drop(&b);
	rules_drop(&b);
	ok(rules_share(NULL) == NULL, "no list is shared as none");
	a = rules_new(NULL, 0, &e);
	rules_judge(a, a, &t, &v);
	allowed(v, ELSE, "an empty list is none");
	rules_drop(&a);
}
