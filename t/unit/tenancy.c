/* Names as LangBot computes them, and a fence that only rises, across restarts too. */
#include <sodium.h>

#include "base/log.h"
#include "supervisor/core/dirs.h"
#include "supervisor/langbot/tenancy.h"
#include "tap.h"

static const struct msg_context one = { .instance = "inst-1", .workspace = "ws-1", .generation = 1 };
static const struct msg_context long_one = {
	.instance = "0b7f7a4e-6d0f-4f6b-9d53-0f8f6a1f0001",
	.workspace = "9a4d2c1e-3b5a-4c77-8e11-2f6a7b8c9d00",
	.generation = 3,
};

static const char *
name_of(const struct msg_context *c, const char *logical)
{
	static char       name[LIM_NAME + 1];
	static struct err e;

	if (tenancy_physical(c, logical, name, &e) == 0)
		return name;
	return e.code == E_VALUE ? e.text : "another code";
}

/* executed by upstream's own code */
static const struct {
	const char *logical, *safe;
} vectors[] = {
	{ "mcp-shared", "mcp-shared" },
	{ "群聊 42/a", "42-a" },
	{ "--x--", "x" },
	{ "a b", "a-b" },
	{ "a/b", "a-b" },
	{ " a ", "a" },
	{ "a - b", "a---b" },
	{ "a//  b", "a-b" },
	{ "-_.-", "_." },
	{ "A.b_C-9", "A.b_C-9" },
	{ "a\tb", "a-b" },
};

TEST(names_as_langbot)
{
	char ns[NAMESPACE_LEN + 1], want[LIM_NAME + 1], id[LIM_NAME + 1];

	tenancy_namespace(&one, ns);
	is(ns, "ws-9d14934957e7ea8dcfa33291", "a namespace");
	tenancy_namespace(&long_one, ns);
	is(ns, "ws-9e6a403532cfe1b04e195097", "and another");
	is(name_of(&long_one, "person_42"), "ws-9e6a403532cfe1b04e195097-g3-person_42", "a session's name");
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		snprintf(want, sizeof(want), "ws-9d14934957e7ea8dcfa33291-g1-%s", vectors[i].safe);
		is(name_of(&one, vectors[i].logical), want, "'%s'", vectors[i].logical);
		is(tenancy_logical(&one, want), vectors[i].safe, "and back");
	}
	is(name_of(&one, ""), "Box session_id must not be empty", "nothing");
	is(name_of(&one, " \t\x1c\u00a0\u3000\u2028"), "Box session_id must not be empty", "blanks of Python's");
	is(name_of(&one, "!!!"), "Box session_id must contain a valid character", "nothing usable");
	is(name_of(&one, "---"), "Box session_id must contain a valid character", "nothing but dashes");
	is(name_of(&one, "群聊"), "Box session_id must contain a valid character", "no ASCII");
	memset(id, 'x', sizeof(id));
	id[LIM_NAME - 31] = '\0';
	cmp_ok(strlen(name_of(&one, id)), "==", LIM_NAME, "the longest that fits");
	id[LIM_NAME - 31] = 'x';
	id[LIM_NAME - 30] = '\0';
	like(name_of(&one, id), "too long", "one more does not");
}

TEST(knows_whose)
{
	struct msg_context next = one, other = one;
	const char        *name = "ws-9d14934957e7ea8dcfa33291-g1-s";

	next.generation = 2;
	other.workspace = "ws-2";
	ok(tenancy_logical(&one, name) != NULL && tenancy_owns(&one, name), "its own session");
	ok(tenancy_logical(&next, name) == NULL && tenancy_owns(&next, name), "one of another generation");
	ok(tenancy_logical(&other, name) == NULL && !tenancy_owns(&other, name), "one of another workspace");
	next.generation = 11;
	ok(tenancy_logical(&next, name) == NULL, "g1 does not begin g11");
	ok(tenancy_logical(&one, "ws-9d14934957e7ea8dcfa33291-g11-s") == NULL, "nor the other way round");
	ok(tenancy_is_ours(name), "a workspace's");
	static const char *const native[] = { "s", "ws-1", "ws-9d14934957e7ea8dcfa33291",
		"ws-9d14934957e7ea8dcfa33291-g1", "ws-9d14934957e7ea8dcfa33291-g1-", "ws-9d14934957e7ea8dcfa33291-gx-s",
		"ws-9D14934957e7ea8dcfa33291-g1-s", "xs-9d14934957e7ea8dcfa33291-g1-s" };
	for (size_t i = 0; i < sizeof(native) / sizeof(*native); i++)
		ok(!tenancy_is_ours(native[i]) && !tenancy_owns(&one, native[i]), "not a workspace's: %s", native[i]);
}

