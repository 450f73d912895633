/*
 * Numbers and truth as pydantic reads them in its lax mode: "999", 999.0 and 999 are one number, "yes" is true.  Why
 * one does not fit is said in pydantic's words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

extern const char NOT_INT[], NOT_FLOAT[], NOT_BOOL[]; /* why a value of another kind does not fit */

/* Wide enough for every number of 64 bits; a larger one is WIDE_MOST, or its negative. */
typedef __int128 wide;
#define WIDE_MOST ((wide)1 << 100)

/* NULL when it fits, else why it does not. */
const char *int_of_text(const char *, size_t n, wide *);
const char *int_of_real(double, wide *);
const char *float_of_text(const char *, size_t n, double *);
const char *bool_of_text(const char *, size_t n, bool *);
const char *bool_of_real(double, bool *);

/* Append repr() of it: 1.0, 1e+16, inf. */
void py_float(struct buf *, double);
