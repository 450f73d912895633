/* The operator's file of rules, and a client's own. */
#include "supervisor/config/netrule.h"
#include "supervisor/config/netrules.h"
#include "tap.h"

TEST(reads_a_rule)
{
	struct netrule r;
	struct err     e;

	ok(netrule_parse(&r, "  allow \t Packages.Example.org.  port 443 ", &e) == 0, "a name and a port");
	is(r.name, "packages.example.org", "in lower case, without its dot");
	ok(r.action == RULE_ACTION_ALLOW && r.port_low == 443 && r.port_high == 443, "allowed, that port");
	is(r.text, "allow Packages.Example.org. port 443", "its text");
	ok(netrule_parse(&r, "deny *.example.com", &e) == 0 && r.port_low == 0 && r.port_high == 65535, "all ports");
	is(r.name, "*.example.com", "all below a name");
	ok(netrule_parse(&r, "deny all", &e) == 0 && *r.name == '\0' && *r.address == '\0', "all");
	ok(netrule_parse(&r, "allow 10.0.0.0/8 port 80-90", &e) == 0 && r.prefix == 8 && r.port_high == 90,
	    "a network");
	is(r.address, "10.0.0.0", "its address");
	ok(netrule_parse(&r, "allow 2001:DB8::/32", &e) == 0 && r.prefix == 32, "of IPv6");
	is(r.address, "2001:db8::", "its address");
	ok(netrule_parse(&r, "allow 1.2.3.4", &e) == 0 && r.prefix == 32, "an address is a network of one");
	ok(netrule_parse(&r, "allow 0.0.0.0/0", &e) == 0 && r.prefix == 0, "all of a family");
}

TEST(refuses_a_rule)
{
	static const char *const rows[][2] = {
		{ "", "too few words" },
		{ "allow", "too few words; a rule is: allow" },
		{ "allow all port", "not enough words" },
		{ "allow all port 1 2", "too many words" },
		{ "permit all", "the first word 'permit' should be allow or deny" },
		{ "allow all ports 1", "the third word 'ports' should be port" },
		{ "allow all port 0x1", "the port '0x1' should be" },
		{ "allow all port 65536", "the port '65536'" },
		{ "allow all port 9-1", "the port '9-1'" },
		{ "allow all port -1", "the port '-1'" },
		{ "allow 10.0.0.1/8", "10.0.0.1/8 is not a network" },
		{ "allow 10.0.0.0/33", "the prefix '33' should be a number up to 32" },
		{ "allow 10.0.0.0/", "the prefix '' should be" },
		{ "allow 10.0.0/8", "the address '10.0.0' is not valid" },
		{ "allow 10.0.0", "is not a name, an address" },
		{ "allow *", "is not a name" },
		{ "allow a.*.b", "is not a name" },
		{ "allow a..b", "is not a name" },
		{ "allow .a", "is not a name" },
		{ "allow ex\xc3\xa4mple.org", "is not a name" },
		{ "allow a/b", "the address 'a' is not valid" },
	};
	struct netrule r;
	struct err     e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ok(netrule_parse(&r, rows[i][0], &e) == -1 && e.code == E_INVALID, "refused: '%s'", rows[i][0]);
		like(e.text, rows[i][1], "and why");
	}
	char long_one[LIM_NET_RULE + 32];
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	memcpy(long_one, "allow ", 6);
	ok(netrule_parse(&r, long_one, &e) == -1, "one that is too long");
}

static char file[] = "/tmp/boxd-t-rules.XXXXXX";

static struct netrules *
read_text(const char *text, struct err *e)
{
	FILE *f = fopen(file, "w");

	fputs(text, f);
	fclose(f);
	return netrules_read(file, e);
}

TEST(reads_a_file)
{
	struct err       e;
	struct netrules *r = read_text("# all get these\n"
				       "allow packages.example.org port 443   # packages\n\n"
				       "deny all\r\n"
				       "[network_extended]\n"
				       "allow *.example.org\n"
				       "allow 10.1.0.0/16 port 5432\n"
				       "[other]\n",
	    &e);
	size_t           n;

	must(r != NULL, "a file is not read: %s", e.text);
	const struct msg_net_set *s = netrules_sets(r, &n);
	cmp_ok((int)n, "==", 3, "three sets");
	cmp_ok((int)s[0].rules.n, "==", 2, "the first has what all get");
	cmp_ok((int)netrules_count(r), "==", 4, "four rules in all");
	s = netrules_set(r, "network_extended");
	cmp_ok((int)s->rules.n, "==", 4, "a section has its own, and these");
	is(s->rules.v[0].text, "allow *.example.org", "its own first");
	is(s->rules.v[3].text, "deny all", "what all get last");
	ok(netrules_has(r, "other") && netrules_has(r, "") && !netrules_has(r, "nosuch"), "which sections there are");
	ok(netrules_set(r, "nosuch") == netrules_sets(r, &n), "without a section: what all get");
	struct strs *opened = netrules_opened(s);
	ok(opened != NULL && opened->n == 1, "one network is opened by address");
	is(opened->v[0], "10.1.0.0/16", "as text");
	free(opened);
	netrules_free(&r);
	r = netrules_read("", &e);
	ok(r != NULL && netrules_count(r) == 0, "no file is an empty list");
	netrules_free(&r);
}

TEST(refuses_a_file)
{
	struct err e;

	ok(read_text("allow all\nallow\n", &e) == NULL, "a bad line");
	like(e.text, "^/tmp/boxd-t-rules.*:2: 'allow' has too few words", "is named");
	ok(read_text("[a]\n[a]\n", &e) == NULL, "a section twice");
	like(e.text, ":2: section \\[a\\] occurs twice", "is named");
	ok(read_text("[]\n", &e) == NULL && read_text("[a\n", &e) == NULL, "a section without a name or an end");
	unlink(file);
	ok(netrules_read(file, &e) == NULL, "no such file");
	like(e.text, "No such file", "is told");
	FILE *f = fopen(file, "w");
	for (int i = 0; i <= LIM_NET_RULES; i++)
		fprintf(f, "allow n%d.example\n", i);
	fclose(f);
	ok(netrules_read(file, &e) == NULL, "too many rules");
	like(e.text, "more than 4096 rules", "are told");
}

TEST(takes_a_clients)
{
	const char      *texts[] = { "allow a.example", "nonsense all", NULL };
	struct strs      two = { 2, texts };
	struct err       e;
	struct netrules *r = netrules_of(&two, &e);

	ok(r == NULL && e.code == E_INVALID, "a client's rule that is none");
	like(e.text, "^spec.network_rules\\[1\\]: the first word 'nonsense'", "is named by its place");
	two.n = 1;
	r = netrules_of(&two, &e);
	ok(r != NULL && netrules_set(r, "")->rules.n == 1, "good ones are taken");
	netrules_free(&r);
}

int
main(void)
{
	close(mkstemp(file));
	run_tests();
	unlink(file);
	done_testing();
}
