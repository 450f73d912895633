#include "langbot/action.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "langbot/models.h"
#include "langbot/pytext.h"
#include "python/pystr.h"

enum outcome
refuse(struct job *j, const char *class, const char *fmt, ...)
{
	char   *text;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	j->class = class;
	j->answer.len = 0;
	if (n < 0)
		j->answer.failed = true;
	else {
		buf_append(&j->answer, text, (size_t)n);
		free(text);
	}
	return REFUSED;
}

enum outcome
job_starved(struct job *j)
{
	return refuse(j, "BoxError", "no memory for a message");
}

enum outcome
job_judge(struct job *j, struct misfits *m, const char *title)
{
	enum outcome o = ASK;

	if (m->starved)
		o = job_starved(j);
	else if (m->n > 0) {
		o = refuse(j, "BoxValidationError", "%s", "");
		misfits_print(m, &j->answer, title);
	} else if (m->nul)
		o = refuse(j, "ValueError", "embedded null byte");
	misfits_clear(m);
	return o;
}

enum outcome
read_none(struct job *j)
{
	return ASK;
}

void
shape_known(struct buf *b, const struct asked *asked, const void *result)
{
	buf_append(b, asked->answer.data, asked->answer.len);
	b->failed |= asked->answer.failed;
}

const msgpack_object *
job_need(struct job *j, const char *key)
{
	const msgpack_object *o = json_get(j->data, key);

	if (o == NULL)
		refuse(j, "KeyError", "'%s'", key);
	return o;
}

/* No session can have such a name.  Upstream's text, cut like any other. */
static enum outcome
no_such_session(struct job *j, const char *p, size_t n)
{
	return refuse(j, "BoxSessionNotFoundError", "session %.*s not found", (int)n, p);
}

enum outcome
job_session(struct job *j, const char **name)
{
	const msgpack_object *o = job_need(j, "session_id");
	struct buf            b = { 0 };
	enum outcome          r = ASK;

	if (o == NULL)
		return REFUSED;
	if (py_truth(o))
		py_str(&b, o);
	size_t      n = b.len;
	const char *p = n > 0 ? py_strip(b.data, &n) : "";
	if (b.failed)
		r = job_starved(j);
	else if (n == 0)
		r = refuse(j, "ValueError", "Box session_id must not be empty");
	else if ((p = session_text(j->zone, p, &n)) == NULL || (*name = text_in(j->zone, p, n)) == NULL)
		r = job_starved(j);
	else if (n > LIM_NAME)
		r = no_such_session(j, p, n);
	buf_clear(&b);
	return r;
}

static uint64_t
most_of(enum msg_type t, const char *field)
{
	const struct field *f = msg_def(t)->fields;

	while (strcmp(f->name, field) != 0)
		f++;
	return f->most;
}

enum outcome
job_text(
    struct job *j, const msgpack_object *o, enum msg_type t, const char *field, const char *absent, const char **text)
{
	uint64_t     most = most_of(t, field);
	struct buf   b = { 0 };
	enum outcome r = ASK;

	*text = absent;
	if (o == NULL || o->type == MSGPACK_OBJECT_NIL)
		return ASK;
	py_str(&b, o);
	if (b.len > 0 && memchr(b.data, '\0', b.len) != NULL)
		r = refuse(j, "BoxValidationError", "embedded null byte");
	else if (b.len > most)
		r = refuse(j, "BoxValidationError", "%s must be at most %" PRIu64 " bytes", field, most);
	else if (b.failed || (*text = text_in(j->zone, b.data, b.len)) == NULL)
		r = job_starved(j);
	buf_clear(&b);
	return r;
}
