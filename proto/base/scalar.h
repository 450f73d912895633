/* A scalar of whatever kind a client had at hand.  What it means is python/lax.h's to say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lax_kind { LAX_NONE, LAX_BOOL, LAX_INT, LAX_FLOAT, LAX_STR };

struct lax {
	enum lax_kind kind; /* LAX_NONE: it was not given, or nil */
	union {
		bool        boolean;
		int64_t     number; /* a larger one is the largest there is: no field of ours takes either */
		double      real;
		const char *text;
	};
};

static inline struct lax
lax_text(const char *s)
{
	return (struct lax){ .kind = LAX_STR, .text = s };
}

static inline struct lax
lax_number(int64_t v)
{
	return (struct lax){ .kind = LAX_INT, .number = v };
}
