/* What the pool directory has: for every volume and trial a record, and for a volume its image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/err.h"

enum { RECORD_ID = 32 }; /* hexadecimal digits: a hash of the path */

struct record {
	char     id[RECORD_ID + 1];
	char     path[LIM_PATH + 1];
	uint64_t size_mb;
	bool     trial;
};

/* The pool directory, made if make; -1 and the reason; -1 with E_NOTFOUND if it is missing. */
int pool_dir_open(const char *path, bool make, struct err *);

void record_name(struct record *, const char *path);

/* Fill in what was written; 1: no record of that path. */
int record_read(int pool, struct record *, struct err *);

/* On the disk when it returns. */
int record_write(int pool, const struct record *, struct err *);

/* With the image, if there is one. */
int record_remove(int pool, const struct record *, struct err *);

void record_image(const struct record *, char name[64]);

/* All of them; one that cannot be read is logged. */
int record_each(int pool, void (*fn)(void *arg, struct record *), void *arg, struct err *);
