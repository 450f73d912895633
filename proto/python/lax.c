#include "python/lax.h"

#include <string.h>

#include "python/pynum.h"

static int
refuse(const char *why, struct err *e)
{
	return why == NULL ? 0 : err_set(e, E_INVALID, "%s", why);
}

int
lax_int(const struct lax *l, int64_t *out, struct err *e)
{
	const char *why = NULL;
	wide        v = 0;

	switch (l->kind) {
	case LAX_BOOL:
		v = l->boolean;
		break;
	case LAX_INT:
		v = l->number;
		break;
	case LAX_FLOAT:
		why = int_of_real(l->real, &v);
		break;
	case LAX_STR:
		why = int_of_text(l->text, strlen(l->text), &v);
		break;
	case LAX_NONE:
		why = NOT_INT;
		break;
	}
	*out = v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
	return refuse(why, e);
}

int
lax_float(const struct lax *l, double *out, struct err *e)
{
	switch (l->kind) {
	case LAX_BOOL:
		*out = l->boolean;
		return 0;
	case LAX_INT:
		*out = (double)l->number;
		return 0;
	case LAX_FLOAT:
		*out = l->real;
		return 0;
	case LAX_STR:
		return refuse(float_of_text(l->text, strlen(l->text), out), e);
	case LAX_NONE:
		break;
	}
	return refuse(NOT_FLOAT, e);
}

int
lax_bool(const struct lax *l, bool *out, struct err *e)
{
	switch (l->kind) {
	case LAX_BOOL:
		*out = l->boolean;
		return 0;
	case LAX_INT:
		return refuse(bool_of_real((double)l->number, out), e);
	case LAX_FLOAT:
		return refuse(bool_of_real(l->real, out), e);
	case LAX_STR:
		return refuse(bool_of_text(l->text, strlen(l->text), out), e);
	case LAX_NONE:
		break;
	}
	return refuse(NOT_BOOL, e);
}

bool
lax_is_blank(const struct lax *l)
{
	return l->kind == LAX_NONE || (l->kind == LAX_STR && *l->text == '\0');
}
