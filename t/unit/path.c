/* One normal form of a path, and what is within what. */
#include "base/path.h"
#include "tap.h"

static void
makes_normal(const char *path, const char *wanted)
{
	char out[LIM_PATH + 1] = "untouched";

	if (wanted == NULL) {
		ok(!path_normal(path, out), "refused: %s", path);
		return;
	}
	ok(path_normal(path, out), "taken: %s", path);
	is(out, wanted, "and normal");
}

TEST(paths)
{
	char longest[LIM_PATH + 2], out[LIM_PATH + 1];

	makes_normal("/", "/");
	makes_normal("//", "/");
	makes_normal("/.", "/");
	makes_normal("/a", "/a");
	makes_normal("/a/", "/a");
	makes_normal("//a//b/./c/.", "/a/b/c");
	makes_normal("/a/...", "/a/...");
	makes_normal("/..a/b..", "/..a/b..");
	makes_normal("", NULL);
	makes_normal("a/b", NULL);
	makes_normal("/..", NULL);
	makes_normal("/a/../b", NULL);
	makes_normal("/a/..", NULL);

	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[LIM_PATH] = '\0';
	ok(path_normal(longest, out) && strcmp(longest, out) == 0, "the longest path fits");
	longest[LIM_PATH] = 'a';
	longest[LIM_PATH + 1] = '\0';
	ok(!path_normal(longest, out), "one more does not");

	ok(path_within("/a", "/a"), "a path is within itself");
	ok(path_within("/a/b", "/a"), "and what is below it");
	ok(!path_within("/ab", "/a"), "but not what begins alike");
	ok(!path_within("/a", "/a/b"), "nor what is above");
	ok(path_within("/a", "/") && path_within("/", "/"), "all is within the root");
	ok(!path_within("/", "/a"), "which is within nothing else");
}
