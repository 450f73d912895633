/*
 * Which names a session was told an address for.  A pin lasts as long as the answer's TTL, and at least for
 * PIN_LEAST_SEC: programs connect a while after they asked.  Bounded: when there are too many, the one that ends
 * first goes.
 */
#pragma once

#include <stddef.h>

#include "base/netaddr.h"

enum { PIN_LEAST_SEC = 60, PIN_MOST_SEC = 86400, PINS_MOST = 4096, PIN_NAMES = 16 };

struct pins;

struct pins *pins_open(void); /* NULL without memory */
void         pins_close(struct pins **);

/* now: any clock that does not go back, in seconds. */
void pins_add(struct pins *, const struct netaddr *, const char *name, uint32_t ttl_sec, double now);

/* The names it has now, newest first; how many.  They are valid until the next pins_add. */
size_t pins_names(struct pins *, const struct netaddr *, double now, const char *names[PIN_NAMES]);
