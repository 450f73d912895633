/*
 * LangBot's actions.  Which keys an action has is found out by letting its own code read: json_get is wrapped, and every
 * key that is asked for becomes a node of a tree.  Each is shown as absent, a text, a number, a map or a list, until no
 * new key is asked for; and with what gets furthest, the others are filled in when one is tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edges.h"
#include "workers/gateway/langbot/action.h"
#include "workers/gateway/langbot/envelope.h"

enum { NODES = 256, KEY = 64 };

enum shown { ABSENT, TEXT, NUMBER, MAP, LIST, TEXTS, SHOWN__COUNT };

struct node {
	char           key[KEY];
	int            parent; /* -1: data itself */
	enum shown     shown;
	bool           seen; /* in this reading */
	msgpack_object value, element;
};

static struct node nodes[NODES];
static int         n_nodes;

const msgpack_object *__real_json_get(const msgpack_object *, const char *);
const msgpack_object *__wrap_json_get(const msgpack_object *, const char *);

/* ---- keys ---- */

static int
node_of(const msgpack_object *map)
{
	for (int i = 0; i < n_nodes; i++)
		if (map == &nodes[i].value || map == &nodes[i].element)
			return i;
	return -1;
}

static int
child(int parent, const char *key)
{
	for (int i = 1; i < n_nodes; i++)
		if (nodes[i].parent == parent && strcmp(nodes[i].key, key) == 0)
			return i;
	if (n_nodes == NODES)
		abort();
	nodes[n_nodes] = (struct node){ .parent = parent };
	snprintf(nodes[n_nodes].key, KEY, "%s", key);
	return n_nodes++;
}

static const msgpack_object *
show(struct node *n)
{
	n->seen = true;
	n->element = (msgpack_object){ .type = MSGPACK_OBJECT_MAP };
	switch (n->shown) {
	case TEXT:
		n->value = (msgpack_object){ .type = MSGPACK_OBJECT_STR, .via.str = { 4, "edge" } };
		break;
	case NUMBER:
		n->value = (msgpack_object){ .type = MSGPACK_OBJECT_POSITIVE_INTEGER, .via.u64 = 1 };
		break;
	case MAP:
		n->value = (msgpack_object){ .type = MSGPACK_OBJECT_MAP };
		break;
	case LIST:
		n->value = (msgpack_object){ .type = MSGPACK_OBJECT_ARRAY, .via.array = { 1, &n->element } };
		break;
	case TEXTS:
		n->element = (msgpack_object){ .type = MSGPACK_OBJECT_STR, .via.str = { 4, "edge" } };
		n->value = (msgpack_object){ .type = MSGPACK_OBJECT_ARRAY, .via.array = { 1, &n->element } };
		break;
	default:
		return NULL;
	}
	return &n->value;
}

const msgpack_object *
__wrap_json_get(const msgpack_object *map, const char *key)
{
	int at = node_of(map);

	if (at == -1)
		return __real_json_get(map, key);
	return map->type == MSGPACK_OBJECT_MAP ? show(&nodes[child(at, key)]) : NULL;
}

/* How far the action gets: more keys asked for is further, more complaints are less. */
static int
read_once(const struct action *a)
{
	static size_t  total;
	struct uploads uploads;
	msgpack_zone   zone;
	enum msg_type  t = a->ask != MSG_NONE ? a->ask : MSG_BOX_INVALID;
	struct job     j = { .data = &nodes[0].value, .zone = &zone, .uploads = &uploads, .fd = -1 };
	int            score = 0;

	uploads_init(&uploads, &total, MIB);
	msgpack_zone_init(&zone, 4096);
	for (int i = 0; i < n_nodes; i++)
		nodes[i].seen = false;
	j.body = msgpack_zone_malloc(&zone, msg_def(t)->size);
	msg_defaults(t, j.body);
	if (a->read == NULL || a->read(&j) == ASK)
		score += 1000000;
	for (int i = 1; i < n_nodes; i++)
		score += nodes[i].seen ? 100 : 0;
	for (size_t i = 0; i < j.answer.len; i++)
		score -= j.answer.data[i] == '\n';
	if (j.fd != -1)
		close(j.fd);
	buf_clear(&j.answer);
	uploads_clear(&uploads);
	msgpack_zone_destroy(&zone);
	return score;
}

/* Each node as each kind, the rest at its best; again as long as new keys come up. */
static void
explore(const struct action *a)
{
	int before, best;

	nodes[0] = (struct node){ .parent = -1, .shown = MAP, .value = { .type = MSGPACK_OBJECT_MAP } };
	n_nodes = 1;
	best = read_once(a);
	do {
		before = n_nodes;
		for (int i = 1; i < n_nodes; i++) {
			enum shown kept = nodes[i].shown;

			for (enum shown s = ABSENT; s < SHOWN__COUNT; s++) {
				nodes[i].shown = s;
				int score = read_once(a);
				if (score > best) {
					best = score;
					kept = s;
				}
			}
			nodes[i].shown = kept;
		}
	} while (n_nodes > before);
}

/* ---- requests ---- */

static bool
leads_to(int node, int to)
{
	for (; to > 0; to = nodes[to].parent)
		if (to == node)
			return true;
	return false;
}

static void write_map(struct buf *, int parent, int tried, int edge);

