#include "value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

int
value_in_range(enum msg_type t, const char *field, double v, const char *text, struct err *e)
{
	const struct field *f = msg_field(t, field);

	if (v < (double)f->least || v > (double)f->most)
		return err_set(e, E_INVALID, "'%s' is not in %ld..%lu", text_safe(text), f->least, f->most);
	return 0;
}

int
value_number(const char *text, double *out, const char **rest, struct err *e)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	if (end == text || errno != 0 || !isfinite(*out) || strchr(text, 'x') != NULL)
		return err_set(e, E_INVALID, "'%s' is not a number", text_safe(text));
	*rest = end;
	return 0;
}

int
value_whole(enum msg_type t, const char *field, const char *text, uint64_t *out, struct err *e)
{
	const char *rest = "";
	double      v = 0;

	if (value_number(text, &v, &rest, e) == -1)
		return -1;
	if (*rest != '\0' || v != floor(v))
		return err_set(e, E_INVALID, "'%s' is not a whole number", text_safe(text));
	if (value_in_range(t, field, v, text, e) == -1)
		return -1;
	*out = (uint64_t)v;
	return 0;
}

int
value_megabytes(enum msg_type t, const char *field, const char *text, uint64_t *out, struct err *e)
{
	const char *rest = "";
	double      v = 0;

	if (value_number(text, &v, &rest, e) == -1)
		return -1;
	switch (*rest) {
	case 'T':
	case 't':
		v *= 1024; /* fall through */
	case 'G':
	case 'g':
		v *= 1024; /* fall through */
	case 'M':
	case 'm':
		rest++;
	}
	if (rest[0] != '\0' && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0)
		return err_set(e, E_INVALID, "'%s' is not a size such as 512, 512M or 2G", text_safe(text));
	if (v != floor(v))
		return err_set(e, E_INVALID, "'%s' is not a whole number of megabytes", text_safe(text));
	if (value_in_range(t, field, v, text, e) == -1)
		return -1;
	*out = (uint64_t)v;
	return 0;
}

int
value_one_of(enum msg_type t, const char *field, const char *text, int *out, struct err *e)
{
	const struct field *f = msg_field(t, field);

	for (int i = 0; f->names[i] != NULL; i++) {
		if (strcmp(f->names[i], text) == 0) {
			*out = i;
			return 0;
		}
	}
	char all[256] = "";
	range_names(f, all, sizeof(all));
	return err_set(e, E_INVALID, "'%s' should be %s", text_safe(text), all);
}
