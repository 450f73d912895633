/* Sessions slow down when the host's table of tracked connections is half full, and leave the last eighth to the host. */
#include "tap.h"
#include "workers/egress/flow/tracked.h"

static char   dir[] = "/tmp/boxd-t-tracked.XXXXXX";
static double now = 1000.;

static void
put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	must(f != NULL && fputs(text, f) != EOF && fclose(f) != EOF, "%s", path);
}

static const char *
room(struct tracked *t, const char *count, const char *most)
{
	static const char *const names[] = { "enough", "scarce", "none" };

	put("nf_conntrack_count", count);
	put("nf_conntrack_max", most);
	return names[tracked_look(t, now += 1.)];
}

TEST(room)
{
	struct tracked t;

	tracked_open(&t, dir);
	is(room(&t, "900\n", "1000\n"), "enough", "a host that tracks nothing has no files");
	tracked_close(&t);
	tracked_open(&t, dir);
	is(room(&t, "0\n", "1000\n"), "enough", "an empty table");
	is(room(&t, "499\n", "1000\n"), "enough", "not half full");
	is(room(&t, "500\n", "1000\n"), "scarce", "half full");
	is(room(&t, "874\n", "1000\n"), "scarce", "before the last eighth");
	is(room(&t, "875\n", "1000\n"), "none", "the last eighth");
	is(room(&t, "5000\n", "1000\n"), "none", "more than full");
	now -= 0.99;
	is(room(&t, "0\n", "1000\n"), "none", "it is not looked at for every connection");
	is(room(&t, "0\n", "1000\n"), "enough", "but soon again");
	is(room(&t, "900\n", "0\n"), "enough", "a table without an end");
	tracked_close(&t);
	tracked_open(&t, TRACKED_DIR);
	ok(t.count == -1 || tracked_look(&t, now += 1.) <= TRACKED_NONE, "the kernel's own can be read");
	tracked_close(&t);
}

static int
taken(struct trickle *s, int most)
{
	int n = 0;

	while (n < most && trickle_take(s, now))
		n++;
	return n;
}

TEST(trickle)
{
	struct trickle s = { 0 };

	cmp_ok(taken(&s, 1000), "==", 20, "some at once");
	cmp_ok(taken(&s, 1000), "==", 0, "then none");
	now += 1.;
	cmp_ok(taken(&s, 1000), "==", 5, "a few each second");
	now += 1000.;
	cmp_ok(taken(&s, 1000), "==", 20, "they do not heap up");
}

TEST(sweep)
{
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, i == 0 ? "nf_conntrack_count" : "nf_conntrack_max");
		unlink(path);
	}
	rmdir(dir);
}

int
main(void)
{
	must(mkdtemp(dir) != NULL, "%s", dir);
	run_tests();
	done_testing();
}
