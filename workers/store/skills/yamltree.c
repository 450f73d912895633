#include "skills/yamltree.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define TAG "tag:yaml.org,2002:"

/* ---- nodes ------------------------------------------------------------------------------- */

struct compose {
	yaml_parser_t parser;
	struct yaml  *y;
	size_t        depth;
	struct err   *e;
};

static int
bad(struct compose *c, const char *what)
{
	return err_set(c->e, E_INVALID, "frontmatter is not valid YAML: %s", what);
}

static struct node *
node_new(struct compose *c, enum node_kind kind, const unsigned char *anchor)
{
	struct node *n = calloc(1, sizeof(*n));

	if (n == NULL || c->y->n == YAML_NODES) {
		free(n);
		bad(c, n == NULL ? "no memory" : "more than 10000 values");
		return NULL;
	}
	c->y->nodes[c->y->n++] = n;
	n->kind = kind;
	if (anchor == NULL)
		return n;
	for (size_t i = 0; i < c->y->n; i++)
		if (c->y->nodes[i]->anchor != NULL && strcmp(c->y->nodes[i]->anchor, (const char *)anchor) == 0) {
			bad(c, "an anchor is there twice");
			return NULL;
		}
	n->anchor = strdup((const char *)anchor);
	if (n->anchor == NULL)
		bad(c, "no memory");
	return n->anchor == NULL ? NULL : n;
}

static int
node_add(struct compose *c, struct node *to, struct node *kid)
{
	if ((to->n & (to->n - 1)) == 0) { /* full: it grows in powers of two */
		struct node **more = reallocarray(to->kids, to->n == 0 ? 1 : to->n * 2, sizeof(struct node *));

		if (more == NULL)
			return bad(c, "no memory");
		to->kids = more;
	}
	to->kids[to->n++] = kid;
	return 0;
}

/* ---- from events ------------------------------------------------------------------------- */

static int compose_node(struct compose *, const yaml_event_t *, struct node **);

static int
next_event(struct compose *c, yaml_event_t *ev)
{
	if (yaml_parser_parse(&c->parser, ev) == 1)
		return 0;
	return bad(c, c->parser.problem != NULL ? c->parser.problem : "it cannot be read");
}

/* A tag that the safe loader knows for this kind of node; type is what a scalar's says. */
static int
scalar_type(struct compose *c, const yaml_event_t *ev, struct span text, enum scalar *type)
{
	static const struct {
		const char *tag;
		enum scalar type;
	} known[] = { { TAG "str", SCALAR_STR }, { TAG "null", SCALAR_NULL }, { TAG "bool", SCALAR_BOOL },
		{ TAG "int", SCALAR_INT }, { TAG "float", SCALAR_FLOAT }, { TAG "timestamp", SCALAR_TIME } };
	const char *tag = (const char *)ev->data.scalar.tag;

	if (tag == NULL || strcmp(tag, "!") == 0) {
		*type = tag == NULL && ev->data.scalar.plain_implicit ? scalar_kind(text) : SCALAR_STR;
		return 0;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(tag, known[i].tag) == 0) {
			*type = known[i].type;
			return 0;
		}
	return bad(c, "a tag that has no meaning here");
}

static int
compose_scalar(struct compose *c, const yaml_event_t *ev, struct node **out)
{
	struct span  text = { (const char *)ev->data.scalar.value, ev->data.scalar.length };
	struct buf   shown = { 0 };
	bool         truthy;
	struct node *n = node_new(c, NODE_SCALAR, ev->data.scalar.anchor);

	if (n == NULL || scalar_type(c, ev, text, &n->type) == -1)
		return -1;
	n->text = (struct span){ text_copy(text), text.n };
	if (n->text.p == NULL)
		return bad(c, "no memory");
	/* wherever it is in the document, what cannot be made breaks the whole */
	bool good = n->type == SCALAR_STR || scalar_print(n->type, n->text, &shown, &truthy);
	buf_clear(&shown);
	*out = n;
	return good ? 0 : bad(c, "a number, date or truth value that does not exist");
}

