/*
 * What a scalar means: "999", 999 and 999.0 are one number.  The rules, and the words of a refusal, are those of
 * LangBot's own classes, so that a host gets the same here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scalar.h"

/* -1: E_INVALID, "Input should be a valid integer, ...".  One too large is the largest, or smallest, there is. */
int lax_int(const struct lax *, int64_t *, struct err *);
int lax_float(const struct lax *, double *, struct err *);
int lax_bool(const struct lax *, bool *, struct err *);

/* Not given, or an empty string. */
bool lax_is_blank(const struct lax *);
