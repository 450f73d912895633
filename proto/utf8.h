/* Bytes from elsewhere made valid UTF-8, for peers that take nothing else. */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include "buf.h"

/* Append valid UTF-8, U+FFFD for what is not; false when there was any. */
bool utf8_append(struct buf *, const char *, size_t n);

/* Bytes at the end of these that begin a character and are not all of it; 0 to 3. */
size_t utf8_unfinished(const char *, size_t n);

#endif
