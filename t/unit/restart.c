/* When a crashed worker is started again, and when it is given up. */
#include "base/restart.h"
#include "tap.h"

static const struct restart_policy policy = { .first_sec = 0.1, .most_sec = 5, .window_sec = 30, .limit = 5 };

TEST(slows_down_and_gives_up)
{
	static const double wanted[] = { 0.1, 0.2, 0.4, 0.8, -1 };
	struct restart      r = { 0 };

	for (int i = 0; i < 5; i++) {
		double got = restart_after_crash(&r, &policy, 100 + i);
		ok(got > wanted[i] - 1e-9 && got < wanted[i] + 1e-9, "crash %d in a row: %g", i + 1, wanted[i]);
	}
}

TEST(forgets_what_is_long_ago)
{
	struct restart r = { 0 };

	for (int i = 0; i < 50; i++)
		if (restart_after_crash(&r, &policy, 100 + i * 31.) != policy.first_sec)
			fail("crash %d, half a minute after the last", i);
	pass("one crash in every window is always restarted at once");
	restart_after_crash(&r, &policy, 10000);
	for (int i = 0; i < 3; i++)
		restart_after_crash(&r, &policy, 10029);
	ok(restart_after_crash(&r, &policy, 10029.9) == -1, "the fifth just inside the window is the last");
	ok(restart_after_crash(&r, &policy, 10031) == policy.first_sec, "just outside a new window begins");
}

TEST(never_gives_up_without_a_limit)
{
	struct restart_policy patient = { .first_sec = 0.1, .most_sec = 5, .window_sec = 60, .limit = 0 };
	struct restart        r = { 0 };
	double                last = 0, longest = 0;

	for (int i = 0; i < 1000; i++) {
		last = restart_after_crash(&r, &patient, 100 + i * 0.01);
		longest = last > longest ? last : longest;
	}
	ok(last == 5, "the thousandth crash waits as long as the policy allows");
	ok(longest == 5, "and none waited longer");
}
