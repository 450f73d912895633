/*
 * Names are computed as LangBot's own client computes them, because it asks for a relay by name.  A session's name
 * contains its workspace and generation, so nothing else needs to remember whose it is, not even across restarts.
 */
#include "langbot/tenancy.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/dirs.h"
#include "core/hash.h"
#include "core/journal.h"
#include "python/pystr.h"

enum { BUCKETS = 8192 };

struct fence {
	LIST_ENTRY(fence) same_hash;
	char     ns[NAMESPACE_LEN + 1];
	uint64_t generation; /* the highest seen */
};

struct tenancy {
	struct journal *journal;                        /* owned */
	LIST_HEAD(fence_bucket, fence) fences[BUCKETS]; /* owned, by a hash of their ns */
	struct hash_key key;
	size_t          count, room;
	void (*on_advance)(void *, const struct msg_context *);
	void *on_advance_arg;
};

/* ---- names ---------------------------------------------------------------------------------- */

static void
compute_namespace(const struct msg_context *c, char ns[NAMESPACE_LEN + 1])
{
	crypto_hash_sha256_state s;
	unsigned char            digest[crypto_hash_sha256_BYTES];
	char                     hex[2 * sizeof(digest) + 1];

	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, (const unsigned char *)c->instance, strlen(c->instance) + 1); /* with its NUL */
	crypto_hash_sha256_update(&s, (const unsigned char *)c->workspace, strlen(c->workspace));
	crypto_hash_sha256_final(&s, digest);
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	snprintf(ns, NAMESPACE_LEN + 1, "ws-%.24s", hex);
}

/* The last one is remembered: an action asks for its own several times. */
void
tenancy_namespace(const struct msg_context *c, char ns[NAMESPACE_LEN + 1])
{
	static char instance[LIM_TENANT + 1], workspace[LIM_TENANT + 1], last[NAMESPACE_LEN + 1];

	if (*last == '\0' || strcmp(instance, c->instance) != 0 || strcmp(workspace, c->workspace) != 0) {
		compute_namespace(c, last);
		snprintf(instance, sizeof(instance), "%s", c->instance);
		snprintf(workspace, sizeof(workspace), "%s", c->workspace);
	}
	memcpy(ns, last, sizeof(last));
}

/* ws-<24 hex>-g<generation>-; its length. */
static size_t
prefix_of(const struct msg_context *c, char prefix[LIM_NAME + 1])
{
	char ns[NAMESPACE_LEN + 1];

	tenancy_namespace(c, ns);
	return (size_t)snprintf(prefix, LIM_NAME + 1, "%s-g%" PRIu64 "-", ns, c->generation);
}

static bool
is_safe(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("_.-", c) != NULL);
}

