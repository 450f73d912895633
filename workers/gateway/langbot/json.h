/*
 * JSON text as a tree of MessagePack objects, and back.  Strict where Python is not: every value that is taken
 * comes out again as it went in, and two readers of the same text cannot see two things in it.
 */
#pragma once

#include <msgpack.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* The extension type of a whole number that 64 bits do not hold; its body is its digits. */
enum { JSON_BIG = 100 };

enum json_verdict {
	JSON_GOOD,
	JSON_FAULTY, /* JSON, but not what we take: the tree has the seq_id, code and action alone */
	JSON_BROKEN, /* no JSON at all */
};

/* The tree is in the zone and in the text, which must outlive it; the error says why it is not good. */
enum json_verdict json_parse(const char *text, size_t n, msgpack_zone *, msgpack_object *, struct err *);

/* The value of a key; NULL when it is absent, or when this is no map. */
const msgpack_object *json_get(const msgpack_object *map, const char *key);

/* Is it this text? */
bool json_is(const msgpack_object *, const char *);

/* ---- writing: commas come by themselves ---- */

void json_write(struct buf *, const msgpack_object *);

void json_open(struct buf *, char bracket);
void json_close(struct buf *, char bracket);
void json_key(struct buf *, const char *); /* its value comes next */
void json_item(struct buf *);              /* of an array: its value comes next */

/* Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct buf *, const char *, size_t n);
void json_str(struct buf *, const char *);
void json_u64(struct buf *, uint64_t);
void json_i64(struct buf *, int64_t);
void json_f64(struct buf *, double); /* must be finite */
void json_nil(struct buf *);

/* A key and its value at once. */
void json_key_str(struct buf *, const char *key, const char *);
void json_key_u64(struct buf *, const char *key, uint64_t);
void json_key_bool(struct buf *, const char *key, bool);
