/* How long a failure waits. */
#include "supervisor/auth/auth_slow.h"
#include "tap.h"

static struct slow slow;

static struct address
of(unsigned n)
{
	struct address a = { 0 };

	a.at.v4.sin_family = AF_INET;
	a.at.v4.sin_addr.s_addr = htonl(0x0a000000U + n);
	a.len = sizeof(a.at.v4);
	return a;
}

static double
fail_at(unsigned n, double now)
{
	struct address a = of(n);

	return slow_failed(&slow, &a, now);
}

TEST(doubles)
{
	static const double want[] = { 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5 };

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		double d = fail_at(1, 1000 + (double)i);
		ok(d > want[i] - 1e-9 && d < want[i] + 1e-9, "failure %zu waits %.1f s", i + 1, want[i]);
	}
	ok(fail_at(2, 1009) < 0.11, "another address does not pay for it");
	ok(fail_at(1, 1060) > 4.9, "within a minute it is remembered");
	ok(fail_at(1, 1121) < 0.11, "after a minute of peace it is forgotten");
}

TEST(all_wait)
{
	int longest = 0;

	for (int i = 0; i < 1000; i++)
		longest += fail_at(3, 2000) > 4.9;
	cmp_ok(longest, "==", 1000 - 6, "however many wait already, the next waits as long");
}

TEST(bounded)
{
	fail_at(7, 3000);
	fail_at(7, 3000);
	for (unsigned i = 0; i < SLOW_ADDRESSES - 1; i++)
		fail_at(1000 + i, 3001);
	ok(fail_at(7, 3002) > 0.3, "as many addresses as there is room for are remembered");
	for (unsigned i = 0; i < SLOW_ADDRESSES; i++)
		fail_at(5000 + i, 3003);
	ok(fail_at(7, 3004) < 0.11, "more push out the oldest");
	struct address none = { 0 };
	ok(slow_failed(&slow, &none, 3005) > 0, "what has no address is one, too");
}