/* Up to the event that ends it. */
static int
compose_kids(struct compose *c, struct node *n, yaml_event_type_t end)
{
	struct node *kid;

	for (;;) {
		yaml_event_t ev;

		if (next_event(c, &ev) == -1)
			return -1;
		bool over = ev.type == end;
		int  r = over ? 0 : compose_node(c, &ev, &kid);
		yaml_event_delete(&ev);
		if (over || r == -1)
			return r;
		bool key = n->kind == NODE_MAP && n->n % 2 == 0;
		if (key && kid->kind != NODE_SCALAR)
			return bad(c, "a key that is no scalar");
		if (!key && kid->type == SCALAR_MERGE)
			return bad(c, "a merge that is no key");
		if (node_add(c, n, kid) == -1)
			return -1;
	}
}

static int
compose_list(struct compose *c, const yaml_event_t *ev, struct node **out)
{
	bool                 map = ev->type == YAML_MAPPING_START_EVENT;
	const unsigned char *tag = map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag;
	const unsigned char *anchor = map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor;

	if (tag != NULL && strcmp((const char *)tag, map ? TAG "map" : TAG "seq") != 0 &&
	    strcmp((const char *)tag, "!") != 0)
		return bad(c, "a tag that has no meaning here");
	if (c->depth == YAML_DEPTH)
		return bad(c, "nested too deeply");
	*out = node_new(c, map ? NODE_MAP : NODE_LIST, anchor);
	if (*out == NULL)
		return -1;
	c->depth++;
	int r = compose_kids(c, *out, map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
	c->depth--;
	return r;
}

static int
compose_alias(struct compose *c, const yaml_event_t *ev, struct node **out)
{
	for (size_t i = 0; i < c->y->n; i++)
		if (c->y->nodes[i]->anchor != NULL &&
		    strcmp(c->y->nodes[i]->anchor, (const char *)ev->data.alias.anchor) == 0) {
			*out = c->y->nodes[i];
			return 0;
		}
	return bad(c, "an alias of nothing");
}

static int
compose_node(struct compose *c, const yaml_event_t *ev, struct node **out)
{
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		return compose_scalar(c, ev, out);
	case YAML_ALIAS_EVENT:
		return compose_alias(c, ev, out);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return compose_list(c, ev, out);
	default:
		return bad(c, "it ends too early");
	}
}

/* stream, document, node: the whole of it, and no second document */
static int
compose(struct compose *c)
{
	yaml_event_type_t type;
	bool              seen = false;

	do {
		yaml_event_t ev;
		int          r = 0;

		if (next_event(c, &ev) == -1)
			return -1;
		type = ev.type;
		if (type == YAML_DOCUMENT_START_EVENT && seen)
			r = bad(c, "more than one document");
		else if (type == YAML_DOCUMENT_START_EVENT)
			seen = true;
		else if (type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT || type == YAML_SEQUENCE_START_EVENT ||
			 type == YAML_MAPPING_START_EVENT)
			r = compose_node(c, &ev, &c->y->root);
		yaml_event_delete(&ev);
		if (r == -1)
			return -1;
	} while (type != YAML_STREAM_END_EVENT);
	return 0;
}

int
yaml_read(struct yaml *y, struct span text, struct err *e)
{
	struct compose c = { .y = y, .e = e };

	*y = (struct yaml){ .nodes = calloc(YAML_NODES, sizeof(struct node *)) };
	if (y->nodes == NULL || yaml_parser_initialize(&c.parser) == 0) {
		yaml_clear(y);
		return err_set(e, E_SYS, "no memory for frontmatter");
	}
	yaml_parser_set_encoding(&c.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&c.parser, (const unsigned char *)text.p, text.n);
	int r = compose(&c);
	yaml_parser_delete(&c.parser);
	if (r == -1)
		yaml_clear(y);
	return r;
}

void
yaml_clear(struct yaml *y)
{
	for (size_t i = 0; i < y->n; i++) {
		free(y->nodes[i]->anchor);
		free(y->nodes[i]->kids);
		free((char *)(uintptr_t)y->nodes[i]->text.p);
		free(y->nodes[i]);
	}
	free(y->nodes);
	*y = (struct yaml){ 0 };
}

