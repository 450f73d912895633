#include "skills/front.h"

#include <stdlib.h>
#include <string.h>

#include "skills/yamltree.h"

static const char *const names[FRONT__COUNT] = {
	[FRONT_NAME] = "name",
	[FRONT_DISPLAY_NAME] = "display_name",
	[FRONT_DESCRIPTION] = "description",
};

/* ---- reading ----------------------------------------------------------------------------- */

static bool
is_fence(struct span line)
{
	return span_is(text_strip(line), "---");
}

/* What is between the fences and what is behind them; false: there are none. */
static bool
cut(struct span text, struct span *yaml, struct span *body)
{
	size_t at, n;

	if (text.n < 3 || memcmp(text.p, "---", 3) != 0)
		return false;
	size_t first = text_line(text);
	if (!is_fence((struct span){ text.p, first }))
		return false;
	for (at = first; at < text.n; at += n) {
		n = text_line((struct span){ text.p + at, text.n - at });
		if (!is_fence((struct span){ text.p + at, n }))
			continue;
		*yaml = (struct span){ text.p + first, at - first };
		for (at += n; at < text.n && text.p[at] == '\n'; at++)
			;
		*body = (struct span){ text.p + at, text.n - at };
		return true;
	}
	return false;
}

/* A NUL can be written in YAML, but not sent as a string. */
static void
hide_nuls(struct buf *b)
{
	for (char *p = b->data; b->len > 0 && (p = memchr(p, '\0', b->len - (size_t)(p - b->data))) != NULL;)
		*p = ' ';
}

static int
take_field(struct front *f, const struct yaml *y, enum front_field i, struct err *e)
{
	const struct node *n = yaml_get(y->root, names[i]);
	struct buf         text = { 0 };
	bool               truthy = false;
	int                r = 0;

	if (n == NULL)
		return 0;
	if (!yaml_print(n, LIM_SKILL_TEXT, &text, &truthy))
		r = err_set(e, E_INVALID, "frontmatter: %s cannot be used as text", names[i]);
	hide_nuls(&text);
	if (r == 0 && truthy && (f->value[i] = text_copy(text_strip((struct span){ text.data, text.len }))) == NULL)
		r = err_set(e, E_SYS, "no memory for frontmatter");
	buf_clear(&text);
	return r;
}

int
front_read(struct front *f, struct span text, struct err *e)
{
	struct yaml y;
	struct span yaml;
	int         r = 0;

	*f = (struct front){ .body = text };
	if (!cut(text, &yaml, &f->body))
		return 0;
	if (yaml_read(&y, yaml, e) == -1)
		return -1;
	for (enum front_field i = 0; r == 0 && y.root != NULL && i < FRONT__COUNT; i++)
		r = take_field(f, &y, i, e);
	yaml_clear(&y);
	if (r == -1)
		front_clear(f);
	return r;
}

void
front_clear(struct front *f)
{
	for (enum front_field i = 0; i < FRONT__COUNT; i++)
		free(f->value[i]);
	*f = (struct front){ 0 };
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Cannot stand in a quoted line as itself: breaks, controls, and what YAML calls not printable. */
static bool
needs_escape(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
	       c == 0xffff;
}

static bool
any_escape(struct span s)
{
	uint32_t c;

	for (size_t i = 0; i < s.n;) {
		i += text_char((struct span){ s.p + i, s.n - i }, &c);
		if (needs_escape(c))
			return true;
	}
	return false;
}

/* Means nothing to YAML within a value, or at the end of one. */
static bool
is_harmless(uint32_t c, bool last)
{
	return py_is_alnum(c) || (c < 0x80 && strchr(last ? ".)!" : " -_./+()!;=", (int)c) != NULL);
}

/* Needs no quotes: begins with a letter or digit, has nothing special in it, and is not read as something else. */
static bool
is_plain(struct span s)
{
	uint32_t c;

	for (size_t i = 0; i < s.n;) {
		bool first = i == 0;

		i += text_char((struct span){ s.p + i, s.n - i }, &c);
		if (c == 0 || (first ? !py_is_alnum(c) : !is_harmless(c, i == s.n)))
			return false;
	}
	return s.n > 0 && scalar_kind(s) == SCALAR_STR;
}

static void
put_escaped(struct buf *out, struct span s)
{
	uint32_t c;

	buf_append(out, "\"", 1);
	for (size_t i = 0; i < s.n;) {
		size_t n = text_char((struct span){ s.p + i, s.n - i }, &c);

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", (int)c);
		else if (c == '\n' || c == '\t')
			buf_printf(out, "\\%c", c == '\n' ? 'n' : 't');
		else if (needs_escape(c))
			buf_printf(out, "\\u%04X", c);
		else
			buf_append(out, s.p + i, n);
		i += n;
	}
	buf_append(out, "\"", 1);
}

static void
put_quoted(struct buf *out, struct span s)
{
	buf_append(out, "'", 1);
	for (size_t i = 0; i < s.n; i++)
		buf_append(out, s.p[i] == '\'' ? "''" : s.p + i, s.p[i] == '\'' ? 2 : 1);
	buf_append(out, "'", 1);
}

static void
put_value(struct buf *out, struct span s)
{
	if (is_plain(s))
		buf_append(out, s.p, s.n);
	else if (any_escape(s))
		put_escaped(out, s);
	else
		put_quoted(out, s);
}

void
front_write(struct buf *out, const char *const value[FRONT__COUNT], struct span body)
{
	bool any = false;

	for (enum front_field i = 0; i < FRONT__COUNT; i++) {
		if (value[i] == NULL || text_strip(span_of(value[i])).n == 0)
			continue;
		buf_printf(out, "%s%s: ", any ? "" : "---\n", names[i]);
		put_value(out, span_of(value[i]));
		buf_append(out, "\n", 1);
		any = true;
	}
	if (any)
		buf_append(out, "---\n\n", 5);
	buf_append(out, body.p, body.n);
}
