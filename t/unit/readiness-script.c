/* What a trial printed: only what was refused is bounded, and what is missing is not. */
#include "supervisor/langbot/readiness_script.h"
#include "tap.h"

#define GOOD "net net:[2]\nat /tmp refused\nat /home refused\nat /dev/shm refused\n"

static struct findings
read_output(const char *output)
{
	struct findings f = { 0 };

	trial_read(&f, output, strlen(output), "net:[1]");
	return f;
}

TEST(findings)
{
	struct findings f = read_output(GOOD "files refused\nbytes refused\nend\n");

	ok(f.ran && f.network && f.ephemeral && f.inodes && f.bytes, "all of it is good");
	is(f.why, "", "and there is nothing to tell");
	f = read_output(GOOD "end");
	ok(f.ran && !f.bytes && !f.inodes, "what was not tried is not bounded");
	f = read_output(GOOD "files refused\nbytes refused\n");
	ok(!f.ran && !f.ephemeral, "without an end it did not come to its end");
	like(f.why, "did not come to its end", "which is told");
	f = read_output("net net:[1]\nend\n");
	ok(!f.network, "the host's network is no network of its own");
	f = read_output("net \nend\n");
	ok(!f.network, "an unknown one neither");
	f = read_output(GOOD "at /var not refused: \nend\n");
	ok(!f.ephemeral, "one open place is enough");
	like(f.why, "at /var not refused", "it is named");
	f = read_output("at /tmp refused\nat /home refused\nend\n");
	ok(!f.ephemeral, "a place that was not tried, too");
	like(f.why, "could not be tried", "which is told");
	f = read_output(GOOD "bytes not refused: Input/output error refused\nfiles not refused: \nend\n");
	ok(!f.bytes && !f.inodes, "another error is no refusal, whatever its text");
	f = read_output("");
	ok(!f.ran && !f.network && !f.ephemeral, "silence proves nothing");
	like(trial_script, "/proc/self/mounts", "the script is in the program");
}
