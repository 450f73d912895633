/* Bytes from elsewhere made valid UTF-8, for peers that take nothing else. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/* Append valid UTF-8, U+FFFD for what is not; false when there was any. */
bool utf8_append(struct buf *, const char *, size_t n);

bool utf8_is_valid(const char *, size_t n);

/*
 * The character at p[0..n), n > 0, and its bytes; or, negative, how many bytes of a broken one go together: then
 * the character is U+FFFD.
 */
int utf8_next(const char *p, size_t n, uint32_t *character);

/* Bytes at the end of these that begin a character and are not all of it; 0 to 3. */
size_t utf8_unfinished(const char *, size_t n);
