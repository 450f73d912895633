#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const wire_names[] = {
#define ERROR(E, wire, class, doc) [E_##E] = (wire),
#include "base/errors.def"
#undef ERROR
};

static const char *const classes[] = {
#define ERROR(E, wire, class, doc) [E_##E] = (class),
#include "base/errors.def"
#undef ERROR
};

static const char *const reasons[] = {
#define REASON(R, wire, doc) [REASON_##R] = (wire),
#include "base/reasons.def"
};

static const char *const fields[] = {
#define FIELD(F, wire) [FIELD_##F] = (wire),
#include "base/reasons.def"
};

/* Nothing is left of an earlier error but its text, which the caller may still print. */
static void
begin(struct err *e, enum err_code code)
{
	memset(e, 0, offsetof(struct err, text));
	e->code = code;
}

/* Behind the first `used` characters; what does not fit is visibly cut. */
static void
put(struct err *e, size_t used, const char *fmt, va_list ap)
{
	size_t room = sizeof(e->text) - used;

	if ((size_t)vsnprintf(e->text + used, room, fmt, ap) >= room)
		memcpy(e->text + sizeof(e->text) - 4, "...", 4);
}

static void __attribute__((format(printf, 2, 3))) add(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(e, strlen(e->text), fmt, ap);
	va_end(ap);
}

int
err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	begin(e, code);
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	return -1;
}

/* The format is ours, so that its beginning can be printed alone: that is where the part is. */
int
err_set_part(struct err *e, enum err_code code, enum err_part part, const char *fmt, ...)
{
	char    head[64];
	size_t  n = (size_t)(strstr(fmt, "%s") - fmt);
	va_list ap;

	assert(n + 3 <= sizeof(head));
	snprintf(head, sizeof(head), "%.*s", (int)n + 2, fmt);
	begin(e, code);
	va_start(ap, fmt);
	int end = vsnprintf(NULL, 0, head, ap);
	va_end(ap);
	head[n] = '\0';
	va_start(ap, fmt);
	int at = vsnprintf(NULL, 0, head, ap);
	va_end(ap);
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	if (end < ERR_TEXT - 4)
		e->part[part] = (struct err_span){ (uint16_t)at, (uint16_t)(end - at) };
	return -1;
}

int
err_because(struct err *e, enum err_reason reason, enum err_field field, uint64_t number)
{
	e->reason = reason;
	e->field = field;
	e->number = number;
	return -1;
}

int
err_sys(struct err *e, const char *fmt, ...)
{
	int     saved = errno;
	va_list ap;

	begin(e, E_SYS);
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	add(e, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

/* The parts behind `from` are by so much further on; what is cut off is no part any more. */
static void
move_parts(struct err *e, size_t from, ptrdiff_t by)
{
	for (struct err_span *p = e->part; p < e->part + PART__COUNT; p++) {
		if (p->at >= from)
			p->at = (uint16_t)(p->at + by);
		if (p->at + p->len >= ERR_TEXT - 4)
			p->len = 0;
	}
}

static size_t
prepend(struct err *e, const char *fmt, va_list ap)
{
	char old[ERR_TEXT];

	memcpy(old, e->text, sizeof(old));
	put(e, 0, fmt, ap);
	add(e, ": ");
	size_t n = strlen(e->text);
	add(e, "%s", old);
	move_parts(e, 0, (ptrdiff_t)n);
	e->context = 0;
	return n;
}

int
err_prefix(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	prepend(e, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_context(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->context = (uint16_t)prepend(e, fmt, ap);
	va_end(ap);
	return -1;
}

void
err_strip(struct err *e)
{
	size_t n = e->context;

	memmove(e->text, e->text + n, strlen(e->text + n) + 1);
	move_parts(e, n, -(ptrdiff_t)n);
	e->context = 0;
}

void
err_say(struct err *e, enum err_part part, const char *words)
{
	struct err_span p = e->part[part];
	char            rest[ERR_TEXT];

	if (p.len == 0 || (size_t)p.at + p.len > strlen(e->text)) /* a worker's parts may overlap */
		return;
	snprintf(rest, sizeof(rest), "%s", e->text + p.at + p.len);
	e->text[p.at] = '\0';
	add(e, "%s%s", words, rest);
	e->part[part].len = (uint16_t)strlen(words);
	move_parts(e, (size_t)p.at + 1, (ptrdiff_t)strlen(words) - p.len);
}

const char *
err_wire_name(enum err_code code)
{
	return code < E__COUNT ? wire_names[code] : "unknown";
}

const char *
err_class(enum err_code code)
{
	return code < E__COUNT ? classes[code] : "BoxError";
}

enum err_code
err_from_wire(const char *name, size_t len)
{
	int c;

	for (c = 0; c < E__COUNT; c++)
		if (strlen(wire_names[c]) == len && memcmp(wire_names[c], name, len) == 0)
			break;
	return c;
}

const char *
err_reason_name(enum err_reason r)
{
	return r < REASON__COUNT ? reasons[r] : "";
}

const char *
err_field_name(enum err_field f)
{
	return f < FIELD__COUNT ? fields[f] : "";
}

static int
index_of(const char *const names[], int n, const char *name)
{
	for (int i = 1; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

enum err_reason
err_reason_of(const char *name)
{
	return (enum err_reason)index_of(reasons, REASON__COUNT, name);
}

enum err_field
err_field_of(const char *name)
{
	return (enum err_field)index_of(fields, FIELD__COUNT, name);
}
