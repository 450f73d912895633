/*
 * The central directory of a zip archive, which is what counts: names, sizes and where each entry is.  The
 * archive is a stranger's.  What does not fit together is no archive: entries that overlap, local headers that
 * tell something else, bytes in front of the first entry or behind the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "skills/text.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_BZIP2 = 12, ZIP_LZMA = 14 };

struct zip_entry {
	struct span name;   /* owned; UTF-8, may have a NUL in it */
	uint64_t    packed; /* bytes */
	uint64_t    size;
	uint64_t    offset; /* of its local header */
	uint64_t    end;    /* of its packed bytes */
	uint32_t    mode;   /* of Unix, 0: not given */
	uint16_t    method;
	bool        encrypted;
};

struct zip_dir {
	struct zip_entry *v; /* owned; in the directory's order */
	size_t            n; /* one over LIM_ZIP_ENTRIES: there are that many, or more */
};

int  zipdir_read(struct zip_dir *, struct span archive, struct err *);
void zipdir_clear(struct zip_dir *);