/* ---- asking ------------------------------------------------------------------------------ */

static const struct node *get(const struct node *, const char *key, size_t *budget);

/* Of a value of "<<": a map, or a list of them, in which the first that has it counts. */
static const struct node *
get_merged(const struct node *from, const char *key, size_t *budget)
{
	const struct node *found = NULL;

	if (from->kind == NODE_MAP)
		return get(from, key, budget);
	for (size_t i = 0; from->kind == NODE_LIST && i < from->n && found == NULL; i++)
		if (from->kids[i]->kind == NODE_MAP)
			found = get(from->kids[i], key, budget);
	return found;
}

static const struct node *
get(const struct node *map, const char *key, size_t *budget)
{
	const struct node *found = NULL;

	/* a map can be merged into itself, and into many */
	if (*budget == 0)
		return NULL;
	--*budget;
	for (size_t i = map->n; i > 1 && found == NULL; i -= 2)
		if (map->kids[i - 2]->type == SCALAR_STR && span_is(map->kids[i - 2]->text, key))
			found = map->kids[i - 1];
	for (size_t i = map->n; i > 1 && found == NULL; i -= 2)
		if (map->kids[i - 2]->type == SCALAR_MERGE)
			found = get_merged(map->kids[i - 1], key, budget);
	return found;
}

const struct node *
yaml_get(const struct node *map, const char *key)
{
	size_t budget = YAML_DEPTH;

	return map->kind == NODE_MAP ? get(map, key, &budget) : NULL;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* repr() of a string; unprintable characters become their numbers. */
static void
print_quoted(struct span s, struct buf *out)
{
	char     quote = memchr(s.p, '\'', s.n) != NULL && memchr(s.p, '"', s.n) == NULL ? '"' : '\'';
	uint32_t c;

	buf_append(out, &quote, 1);
	for (size_t i = 0; i < s.n;) {
		size_t n = text_char((struct span){ s.p + i, s.n - i }, &c);

		if (c == '\\' || c == (unsigned char)quote)
			buf_printf(out, "\\%c", (int)c);
		else if (c == '\n' || c == '\r' || c == '\t')
			buf_printf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
		else if (c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad)
			buf_printf(out, "\\x%02x", c);
		else if (c != ' ' && py_is_space(c))
			buf_printf(out, "\\u%04x", c);
		else
			buf_append(out, s.p + i, n);
		i += n;
	}
	buf_append(out, &quote, 1);
}

static bool print_inner(const struct node *, size_t most, size_t depth, struct buf *);

/* "[a, b]" or "{a: b, c: d}" */
static bool
print_list(const struct node *n, size_t most, size_t depth, struct buf *out)
{
	bool map = n->kind == NODE_MAP, good = true;

	buf_append(out, map ? "{" : "[", 1);
	for (size_t i = 0; good && i < n->n; i++) {
		if (i > 0)
			buf_append(out, map && i % 2 == 1 ? ": " : ", ", 2);
		good = print_inner(n->kids[i], most, depth + 1, out);
	}
	buf_append(out, map ? "}" : "]", 1);
	return good;
}

static bool
print_inner(const struct node *n, size_t most, size_t depth, struct buf *out)
{
	bool truthy;

	if (out->len > most || depth > YAML_DEPTH)
		return false;
	if (n->kind != NODE_SCALAR)
		return print_list(n, most, depth, out);
	if (n->type != SCALAR_STR)
		return scalar_print(n->type, n->text, out, &truthy);
	print_quoted(n->text, out);
	return true;
}

bool
yaml_print(const struct node *n, size_t most, struct buf *out, bool *truthy)
{
	bool good;

	if (n->kind == NODE_SCALAR) {
		good = scalar_print(n->type, n->text, out, truthy);
	} else {
		*truthy = n->n > 0;
		good = print_list(n, most, 0, out);
	}
	return good && !out->failed && out->len <= most;
}
