/*
 * A map of a client's, read by a table into a message: each field coerced and checked, everything that is wrong
 * said at once.  Offsets and maxima are those of messages.def.
 */
#pragma once

#include "langbot/coerce.h"
#include "langbot/json.h"
#include "wire/msg.h"

enum shape {
	SHAPE_INT,
	SHAPE_FLOAT,
	SHAPE_BOOL,
	SHAPE_TEXT,
	SHAPE_ENUM,
	SHAPE_ENV, /* text to text */
	SHAPE_TEXTS,
	SHAPE_MODELS, /* a list of another model's */
	SHAPE_TIME,
};

enum {
	NEEDED = 1 << 0,
	NULLABLE = 1 << 1, /* null is as if it were absent */
	STRIPPED = 1 << 2,
};

#define NO_MOST INT64_MAX

struct rule {
	const char *name;
	enum shape  shape;
	unsigned    flags;
	const char *field; /* of the message; NULL: of the same name */

	const char *strict;      /* a number must be one: what is said if it is not */
	int64_t     least, most; /* of a number, when unfit is told; else what is less than 0 is 0 */
	const char *unfit;       /* what is said of a value that is not in the range, or does not pass: */
	bool (*fits)(const char *, size_t n);
	const char *unfit_too; /* and then, of one that passes but not this: */
	bool (*fits_too)(const char *, size_t n);
	const char *literal; /* a text must be this one, and is dropped */

	/* What a text that fits becomes in the message, when that is something else; NULL: no memory. */
	const char *(*makes)(msgpack_zone *, const char *, size_t *n);

	const struct model *sub;
};

struct model {
	const char        *title; /* of LangBot's class */
	enum msg_type      type;
	bool               closed; /* other keys are refused */
	const struct rule *rules;  /* as the class declares them; a NULL name ends */

	/* What is wrong with fields that are right each by itself; NULL: nothing. */
	const char *(*whole)(const void *body);
};

/* All that is wrong. */
struct misfits {
	struct buf    at;    /* where we are: "extra_mounts.0." */
	struct buf    lines; /* what was found, bounded */
	size_t        n;     /* of all that was found */
	bool          nul;   /* a text has a NUL in it: it is valid, but nothing can be done with it */
	bool          starved;
	msgpack_zone *zone;
};

/* One value that does not fit: where it is, and a format that says why. */
void misfit(struct misfits *, const char *where, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The fields that are in the map; the body has its defaults already. */
void model_read(struct misfits *, const struct model *, const msgpack_object *map, void *body);

/* "2 validation errors for BoxSpec", and of each the place in one line and the reason, indented, in the next. */
void misfits_print(const struct misfits *, struct buf *, const char *title);
void misfits_clear(struct misfits *);

/* A copy that ends in NUL, in the zone; NULL: no memory. */
char *text_in(msgpack_zone *, const char *, size_t n);
