/*
 * A scalar of whatever kind the client had at hand, and what it means: "999", 999 and 999.0 are one number.  The
 * rules, and the words of a refusal, are those of LangBot's own classes, so that a host gets the same here.
 */
#ifndef PROTO_LAX_H
#define PROTO_LAX_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

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

/* -1: E_INVALID, "Input should be a valid integer, ...".  One too large is the largest, or smallest, there is. */
int lax_int(const struct lax *, int64_t *, struct err *);
int lax_float(const struct lax *, double *, struct err *);
int lax_bool(const struct lax *, bool *, struct err *);

/* Not given, or an empty string. */
bool lax_is_blank(const struct lax *);

#endif
