/* What time it is, and how much has passed. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t
clock_us(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Goes on evenly, from an unknown beginning: for spans. */
static inline uint64_t
span_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

static inline uint64_t
span_ms(void)
{
	return span_us() / 1000;
}

/* Since the epoch: for people, and for who comes after us. */
static inline uint64_t
epoch_ms(void)
{
	return clock_us(CLOCK_REALTIME) / 1000;
}
