/* Text as Python's str sees it: what upstream's skills were written and are read with.  All of it valid UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "python/pystr.h"

/* Some text, not its own. */
struct span {
	const char *p;
	size_t      n;
};

struct span span_of(const char *);
bool        span_is(struct span, const char *);

/* The first character, which is there; how many bytes it takes. */
size_t text_char(struct span, uint32_t *c);
void   text_put(struct buf *, uint32_t c);

bool text_is_valid(struct span); /* UTF-8 */

/* str.strip(), and the same with only these ASCII characters. */
struct span text_strip(struct span);
struct span text_strip_of(struct span, const char *chars);

/* Bytes of the first line with its break, as str.splitlines(keepends=True) cuts it; 0 at the end. */
size_t text_line(struct span);

/* os.path.normpath(): as text, whatever the path leads to.  false: too long. */
bool text_normpath(struct span, char out[LIM_PATH + 1]);

/* A copy with a NUL behind it, which the caller frees; NULL: no memory. */
char *text_copy(struct span);
