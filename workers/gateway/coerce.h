/*
 * A value as LangBot's classes take it: "999", 999.0 and 999 are one number, "yes" is true.  What does not fit is
 * named as pydantic names it.
 */
#ifndef GATEWAY_COERCE_H
#define GATEWAY_COERCE_H

#include <msgpack.h>

/* Wide enough for every number of 64 bits; a larger one is WIDE_MOST, or its negative. */
typedef __int128 wide;
#define WIDE_MOST ((wide)1 << 100)

/* Why a value does not fit. */
struct misfit {
	const char *type; /* pydantic's name of the case: "int_parsing" */
	const char *text;
};

/* NULL when it fits. */
const struct misfit *coerce_int(const msgpack_object *, wide *);
const struct misfit *coerce_float(const msgpack_object *, double *);
const struct misfit *coerce_bool(const msgpack_object *, bool *);

/* A whole number, and not a bool; false when it is anything else. */
bool strict_int(const msgpack_object *, wide *);

/* A moment with its zone, in microseconds since the epoch; before that is 0. */
const struct misfit *coerce_time(const msgpack_object *, uint64_t *);

/* Of a text: digits with a sign, underscores and a tail of zeros.  False: it is none. */
bool text_int(const char *, size_t n, wide *);

#endif
