#include "base/err.h"

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

	e->code = code;
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_sys(struct err *e, const char *fmt, ...)
{
	int     saved = errno;
	va_list ap;

	e->code = E_SYS;
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	add(e, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

int
err_prefix(struct err *e, const char *fmt, ...)
{
	char    old[ERR_TEXT];
	va_list ap;

	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	put(e, 0, fmt, ap);
	va_end(ap);
	add(e, ": %s", old);
	return -1;
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
