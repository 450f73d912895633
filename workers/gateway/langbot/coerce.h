/* A JSON value as a field of LangBot's classes accepts it, and the error text when it does not fit. */
#pragma once

#include <msgpack.h>

#include "python/pynum.h"

/* NULL when it fits, else why it does not. */
const char *coerce_int(const msgpack_object *, wide *);
const char *coerce_float(const msgpack_object *, double *);
const char *coerce_bool(const msgpack_object *, bool *);

/* A whole number, and not a bool; false when it is anything else. */
bool strict_int(const msgpack_object *, wide *);

/* A moment with its zone, in microseconds since the epoch; before that is 0. */
const char *coerce_time(const msgpack_object *, uint64_t *);
