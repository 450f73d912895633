#include "attack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FORMAT(out, fmt)                              \
	do {                                          \
		va_list ap;                           \
		va_start(ap, fmt);                    \
		vsnprintf(out, sizeof(out), fmt, ap); \
		va_end(ap);                           \
	} while (0)

static const char *
errno_name(int e)
{
	const char *name = strerrorname_np(e);

	return name != NULL ? name : "an unknown error";
}

static void
remember(struct report *r, const char *what, int error)
{
	if (r->tries++ == 0)
		snprintf(r->first, sizeof(r->first), "%s", what);
	r->seen[error < ERRNOS ? error : 0] = true;
}

static void
note_open(struct report *r, const char *text)
{
	if (r->open[0] == '\0')
		snprintf(r->open, sizeof(r->open), "%s", text);
}

bool
failed(struct report *r, long result, const char *fmt, ...)
{
	int  error = errno;
	char what[DETAIL];

	FORMAT(what, fmt);
	if (result == -1) {
		remember(r, what, error);
		return true;
	}
	strncat(what, ": worked", sizeof(what) - strlen(what) - 1);
	note_open(r, what);
	return false;
}

bool
refused(struct report *r, long result, const char *fmt, ...)
{
	int  error = errno;
	char what[DETAIL - 64], text[DETAIL];

	FORMAT(what, fmt);
	if (result == -1 && (error == EPERM || error == EACCES || error == ENOSYS)) {
		remember(r, what, error);
		return true;
	}
	if (result == -1)
		snprintf(text, sizeof(text), "%s: not refused, the kernel answers %s", what, errno_name(error));
	else
		snprintf(text, sizeof(text), "%s: worked", what);
	note_open(r, text);
	return false;
}

void
works(struct report *r, const char *fmt, ...)
{
	char text[DETAIL];

	FORMAT(text, fmt);
	note_open(r, text);
}

void
holds(struct report *r, const char *fmt, ...)
{
	FORMAT(r->note, fmt);
}

void
skips(struct report *r, const char *fmt, ...)
{
	FORMAT(r->why, fmt);
}

static void
list_errnos(const struct report *r, char *out, size_t size)
{
	size_t n = 0;

	for (int e = 0; e < ERRNOS && n < size; e++)
		if (r->seen[e])
			n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", errno_name(e));
}

enum verdict
report_end(const struct report *r, char *detail, size_t size)
{
	char errnos[DETAIL] = "";

	list_errnos(r, errnos, sizeof(errnos));
	if (r->open[0] != '\0') {
		snprintf(detail, size, "%s", r->open);
		return OPEN;
	}
	if (r->note[0] != '\0') {
		snprintf(detail, size, "%s", r->note);
		return HELD;
	}
	if (r->tries > 0) {
		if (r->tries == 1)
			snprintf(detail, size, "%s: %s", r->first, errnos);
		else
			snprintf(detail, size, "%u ways, first %s: %s", r->tries, r->first, errnos);
		return HELD;
	}
	snprintf(detail, size, "%s", r->why[0] != '\0' ? r->why : "the attack says nothing");
	return r->why[0] != '\0' ? SKIPPED : OPEN;
}
