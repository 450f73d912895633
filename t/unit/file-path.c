/* Paths of clients: what is beneath the workspace, what is not, and that nothing else comes out. */
#include "tap.h"
#include "workers/files/box.h"

static char clean[LIM_PATH + 1];

static const char *
cleaned(const char *workspace, const char *asked)
{
	static struct err e;

	if (path_clean(workspace, asked, clean, &e) == 0)
		return clean;
	return e.code == E_INVALID ? e.text : "another code";
}

static const struct {
	const char *asked, *want;
} good[] = {
	{ "a", "a" },
	{ "a/b/c", "a/b/c" },
	{ "a//b///c/", "a/b/c" },
	{ "./a/./b/.", "a/b" },
	{ ".", "" },
	{ "./", "" },
	{ "/ws", "" },
	{ "/ws/", "" },
	{ "/ws/a", "a" },
	{ "/ws//./a", "a" },
	{ "...", "..." },
	{ "..a/a..", "..a/a.." },
	{ "a\nb/\xff", "a\nb/\xff" },
};

static const struct {
	const char *asked, *why;
} bad[] = {
	{ "..", "has a '..'" },
	{ "a/..", "has a '..'" },
	{ "../a", "has a '..'" },
	{ "a/../b", "has a '..'" },
	{ "a//..//b", "has a '..'" },
	{ "/ws/..", "has a '..'" },
	{ "/ws/../etc/passwd", "has a '..'" },
	{ "/", "/ is not beneath /ws" },
	{ "/etc/passwd", "/etc/passwd is not beneath /ws" },
	{ "/wsx", "is not beneath" },
	{ "/ws2/a", "is not beneath" },
	{ "//ws/a", "is not beneath" },
	{ "/\033[2J", "x1b.2J is not beneath" },
};

/* Nothing but plain parts may come out, whatever goes in. */
static bool
is_plain(const char *p)
{
	size_t n;

	if (*p == '\0')
		return true;
	for (;; p += n + 1) {
		n = strcspn(p, "/");
		if (n == 0 || n > 255 || (n == 1 && *p == '.') || (n == 2 && memcmp(p, "..", 2) == 0))
			return false;
		if (p[n] == '\0')
			return true;
	}
}

static void
any_path(void)
{
	static const char alphabet[] = "../a/..\\\x80";
	struct err        e;
	unsigned          wrong = 0, taken = 0;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		char   asked[24];
		size_t n = (size_t)rand() % (sizeof(asked) - 1);

		for (size_t k = 0; k < n; k++)
			asked[k] = alphabet[(size_t)rand() % (sizeof(alphabet) - 1)];
		asked[n] = '\0';
		if (path_clean("/a", asked, clean, &e) == 0) {
			taken++;
			wrong += !is_plain(clean);
		}
	}
	cmp_ok(taken, ">", 1000, "many of 200000 random paths are taken");
	cmp_ok(wrong, "==", 0, "and each becomes plain parts and nothing else");
}

TEST(paths)
{
	char long_part[300], long_path[LIM_PATH + 1];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		is(cleaned("/ws", good[i].asked), good[i].want, "'%s'", i == 12 ? "bytes" : good[i].asked);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		like(cleaned("/ws", bad[i].asked), bad[i].why, "refused: '%s'", i == 12 ? "escape" : bad[i].asked);
	is(cleaned("/", "/etc"), "etc", "the root can be a workspace");
	is(cleaned("/a/b/", "/a/b/c"), "c", "its path may end in a slash");
	memset(long_part, 'x', sizeof(long_part));
	long_part[256] = '\0';
	like(cleaned("/ws", long_part), "too long", "a part of 256 bytes is too long");
	long_part[255] = '\0';
	is(cleaned("/ws", long_part), long_part, "one of 255 is not");
	for (size_t i = 0; i < LIM_PATH; i++)
		long_path[i] = i % 2 ? '/' : 'p';
	long_path[LIM_PATH] = '\0';
	cmp_ok(strlen(cleaned("/ws", long_path)), ">", 4000, "the longest path fits");
	any_path();
}
