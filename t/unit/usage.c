/* What is counted in trees that a stranger made, and what is told when it is not all. */
#include <dirent.h>
#include <sys/resource.h>

#include "base/bounds.h"
#include "base/usage.h"
#include "tap.h"

static char dir[] = "/tmp/boxd-t-usage-XXXXXX";

static void
put(const char *path, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	for (; n > 0; n--)
		if (write(fd, "x", 1) != 1)
			abort();
	close(fd);
}

/* "exists bytes files errors cut" of a name in the test's directory */
static const char *
count(enum usage_of of, const char *name, uint64_t entries, uint64_t ms, const char *const *skip)
{
	static char        out[128];
	struct usage       u;
	struct usage_tally t;
	struct err         e;

	if (usage_open(&u, of, entries, ms, &e) == -1)
		abort();
	usage_count(&u, AT_FDCWD, name, skip, &t);
	usage_close(&u);
	snprintf(out, sizeof(out), "%d %lu %lu %lu %d", t.exists, t.bytes, t.files, t.errors, t.cut);
	return out;
}

static const char *
apparent(const char *name)
{
	return count(USAGE_APPARENT, name, LIM_USAGE_ENTRIES, 60000, NULL);
}

/* The vector of LangBot's own tests. */
static void
test_apparent(void)
{
	static const char *const skip[] = { "inbox", NULL };

	is(apparent("none"), "0 0 0 0 0", "what is not there");
	mkdir("v", 0755);
	put("v/a", 10);
	if (link("v/a", "v/b") == -1 || symlink("a", "v/c") == -1 || symlink("/etc", "v/d") == -1 ||
	    mkfifo("v/fifo", 0600) == -1)
		abort();
	mkdir("v/inbox", 0755);
	put("v/inbox/f", 5);
	put("v/sparse", 0);
	if (truncate("v/sparse", 1000000) == -1)
		abort();
	is(apparent("v"), "1 1000030 7 0 0", "sizes of names; directories count nothing, symlinks what they are");
	is(apparent("v/a/b"), "0 0 0 0 0", "what is below a file does not exist");
	is(apparent("v/a"), "1 10 1 0 0", "a file is one");
	is(apparent("v/d"), "1 4 1 0 0", "a symlink is one, wherever it leads");
	is(count(USAGE_APPARENT, "v", 100, 60000, skip), "1 1000025 6 0 0", "without a name that is skipped");
	mkdir("v/deeper", 0755);
	mkdir("v/deeper/inbox", 0755);
	put("v/deeper/inbox/f", 3);
	is(count(USAGE_APPARENT, "v", 100, 60000, skip), "1 1000028 7 0 0", "which is one directly in it");
}

static void
test_allocated(void)
{
	struct stat f, d;
	char        expected[128];

	mkdir("w", 0755);
	mkdir("w/sub", 0755);
	put("w/sub/a", 5000);
	put("w/small", 1);
	if (link("w/sub/a", "w/b") == -1 || symlink("/etc", "w/link") == -1)
		abort();
	lstat("w/link", &f);
	uint64_t bytes = (uint64_t)f.st_blocks * 512;
	stat("w/small", &f);
	bytes += (uint64_t)f.st_blocks * 512;
	stat("w/sub/a", &f);
	stat("w", &d);
	bytes += (uint64_t)(f.st_blocks + d.st_blocks) * 512;
	stat("w/sub", &d);
	bytes += (uint64_t)d.st_blocks * 512;
	snprintf(expected, sizeof(expected), "1 %lu 3 0 0", (bytes + 1023) / 1024 * 1024);
	is(count(USAGE_ALLOCATED, "w", 100, 60000, NULL), expected,
	    "blocks, a file of two names once, each name a file");
}

static void
test_cut(void)
{
	like(count(USAGE_APPARENT, "v", 3, 60000, NULL), "^1 [0-9]+ [0-3] 1 1$",
	    "more entries than allowed: cut, and told");
	like(count(USAGE_APPARENT, "v", 0, 60000, NULL), "^1 0 0 1 1$", "none allowed");
	like(count(USAGE_APPARENT, "v", 128 + 2, 0, NULL), "^1 [0-9]+ [0-9]+ 1 1$", "the time is over: cut, and told");
}

/* Far deeper than there are descriptors, or a path could be long. */
static void
test_deep(void)
{
	int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), below;

	mkdirat(at, "deep", 0755);
	for (int i = 0; i < 5000; i++) {
		below = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = below;
		if (at == -1 || mkdirat(at, "deep", 0755) == -1)
			abort();
	}
	close(at);
	put("deep/f", 7);
	is(apparent("deep"), "1 7 1 1 1", "deeper than the walk goes: the rest counts, and it is told");
}

static void
test_closed(void)
{
	mkdir("closed", 0755);
	mkdir("closed/d", 0755);
	put("closed/f", 2);
	chmod("closed/d", 0);
	is(apparent("closed"), "1 2 1 1 0", "a directory that may not be read is an error, and no end");
	chmod("closed/d", 0755);
	chmod("closed", 0);
	is(apparent("closed/f"), "0 0 0 1 0", "below one it is not known what exists");
	chmod("closed", 0755);
}

static size_t
descriptors(void)
{
	DIR   *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

static void
test_descriptors(void)
{
	struct rlimit few, all;
	size_t        before = descriptors();
	char          path[512] = "many";

	for (int i = 0; i < 30; i++) {
		mkdir(path, 0755);
		strcat(path, "/d");
	}
	getrlimit(RLIMIT_NOFILE, &all);
	few = (struct rlimit){ 20, all.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	is(apparent("many"), "1 0 0 1 0", "without descriptors it is an error");
	setrlimit(RLIMIT_NOFILE, &all);
	cmp_ok(descriptors(), "==", before, "and none is left open");
}

int
main(void)
{
	char command[64];

	if (mkdtemp(dir) == NULL || chdir(dir) == -1)
		abort();
	test_apparent();
	test_allocated();
	test_cut();
	test_deep();
	if (geteuid() == 0 && (setegid(65534) == -1 || chown(dir, 65534, 65534) == -1 || seteuid(65534) == -1))
		abort();
	test_closed();
	test_descriptors();
	if (getuid() == 0 && seteuid(0) == -1)
		abort();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(chdir("/") == 0 && system(command) == 0, "cleaned up");
	done_testing();
}
