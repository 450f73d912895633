/* Bytes from elsewhere made valid UTF-8, for peers that take nothing else. */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include "buf.h"

/* Append valid UTF-8, U+FFFD for what is not; false when there was any. */
bool utf8_append(struct buf *, const char *, size_t n);

#endif
