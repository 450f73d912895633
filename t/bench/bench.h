/* What the parts of the benchmark share. */
#pragma once

#include <stddef.h>
#include <time.h>

#include "wire/msg.h"

enum { SERIES = 1000 };

struct series {
	double us[SERIES];
	size_t n;
};

/* The same thing done in a sandbox and beside it. */
struct way {
	struct series inside, outside;
};

static inline double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* For qsort(3) of doubles. */
static inline int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A request of the running boxd; a failure ends the program. */
void call(enum msg_type, const void *body, struct msg *reply);

void create_with(const char *name, enum network);
void delete (const char *name);

/* ---- ways.c ---- */

/* Out of a sandbox and directly, in turns: MB/s in, MB/s out, and microseconds from connecting to the first byte. */
void measure_ways(struct way *down, struct way *up, struct way *connect);