/* Every run of other characters becomes one "-"; those at the ends are removed.  The length, or -1. */
static ssize_t
make_safe(const char *logical, char *out, size_t size)
{
	size_t n = 0;

	for (const char *p = logical; *p != '\0'; p++) {
		char c = is_safe(*p) ? *p : '-';

		if ((c == '-' && n == 0) || (!is_safe(*p) && p > logical && !is_safe(p[-1])))
			continue;
		if (n + 1 >= size)
			return -1;
		out[n++] = c;
	}
	while (n > 0 && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	return (ssize_t)n;
}

int
tenancy_physical(const struct msg_context *c, const char *logical, char name[LIM_NAME + 1], struct err *e)
{
	if (py_is_blank(logical, strlen(logical)))
		return err_set(e, E_VALUE, "Box session_id must not be empty");
	size_t  prefix = prefix_of(c, name);
	ssize_t n = make_safe(logical, name + prefix, LIM_NAME + 1 - prefix);
	if (n == -1)
		return err_set(e, E_VALUE, "Box session_id is too long: %zu bytes are the most", LIM_NAME - prefix);
	if (n == 0)
		return err_set(e, E_VALUE, "Box session_id must contain a valid character");
	return 0;
}

const char *
tenancy_logical(const struct msg_context *c, const char *physical)
{
	char prefix[LIM_NAME + 1];

	if (!tenancy_owns(c, physical))
		return NULL;
	size_t n = prefix_of(c, prefix);
	return strncmp(physical, prefix, n) == 0 && physical[n] != '\0' ? physical + n : NULL;
}

/* Does -g<digits>-<something> follow the namespace? */
static bool
is_generation(const char *p)
{
	if (strncmp(p, "-g", 2) != 0)
		return false;
	size_t digits = strspn(p + 2, "0123456789");
	return digits > 0 && p[2 + digits] == '-' && p[3 + digits] != '\0';
}

bool
tenancy_owns(const struct msg_context *c, const char *physical)
{
	char ns[NAMESPACE_LEN + 1];

	tenancy_namespace(c, ns);
	return strncmp(physical, ns, NAMESPACE_LEN) == 0 && is_generation(physical + NAMESPACE_LEN);
}

static bool
begins_with_namespace(const char *name)
{
	return strncmp(name, "ws-", 3) == 0 && strspn(name + 3, "0123456789abcdef") == NAMESPACE_LEN - 3;
}

bool
tenancy_is_ours(const char *physical)
{
	return begins_with_namespace(physical) && is_generation(physical + NAMESPACE_LEN);
}

#define AGENT "agent@"

static bool
is_agents(const char *session)
{
	return strncmp(session, AGENT, strlen(AGENT)) == 0;
}

/* ws-<24 hex>-g<generation>-..., or agent@ws-<24 hex>@...: where it begins; NULL: nowhere. */
static const char *
namespace_in(const char *session)
{
	const char *at = is_agents(session) ? session + strlen(AGENT) : session;

	if (!begins_with_namespace(at))
		return NULL;
	return (at == session ? is_generation(at + NAMESPACE_LEN) : at[NAMESPACE_LEN] == '@') ? at : NULL;
}

bool
tenancy_namespace_of(const char *session, char ns[NAMESPACE_LEN + 1])
{
	const char *at = namespace_in(session);

	if (at != NULL)
		snprintf(ns, NAMESPACE_LEN + 1, "%s", at);
	return at != NULL;
}

/* ---- groups ---------------------------------------------------------------------------------- */

enum { GENERATION_AT = NAMESPACE_LEN + 2 }; /* in the name of a session of LangBot's */

/* Every key is a prefix of its sessions' names, except a namespace, which is in the middle of agents' names. */
size_t
tenancy_groups(const char *session, struct group_key keys[TENANCY_GROUPS])
{
	const char *ns = namespace_in(session);
	size_t      n = 0;

	if (is_agents(session))
		keys[n++] = (struct group_key){ session, (size_t)(strrchr(session, '@') + 1 - session) };
	if (ns != NULL)
		keys[n++] = (struct group_key){ ns, NAMESPACE_LEN };
	if (ns == session) {
		keys[n++] = GROUP_LANGBOT;
		keys[n++] = (struct group_key){ session, GENERATION_AT };
		keys[n++] = (struct group_key){ session,
			GENERATION_AT + strspn(session + GENERATION_AT, "0123456789") + 1 };
	}
	assert(n <= TENANCY_GROUPS);
	return n;
}

struct group_key
tenancy_group(const struct msg_context *c, char text[LIM_NAME + 1])
{
	prefix_of(c, text);
	return (struct group_key){ text, GENERATION_AT };
}

struct group_key
tenancy_group_current(const struct msg_context *c, char text[LIM_NAME + 1])
{
	size_t n = prefix_of(c, text);

	return (struct group_key){ text, n };
}

/* ---- the fence ------------------------------------------------------------------------------- */

static struct fence_bucket *
bucket_of(const struct tenancy *t, const char *ns)
{
	return (struct fence_bucket *)&t->fences[hash_of(&t->key, ns, strlen(ns)) % BUCKETS];
}

static struct fence *
find(const struct tenancy *t, const char *ns)
{
	struct fence *f;

	LIST_FOREACH (f, bucket_of(t, ns), same_hash)
		if (strcmp(f->ns, ns) == 0)
			return f;
	return NULL;
}

/* NULL without memory. */
static struct fence *
add(struct tenancy *t, const char *ns)
{
	struct fence *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	snprintf(f->ns, sizeof(f->ns), "%s", ns);
	LIST_INSERT_HEAD(bucket_of(t, ns), f, same_hash);
	t->count++;
	return f;
}

static int
on_record(void *arg, const struct msg *m, struct err *e)
{
	struct tenancy         *t = arg;
	const struct msg_fence *r = m->body;

	if (m->type != MSG_FENCE)
		return err_set(e, E_PROTO, "%s does not belong there", msg_name(m->type));
	struct fence *f = find(t, r->ns);
	if (f == NULL && (f = add(t, r->ns)) == NULL)
		return err_set(e, E_SYS, "no memory for the fence");
	if (r->generation > f->generation)
		f->generation = r->generation;
	return 0;
}

struct tenancy *
tenancy_open(struct boxd *h, struct err *e)
{
	struct tenancy *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	t->room = SIZE_MAX;
	hash_key_make(&t->key);
	t->journal = journal_open(h->dirs->state, "tenancy", on_record, t, e);
	if (t->journal == NULL)
		tenancy_close(&t);
	return t;
}

void
tenancy_close(struct tenancy **tp)
{
	struct tenancy *t = *tp;
	struct fence   *f;

	if (t == NULL)
		return;
	*tp = NULL;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((f = LIST_FIRST(&t->fences[i])) != NULL) {
			LIST_REMOVE(f, same_hash);
			free(f);
		}
	journal_close(&t->journal);
	free(t);
}

void
tenancy_on_advance(struct tenancy *t, void (*fn)(void *, const struct msg_context *), void *arg)
{
	t->on_advance = fn;
	t->on_advance_arg = arg;
}

void
tenancy_set_room(struct tenancy *t, size_t workspaces)
{
	t->room = workspaces;
}

int
tenancy_stale(struct err *e)
{
	return err_set(e, E_DENIED, "Stale Box placement generation");
}

static int
write_all(void *arg, struct journal *j, struct err *e)
{
	struct tenancy     *t = arg;
	const struct fence *f;

	for (size_t i = 0; i < BUCKETS; i++)
		LIST_FOREACH (f, &t->fences[i], same_hash)
			if (journal_append(
				j, MSG_FENCE, &(struct msg_fence){ .ns = f->ns, .generation = f->generation }, e) == -1)
				return -1;
	return 0;
}

static void
keep_short(struct tenancy *t)
{
	struct err e;

	if (journal_is_long(t->journal, t->count) && journal_compact(t->journal, write_all, t, &e) == -1)
		log_warn("%s", e.text);
}

/* A generation that cannot be written down is refused: after a restart the fence would not know it. */
static int
advance(struct tenancy *t, struct fence *f, const char *ns, const struct msg_context *c, struct err *e)
{
	if (f == NULL && t->count >= t->room)
		return err_set(
		    e, E_DENIED, "Box generation fence capacity reached; refusing an unbounded Workspace allocation");
	if (journal_append(t->journal, MSG_FENCE, &(struct msg_fence){ .ns = ns, .generation = c->generation }, e) ==
	    -1)
		return -1;
	if (f == NULL && (f = add(t, ns)) == NULL)
		return err_set(e, E_SYS, "no memory for the fence");
	assert(c->generation > f->generation); /* the fence never goes back */
	f->generation = c->generation;
	keep_short(t);
	log_info("workspace=%s generation=%" PRIu64, ns, c->generation);
	if (t->on_advance != NULL)
		t->on_advance(t->on_advance_arg, c);
	return 1;
}

int
tenancy_observe(struct tenancy *t, const struct msg_context *c, struct err *e)
{
	char ns[NAMESPACE_LEN + 1];

	tenancy_namespace(c, ns);
	struct fence *f = find(t, ns);
	if (f != NULL && c->generation < f->generation)
		return tenancy_stale(e);
	if (f != NULL && c->generation == f->generation)
		return 0;
	return advance(t, f, ns, c, e);
}

bool
tenancy_is_current(const struct tenancy *t, const struct msg_context *c)
{
	char ns[NAMESPACE_LEN + 1];

	tenancy_namespace(c, ns);
	const struct fence *f = find(t, ns);
	return f != NULL && f->generation == c->generation;
}
