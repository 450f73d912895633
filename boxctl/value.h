/* Values of options, as people write them.  The limits are those of the field of a message that they go into. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "wire/msg.h"

int value_in_range(enum msg_type, const char *field, double, const char *text, struct err *);

/* rest: behind it. */
int value_number(const char *text, double *, const char **rest, struct err *);

int value_whole(enum msg_type, const char *field, const char *text, uint64_t *, struct err *);

/* Megabytes, or with a unit: 512, 512M, 512MiB, 2G, 1.5G. */
int value_megabytes(enum msg_type, const char *field, const char *text, uint64_t *, struct err *);

/* One of the names of an enumeration. */
int value_one_of(enum msg_type, const char *field, const char *text, int *which, struct err *);
