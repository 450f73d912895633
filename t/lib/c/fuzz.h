/* What every fuzz target begins with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A callback of a target need not look at all it is given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static inline void
must(bool holds)
{
	if (!holds)
		abort();
}
