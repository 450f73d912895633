/* Which stranger makes room, by address, stage and age. */
#include "tap.h"
#include "workers/gateway/strangers.h"

enum { PLACES = 16 };

static struct strangers s;
static struct stranger  who[64];
static size_t           used;

static struct netaddr
at(const char *text)
{
	struct netaddr a;

	must(netaddr_parse(text, &a), "%s is no address", text);
	return a;
}

static struct stranger *
comes(const char *from)
{
	struct netaddr   a = at(from);
	struct stranger *n = &who[used++];

	must(stranger_add(&s, n, &a) != -1, "no memory");
	return n;
}

static void
come(const char *from, int n)
{
	while (n-- > 0)
		comes(from);
}

/* So many, each from an address of its own. */
static void
come_from_everywhere(int n)
{
	char from[32];

	for (int i = 0; i < n; i++) {
		snprintf(from, sizeof(from), "198.51.100.%d", i + 1);
		comes(from);
	}
}

static void
clear(void)
{
	for (size_t i = 0; i < used; i++)
		stranger_remove(&s, &who[i]);
	used = 0;
	s = (struct strangers){ .most = PLACES };
}

static const struct stranger *
victim(const char *from)
{
	struct netaddr a = from != NULL ? at(from) : (struct netaddr){ 0 };

	return strangers_victim(&s, from != NULL ? &a : NULL);
}

static void
by_age(void)
{
	clear();
	ok(victim("192.0.2.1") == NULL && !strangers_are_full(&s), "nobody is there");
	come_from_everywhere(PLACES);
	ok(strangers_are_full(&s), "all places are taken");
	ok(victim("192.0.2.1") == &who[0], "the oldest makes room");
	who[0].stage = STRANGER_ASKING;
	ok(victim("192.0.2.1") == &who[1], "rather one that has not asked yet");
	who[7].stage = STRANGER_ANSWERED;
	ok(victim("192.0.2.1") == &who[7], "or one that has its answer");
}

static void
by_address(void)
{
	clear();
	come_from_everywhere(12);
	come("192.0.2.1", 2);
	come("2001:db8::1", 1);
	come("2001:db8::ffff:2", 1);
	who[12].stage = STRANGER_ASKING;
	who[13].stage = STRANGER_ASKING;
	ok(victim("198.51.100.77") == &who[14], "of the addresses with most strangers, the weakest; a /64 is one");
	stranger_remove(&s, &who[14]);
	ok(victim("198.51.100.77") == &who[12], "an address with two makes room before all with one");
	ok(victim("192.0.2.1") == &who[12], "also for itself");
	come("::ffff:192.0.2.1", 1);
	stranger_remove(&s, &who[12]);
	stranger_remove(&s, &who[13]);
	come("192.0.2.1", 1);
	ok(victim("203.0.113.1") == &who[16], "an IPv4 address is the same when it is written as IPv6");
}

static void
known_addresses(void)
{
	clear();
	struct stranger *langbot = comes("203.0.113.5");
	stranger_is_known(&s, langbot);
	ok(langbot->group == NULL, "who has shown who it is is no stranger");
	langbot = comes("203.0.113.5");
	come("127.0.0.1", 1);
	come_from_everywhere(PLACES - 2);
	ok(victim("198.51.100.77") == &who[3], "loopback and known addresses stay, though they are older");
	ok(victim("203.0.113.5") == &who[3], "and others make room for them");
	ok(victim("::1") == &who[3], "and for loopback");
	ok(victim(NULL) == &who[3], "and for clients of the control socket");

	clear();
	come("127.0.0.1", PLACES - 3);
	come_from_everywhere(3);
	ok(victim("198.51.100.77") == &who[0],
	    "others have a quarter of all places: known addresses make room for that");
	come_from_everywhere(1);
	stranger_remove(&s, &who[0]);
	ok(victim("198.51.100.77") == &who[PLACES - 3], "and for no more");
	ok(victim("127.0.0.1") == &who[1], "nor do they lose it");
}

static void
becomes_known_while_there(void)
{
	clear();
	come("203.0.113.5", 4);
	come_from_everywhere(PLACES - 4);
	ok(victim("198.51.100.77") == &who[0], "an address with many, not known yet");
	stranger_is_known(&s, &who[3]);
	comes("198.51.100.99");
	ok(victim("198.51.100.77") == &who[4], "when one of them is let in the others of its address stay");
}

static void
memory_is_bounded(void)
{
	char from[32];

	clear();
	for (int i = 0; i < STRANGERS_KNOWN + 1; i++) {
		snprintf(from, sizeof(from), "10.0.0.%d", i);
		struct stranger *n = comes(from);
		stranger_is_known(&s, n);
		used--;
		if (i == STRANGERS_KNOWN - 1) { /* the first is used again */
			stranger_is_known(&s, comes("10.0.0.0"));
			used--;
		}
	}
	cmp_ok(s.n_known, "==", STRANGERS_KNOWN, "so many addresses are remembered");
	come("10.0.0.0", 1);
	come("10.0.0.1", PLACES / 4 + 1);
	come("10.0.0.2", 1);
	ok(victim("10.0.0.0") == &who[1], "the one used least recently is forgotten");
}

int
main(void)
{
	by_age();
	by_address();
	known_addresses();
	becomes_known_while_there();
	memory_is_bounded();
	clear();
	done_testing();
}
