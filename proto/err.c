#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const wire_names[] = {
#define ERROR(E, wire, class, doc) [E_##E] = (wire),
#include "errors.def"
#undef ERROR
};

int
err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
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
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	size_t used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(saved));
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
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	size_t used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", old);
	return -1;
}

const char *
err_wire_name(enum err_code code)
{
	return code < E__COUNT ? wire_names[code] : "unknown";
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
