/*
 * Numbers and truth as pydantic reads them in its lax mode: "999", 999.0 and 999 are one number, "yes" is true.  What
 * does not fit is named as pydantic names it.
 */
#ifndef PROTO_PYNUM_H
#define PROTO_PYNUM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Why a value does not fit. */
struct misfit {
	const char *type; /* pydantic's name of the case: "int_parsing" */
	const char *text;
};

extern const struct misfit misfit_int, misfit_float, misfit_bool; /* of a kind that is none */

/* Wide enough for every number of 64 bits; a larger one is WIDE_MOST, or its negative. */
typedef __int128 wide;
#define WIDE_MOST ((wide)1 << 100)

/* NULL when it fits. */
const struct misfit *int_of_text(const char *, size_t n, wide *);
const struct misfit *int_of_real(double, wide *);
const struct misfit *float_of_text(const char *, size_t n, double *);
const struct misfit *bool_of_text(const char *, size_t n, bool *);
const struct misfit *bool_of_real(double, bool *);

/* Append repr() of it: 1.0, 1e+16, inf. */
void py_float(struct buf *, double);

#endif
