/* Zip archives byte by byte, so that everything in them can be a lie; and honest ones by libarchive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* What is 0 is told as it is. */
struct zip_item {
	const char *name;
	size_t      name_n;
	const char *data;
	size_t      n;
	uint32_t    mode;
	uint16_t    flags, method;
	uint32_t    size, packed; /* other sizes than the true ones, in both headers */
	uint32_t    local_size;   /* in the local one alone */
	const char *local_name;   /* the same */
	uint32_t    wrong_crc;    /* added to it */
	bool        zip64;        /* sizes as 64 bits in the extra field */
	bool        at_first;     /* its local header is that of the first item */
};

struct zipmake {
	struct buf local, central;
	uint16_t   n;
};

void zip_add(struct zipmake *, const struct zip_item *);
void zip_file(struct zipmake *, const char *name, const char *data); /* nothing special */

/* The archive, with this comment; the maker is empty again. */
void zip_end(struct zipmake *, const char *comment, struct buf *);

/* Deflated, by libarchive: name, content, ..., NULL. */
void zip_honest(struct buf *, const char *name, ...) __attribute__((sentinel));