static void
write_value(struct buf *b, int i, int tried, int edge)
{
	enum shown s = nodes[i].shown;

	if (i == tried && edge >= 0) {
		edge_json(b, edge);
		return;
	}
	if (i != tried && leads_to(i, tried) && s != LIST)
		s = MAP;
	switch (s) {
	case NUMBER:
		buf_printf(b, "1");
		break;
	case MAP:
	case LIST:
		buf_append(b, "[", s == LIST);
		write_map(b, i, tried, edge);
		buf_append(b, "]", s == LIST);
		break;
	case TEXTS:
		buf_printf(b, "[\"edge\"]");
		break;
	default:
		buf_printf(b, "\"edge\"");
	}
}

static void
write_map(struct buf *b, int parent, int tried, int edge)
{
	const char *comma = "";

	buf_printf(b, "{");
	for (int i = 1; i < n_nodes; i++) {
		bool leads = leads_to(i, tried);
		int  times = leads || nodes[i].shown != ABSENT;

		if (nodes[i].parent != parent)
			continue;
		if (i == tried && edge < 0)
			times = edge == EDGE_MISSING ? 0 : edge == EDGE_TWICE ? 2 : 1;
		for (; times > 0; times--) {
			buf_printf(
			    b, "%s\"%s\": ", comma, i == tried && edge == EDGE_UNKNOWN ? "no_such_key" : nodes[i].key);
			write_value(b, i, tried, edge);
			comma = ", ";
		}
	}
	buf_printf(b, "}");
}

#define CONTEXT "{\"instance_uuid\": \"inst-1\", \"workspace_uuid\": \"w-1\", \"placement_generation\": 1}"

static void
put_action(struct peer *p, const struct action *a, int tried, int edge)
{
	struct buf b = { 0 };

	buf_printf(&b, "{\"seq_id\": %lu, \"action\": \"%s\", \"data\": ", p->next++, a->name);
	if (tried == 0 && edge >= 0)
		edge_json(&b, edge);
	else
		write_map(&b, 0, tried, edge);
	buf_printf(&b, a->host ? "}" : ", \"context\": " CONTEXT "}");
	peer_put(p, b.data, b.len);
	buf_clear(&b);
}

static void
try_node(struct peer *p, const struct action *a, int node)
{
	char         what[256];
	struct batch b;

	snprintf(what, sizeof(what), "%s %s", a->name, node == 0 ? "data" : nodes[node].key);
	batch_begin(&b, p, what);
	for (int edge = EDGE_LOWEST; edge < edges_count(); edge++)
		put_action(p, a, node, edge);
	batch_end(&b);
}

void
edges_langbot(struct peer *p)
{
	const struct action *a;

	for (size_t i = 0; (a = action_at(i)) != NULL; i++) {
		explore(a);
		if (getenv("EDGES_SHOW") != NULL) {
			struct buf b = { 0 };
			write_map(&b, 0, -1, 0);
			printf("# %s: %d keys, usually %.*s\n", a->name, n_nodes - 1, (int)b.len, b.data);
			buf_clear(&b);
		}
		for (int node = 0; node < n_nodes; node++)
			try_node(p, a, node);
	}
}

/* ---- the envelope: what is wrong there may be ignored, or answered under another id; so one at a time ---- */

static void
try_text(struct peer *p, struct buf *text, const char *what)
{
	struct batch b;
	struct buf   m = { 0 };
	char         ping[128];
	int          answers = 0;

	batch_begin(&b, p, what);
	uint64_t id = p->next++;
	int      n = snprintf(ping, sizeof(ping), "{\"seq_id\": %lu, \"action\": \"__ping\", \"data\": {}}", id);
	peer_put(p, text->data, text->len);
	peer_put(p, ping, (size_t)n);
	while (peer_take(p, &m) && reply_id(p, &m) != id)
		answers++;
	if (answers > 1 || m.len == 0) {
		printf("# %s: %d answers\n", what, answers);
		edges_failed++;
	}
	b.first = p->next; /* all are answered */
	batch_end(&b);
	buf_clear(&m);
	buf_clear(text);
}

void
edges_envelope(struct peer *p)
{
	static const char *const outer[] = { "seq_id", "action", "data", "context", "code", "chunk_status" };
	static const char *const inner[] = { "instance_uuid", "workspace_uuid", "placement_generation",
		"entitlement_revision", "runtime_revision", "artifact_digest", "installation_uuid", "plugin_identity" };
	struct buf               b = { 0 };

	for (int edge = 0; edge < edges_count(); edge++) {
		for (size_t i = 0; i < sizeof(outer) / sizeof(*outer); i++) {
			buf_printf(&b, "{\"%s\": ", outer[i]);
			edge_json(&b, edge);
			buf_printf(&b, "%s%s%s}", strcmp(outer[i], "seq_id") == 0 ? "" : ", \"seq_id\": 0",
			    strcmp(outer[i], "action") == 0 ? "" : ", \"action\": \"box_get_sessions\"",
			    strcmp(outer[i], "data") == 0 ? "" : ", \"data\": {}");
			try_text(p, &b, outer[i]);
		}
		for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) {
			buf_printf(&b,
			    "{\"seq_id\": 0, \"action\": \"box_get_sessions\", \"data\": {}, \"context\": {\"%s\": ",
			    inner[i]);
			edge_json(&b, edge);
			buf_printf(&b, "}}");
			try_text(p, &b, inner[i]);
		}
	}
}
