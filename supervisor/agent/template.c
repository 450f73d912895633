#include "agent/template.h"

#include <string.h>

#include "base/log.h"

static const char unknown[] = "unknown";

static const char *
first_of(const char *a, const char *b, const char *otherwise)
{
	return *a != '\0' ? a : *b != '\0' ? b : otherwise;
}

static bool
is_word(const char *name, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(name, word, n) == 0;
}

static const char *
value_of(const struct template_values *v, const char *name, size_t n)
{
	if (is_word(name, n, "global"))
		return "global";
	if (is_word(name, n, "query_id"))
		return first_of(v->query_id, "", unknown);
	if (is_word(name, n, "launcher_type"))
		return first_of(v->launcher_type, "", "query");
	if (is_word(name, n, "launcher_id"))
		return first_of(v->launcher_id, v->query_id, unknown);
	if (is_word(name, n, "sender_id"))
		return first_of(v->sender_id, v->launcher_id, first_of(v->query_id, "", unknown));
	if (is_word(name, n, "conversation_id"))
		return first_of(v->conversation_id, "", unknown);
	return unknown;
}

static int
malformed(const char *template, size_t at, const char *what, struct err *e)
{
	return err_set(e, E_INVALID, "session template '%s': %s at character %zu",
	    log_escape(template, strlen(template)), what, at + 1);
}

/* Only names: Python's {0}, {a.b}, {a[0]}, {a!r} and {a:>9} mean nothing that a session could be called by. */
static int
check_name(const char *template, const char *name, size_t n, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t            at = (size_t)(name - template);

	if (n == 0)
		return malformed(template, at, "there is no name between the braces", e);
	if (name[0] >= '0' && name[0] <= '9')
		return malformed(template, at, "a name, not a number, belongs between the braces", e);
	if (strspn(name, letters) < n)
		return malformed(template, at + strspn(name, letters),
		    "only a name of letters, digits and _ belongs between the braces", e);
	return 0;
}

/* A placeholder behind its brace; *used: with the one that closes it. */
static int
expand_one(struct buf *out, const char *template, const char *name, const struct template_values *v, size_t *used,
    struct err *e)
{
	size_t n = strcspn(name, "{}");

	if (name[n] != '}')
		return malformed(template, (size_t)(name - template) - 1, "'{' is not closed", e);
	if (check_name(template, name, n, e) == -1)
		return -1;
	const char *value = value_of(v, name, n);
	buf_append(out, value, strlen(value));
	*used = n + 1;
	return 0;
}

int
template_expand(struct buf *out, const char *template, const struct template_values *v, struct err *e)
{
	for (const char *p = template; *p != '\0';) {
		size_t n = strcspn(p, "{}"), used = 0;

		buf_append(out, p, n);
		p += n;
		if (*p == '\0')
			break;
		if (p[1] == *p) { /* {{ and }} are one of each */
			buf_append(out, p, 1);
			p += 2;
		} else if (*p == '}') {
			return malformed(template, (size_t)(p - template), "'}' closes nothing", e);
		} else if (expand_one(out, template, p + 1, v, &used, e) == -1) {
			return -1;
		}
		p += used > 0 ? 1 + used : 0;
	}
	return out->failed ? err_set(e, E_SYS, "no memory for a session's name") : 0;
}

int
template_check(const char *template, struct err *e)
{
	const struct template_values nothing = { "", "", "", "", "" };
	struct buf                   out = { 0 };
	int                          r = template_expand(&out, template, &nothing, e);

	buf_clear(&out);
	return r;
}