/* ---- the fence ---- */

static struct dirs dirs;
static struct boxd boxd = { .dirs = &dirs };
static unsigned    advanced;

static void
on_advance(void *arg, const struct msg_context *c)
{
	advanced++;
}

static struct tenancy *
open_fence(void)
{
	struct err      e;
	struct tenancy *t = tenancy_open(&boxd, &e);

	must(t != NULL, "%s", e.text);
	tenancy_on_advance(t, on_advance, NULL);
	return t;
}

static int
observe(struct tenancy *t, const char *workspace, uint64_t generation, struct err *e)
{
	struct msg_context c = { .instance = "inst-1", .workspace = workspace, .generation = generation };

	return tenancy_observe(t, &c, e);
}

TEST(only_rises)
{
	struct tenancy *t = open_fence();
	struct err      e;

	ok(!tenancy_is_current(t, &one), "what was never seen is not current");
	cmp_ok(observe(t, "ws-1", 1, &e), "==", 1, "the first becomes it");
	ok(tenancy_is_current(t, &one), "now it is");
	cmp_ok(observe(t, "ws-1", 1, &e), "==", 0, "the same is nothing new");
	cmp_ok(observe(t, "ws-1", 5, &e), "==", 1, "a higher one is");
	ok(!tenancy_is_current(t, &one), "the old one is over");
	ok(observe(t, "ws-1", 4, &e) == -1 && e.code == E_DENIED, "a lower one is refused");
	is(e.text, "Stale Box placement generation", "in upstream's words");
	cmp_ok(observe(t, "ws-2", 1, &e), "==", 1, "another workspace has its own");
	cmp_ok(advanced, "==", 3, "who wanted to know was told, of every change and no other");
	tenancy_close(&t);
	t = open_fence();
	ok(observe(t, "ws-1", 4, &e) == -1, "after a restart it still is refused");
	cmp_ok(observe(t, "ws-1", 5, &e), "==", 0, "and the current one current");
	tenancy_set_room(t, 2);
	ok(observe(t, "ws-3", 1, &e) == -1 && e.code == E_DENIED, "no room for a third workspace");
	is(e.text, "Box generation fence capacity reached; refusing an unbounded Workspace allocation", "says so");
	cmp_ok(observe(t, "ws-1", 6, &e), "==", 1, "those that are known may go on");
	tenancy_close(&t);
}

/* Compacted many times on the way. */
TEST(forgets_none)
{
	struct tenancy *t = open_fence();
	struct err      e;
	char            workspace[32];
	size_t          good = 0;

	for (uint64_t g = 1; g <= 40; g++)
		for (int i = 0; i < 50; i++) {
			snprintf(workspace, sizeof(workspace), "many-%d", i);
			good += observe(t, workspace, g, &e) == 1;
		}
	cmp_ok(good, "==", 2000, "fifty workspaces, forty generations each");
	tenancy_close(&t);
	t = open_fence();
	good = 0;
	for (int i = 0; i < 50; i++) {
		snprintf(workspace, sizeof(workspace), "many-%d", i);
		good += observe(t, workspace, 40, &e) == 0 && observe(t, workspace, 39, &e) == -1;
	}
	cmp_ok(good, "==", 50, "each is where it was");
	ok(observe(t, "ws-1", 5, &e) == -1 && observe(t, "ws-1", 6, &e) == 0, "and those of before");
	tenancy_close(&t);
}

int
main(void)
{
	char path[PATH_MAX + 32];

	must(sodium_init() != -1, "libsodium");
	log_init("t", LOG_ERROR);
	snprintf(dirs.state, sizeof(dirs.state), "/tmp/boxd-tenancy.XXXXXX");
	must(mkdtemp(dirs.state) != NULL, "mkdtemp");
	run_tests();
	snprintf(path, sizeof(path), "%s/journal/tenancy", dirs.state);
	unlink(path);
	snprintf(path, sizeof(path), "%s/journal", dirs.state);
	ok(rmdir(path) == 0 && rmdir(dirs.state) == 0, "nothing else was made");
	done_testing();
}
