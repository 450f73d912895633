/* Which names an address was told for: how long, how many, and which are told. */
#include "check.h"
#include "tap.h"
#include "workers/egress/dns/pins.h"

static struct pins *p;

static struct netaddr
addr(const char *text)
{
	struct netaddr a;

	must(netaddr_parse(text, &a), "'%s' is no address", text);
	return a;
}

static struct netaddr
numbered(unsigned i)
{
	struct netaddr a = { .family = 6, .bytes = { 0x26, 0x06 } };

	memcpy(a.bytes + 12, &i, sizeof(i));
	return a;
}

static void
add(const char *address, const char *name, uint32_t ttl, double now)
{
	struct netaddr a = addr(address);

	pins_add(p, &a, name, ttl, now);
}

/* All names with a space between them. */
static const char *
names(const char *address, double now)
{
	static char    text[4096];
	const char    *all[PIN_NAMES];
	struct netaddr a = addr(address);
	size_t         n = pins_names(p, &a, now, all), at = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i > 0 ? " " : "", all[i]);
	return text;
}

TEST(names)
{
	p = pins_open();
	is(names("1.1.1.1", 0), "", "no name at first");
	add("1.1.1.1", "a", 300, 0);
	add("1.1.1.1", "b", 300, 1);
	add("1.1.1.2", "c", 300, 1);
	add("2606::1", "d", 300, 1);
	is(names("1.1.1.1", 2), "b a", "the newest first");
	is(names("1.1.1.2", 2), "c", "each address has its own");
	is(names("2606::1", 2), "d", "of both families");
	is(names("::ffff:1.1.1.2", 2), "c", "IPv4 in IPv6 is IPv4");
	is(names("101:101::", 2), "", "the same bytes in the other family are another");
	add("1.1.1.1", "a", 300, 3);
	is(names("1.1.1.1", 4), "a b", "told again is the newest, and there once");
	struct netaddr odd = addr("1.1.1.1");
	const char    *all[PIN_NAMES];
	memset(odd.bytes + 4, 0xaa, 12);
	cmp_ok(pins_names(p, &odd, 4, all), "==", 2, "bytes behind an IPv4 address do not matter");
	pins_close(&p);
	ok(p == NULL, "closed");
	pins_close(&p);
}

TEST(time)
{
	p = pins_open();
	add("1.1.1.1", "short", 1, 1000);
	is(names("1.1.1.1", 1059.9), "short", "a short TTL lasts for a minute");
	is(names("1.1.1.1", 1060), "", "and no longer");
	add("1.1.1.1", "plain", 600, 1000);
	is(names("1.1.1.1", 1599.9), "plain", "one of minutes lasts for these");
	is(names("1.1.1.1", 1600), "", "and no longer");
	add("1.1.1.1", "long", UINT32_MAX, 1000);
	is(names("1.1.1.1", 1000 + PIN_MOST_SEC - 1), "long", "a very long one for a day");
	is(names("1.1.1.1", 1000 + PIN_MOST_SEC), "", "and no longer");
	add("1.1.1.2", "again", 600, 1000);
	add("1.1.1.2", "again", 60, 1100);
	is(names("1.1.1.2", 1599), "again", "a shorter TTL takes nothing back");
	add("1.1.1.2", "again", 600, 1500);
	is(names("1.1.1.2", 2099), "again", "a longer one adds");
	is(names("1.1.1.2", 2100), "", "to its end");
	pins_close(&p);
}

TEST(names_of_one)
{
	char name[16], want[512] = "";

	p = pins_open();
	for (int i = 0; i < PIN_NAMES + 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		add("1.1.1.1", name, 300, i);
	}
	for (int i = PIN_NAMES + 4; i > 4; i--)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%sn%d", *want ? " " : "", i);
	is(names("1.1.1.1", 50), want, "of too many names the newest are told");
	pins_close(&p);
}

/* Names that were told stay readable, whatever has ended meanwhile. */
TEST(validity)
{
	struct netaddr a = addr("1.1.1.1"), b = addr("1.1.1.2");
	const char    *first[PIN_NAMES], *second[PIN_NAMES];

	p = pins_open();
	pins_add(p, &a, "first", 60, 0);
	pins_add(p, &b, "second", 600, 0);
	pins_names(p, &a, 1, first);
	cmp_ok(pins_names(p, &a, 100, second), "==", 0, "ended");
	pins_names(p, &b, 100, second);
	is(first[0], "first", "but what was told before is there");
	pins_close(&p);
}

TEST(bound)
{
	const char *all[PIN_NAMES];
	unsigned    there = 0;

	p = pins_open();
	/* the even ones end first, in an order of their own */
	for (unsigned i = 0; i < PINS_MOST; i++) {
		struct netaddr a = numbered(i);
		pins_add(p, &a, "name", i % 2 == 0 ? 100 + (i * 7919) % 1000 : 5000 + i, 0);
	}
	for (unsigned i = 0; i < PINS_MOST / 2; i++) {
		struct netaddr a = numbered(PINS_MOST + i);
		pins_add(p, &a, "name", 80000, 1);
	}
	for (unsigned i = 0; i < PINS_MOST; i++) {
		struct netaddr a = numbered(i);
		if ((pins_names(p, &a, 2, all) == 1) == (i % 2 == 1))
			there++;
	}
	cmp_ok(there, "==", PINS_MOST, "when there are too many, those that end first go, and no other");
	for (unsigned i = 0, n = there = 0; i < PINS_MOST / 2; i++, n++) {
		struct netaddr a = numbered(PINS_MOST + i);
		there += pins_names(p, &a, 2, all) == 1;
	}
	cmp_ok(there, "==", PINS_MOST / 2, "and the new ones are there");
	pins_close(&p);
}

/* ---- against a plain list ---- */

enum { ADDRESSES = 40, NAMES = 6, STEPS = 60000 };

static double model[ADDRESSES][NAMES]; /* when each ends */

static unsigned
wrong_at(unsigned i, double now)
{
	struct netaddr a = numbered(i);
	const char    *all[PIN_NAMES];
	size_t         n = pins_names(p, &a, now, all), want = 0;
	unsigned       wrong = 0;

	for (unsigned k = 0; k < NAMES; k++)
		want += model[i][k] > now;
	for (size_t k = 0; k < n; k++)
		wrong += model[i][atoi(all[k])] <= now;
	return wrong + (n != want);
}

TEST(model)
{
	unsigned wrong = 0;
	double   now = 0;

	p = pins_open();
	for (int step = 0; step < STEPS; step++) {
		unsigned       i = (unsigned)(rnd() % ADDRESSES), k = (unsigned)(rnd() % NAMES);
		uint32_t       ttl = (uint32_t)(rnd() % 400);
		struct netaddr a = numbered(i);
		char           name[8];

		snprintf(name, sizeof(name), "%u", k);
		pins_add(p, &a, name, ttl, now);
		double ends = now + (ttl < PIN_LEAST_SEC ? PIN_LEAST_SEC : ttl);
		if (model[i][k] < ends)
			model[i][k] = ends;
		now += (double)(rnd() % 3000) / 1000;
		wrong += wrong_at((unsigned)(rnd() % ADDRESSES), now);
	}
	cmp_ok(wrong, "==", 0, "%d times the same as a plain list", STEPS);
	pins_close(&p);
}
