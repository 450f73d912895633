/*
 * JSON of strangers, on its way to jansson.  jansson judges the grammar and builds the tree; what it does not bound or
 * cannot hold is looked for here first, token by token:
 *
 *	values and containers	a container takes 250 bytes of memory and 2 bytes of text
 *	depth			jansson goes down 2048 levels, and so would all who walk its tree
 *	whole numbers		jansson refuses those beyond 64 bits, Python takes them: it gets the first digits
 *	half a surrogate pair	jansson refuses it as any other fault, and NaN too; a client is told what it was
 *
 * Both read the same bytes, but nothing depends on their agreeing about text that is not JSON: jansson refuses that.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Before a confined process reads JSON: jansson would open a file to make its hashes hard to guess. */
void jsontext_prepare(void);

struct jsontext {
	const char *p;
	size_t      n;
};

/*
 * Takes the next token and tells its kind: one of {}[]:, or '"' for a string (without its quotes, escapes as they are),
 * '0' for a number, 'a' for a word, '?' for anything else, 0 at the end.
 */
char jsontext_next(struct jsontext *left, struct jsontext *token);

bool jsontext_is(const struct jsontext *, const char *);

enum jsontext_fault {
	JSONTEXT_GOOD,
	JSONTEXT_MANY,    /* values, or containers */
	JSONTEXT_FAULTY,  /* JSON, but not what is taken */
	JSONTEXT_BROKEN,  /* not JSON */
	JSONTEXT_STARVED, /* no memory */
};

/* Digits of a whole number that jansson gets: with the sign so many bytes, as many as 64 bits always hold. */
enum { JSONTEXT_WHOLE = 18 };

/*
 * The tree, to be given back by json_decref, with all numbers cut to JSONTEXT_WHOLE digits; NULL with the reason.
 * Keys are in the order of the text, and so are numbers if no key may come twice.
 */
json_t *jsontext_load(const char *text, size_t n, size_t flags, size_t depth, enum jsontext_fault *fault, struct err *);
