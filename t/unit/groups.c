/* Sessions are counted by the beginnings of their names, and what is counted is what there is. */
#include <sodium.h>

#include "supervisor/core/groups.h"
#include "supervisor/langbot/tenancy.h"
#include "tap.h"

#define NS "ws-0123456789abcdef01234567"

static struct groups *all;

static uint64_t
sum(const char *key, enum group_sum_of what)
{
	return groups_sum(all, (struct group_key){ key, strlen(key) }).n[what];
}

/* "key key key", as tenancy has them. */
static const char *
keys_of(const char *name)
{
	static char      text[1024];
	struct group_key keys[TENANCY_GROUPS];
	size_t           n = tenancy_groups(name, keys), used = 0;

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(
		    text + used, sizeof(text) - used, "%s%.*s", i > 0 ? " " : "", (int)keys[i].len, keys[i].text);
	return text;
}

TEST(of_names)
{
	is(keys_of("s"), "", "a native session is in none");
	is(keys_of(NS "-g12-a-b"), NS " ws- " NS "-g " NS "-g12-", "one of LangBot's in four");
	is(keys_of(NS "-g12"), "", "what only looks like one in none");
	is(keys_of("agent@" NS "@x"), "agent@" NS "@ " NS, "an agent's in its own, and in its workspace's");
	is(keys_of("agent@x"), "agent@", "and without a workspace in that of those");
	is(keys_of("agent@" NS "-g1-x"), "agent@", "which is no workspace's");
}

TEST(of_contexts)
{
	const struct msg_context c = { .instance = "inst-1", .workspace = "ws-1", .generation = 3 };
	char                     text[LIM_NAME + 1];
	struct group_key         k = tenancy_group(&c, text);

	ok(k.len == 29 && strncmp(k.text, "ws-9d14934957e7ea8dcfa33291-g", k.len) == 0, "a workspace's");
	k = tenancy_group_current(&c, text);
	ok(k.len == 31 && strncmp(k.text, "ws-9d14934957e7ea8dcfa33291-g3-", k.len) == 0, "and its generation's");
}

static void
hold(struct group_entry *en, char *session, const char *name)
{
	struct group_key keys[GROUPS_MOST] = { { "", 0 } };

	must(group_hold(all, en, (struct session *)session, keys, 1 + tenancy_groups(name, keys + 1)) != -1,
	    "no memory");
}

static bool
note_it(struct session *s, void *arg)
{
	char *seen = arg;

	seen[strlen(seen)] = *(const char *)s;
	return strlen(seen) < 2;
}

TEST(counts)
{
	static char        who[] = "abc";
	struct group_entry a = { .n = 0 }, b = { .n = 0 }, c = { .n = 0 };
	char               seen[8] = "";

	hold(&a, &who[0], NS "-g1-a");
	hold(&b, &who[1], NS "-g2-b");
	hold(&c, &who[2], "agent@" NS "@c");
	cmp_ok(sum("", SESSIONS), "==", 0, "to hold groups is not to be counted");
	group_count(&a, &(struct group_sum){ .n = { [SESSIONS] = 1, [OPEN_SESSIONS] = 1, [PROCESSES] = 2 } });
	group_count(&b, &(struct group_sum){ .n = { [SESSIONS] = 1, [OPEN_SESSIONS] = 1 } });
	group_count(&c, &(struct group_sum){ .n = { [SESSIONS] = 1, [OPEN_SESSIONS] = 1 } });
	ok(sum("", SESSIONS) == 3 && sum(NS, SESSIONS) == 3 && sum("ws-", SESSIONS) == 2 &&
		sum(NS "-g", SESSIONS) == 2 && sum(NS "-g1-", SESSIONS) == 1 && sum("agent@" NS "@", SESSIONS) == 1,
	    "each in its groups");
	ok(sum(NS "-g", PROCESSES) == 2 && sum(NS "-g2-", PROCESSES) == 0, "with what it has");
	group_count(&a, &(struct group_sum){ .n = { [SESSIONS] = 1, [PROCESSES] = 1 } });
	ok(sum(NS "-g", SESSIONS) == 2 && sum(NS "-g", OPEN_SESSIONS) == 1 && sum(NS "-g1-", PROCESSES) == 1,
	    "a change counts, too");
	groups_each(all, (struct group_key){ NS, strlen(NS) }, note_it, seen);
	is(seen, "ab", "one after the other by age, until it is enough");
	group_leave(&a);
	ok(sum(NS "-g1-", SESSIONS) == 0 && sum(NS "-g", SESSIONS) == 1 && sum("", PROCESSES) == 0, "one goes");
	group_leave(&a);
	cmp_ok(sum("", SESSIONS), "==", 2, "and only once");
	group_leave(&c);
	group_leave(&b);
	ok(sum("", SESSIONS) == 0 && sum(NS, SESSIONS) == 0, "all are gone");
}

TEST(moves)
{
	static char        who[] = "s";
	struct group_entry en = { .n = 0 }, fresh = { .n = 0 };
	struct group_sum   here = { .n = { [SESSIONS] = 1 } };

	hold(&en, who, "spare");
	group_count(&en, &here);
	hold(&fresh, who, NS "-g1-a");
	group_leave(&en);
	en = fresh;
	group_count(&en, &here);
	ok(sum("", SESSIONS) == 1 && sum(NS "-g1-", SESSIONS) == 1, "another name, other groups");
	group_leave(&en);
}

int
main(void)
{
	struct err e;

	must(sodium_init() != -1 && (all = groups_open(&e)) != NULL, "no groups");
	run_tests();
	groups_close(&all);
	done_testing();
}
