/*
 * Text as Python has it: what strip() takes off, how repr() prints a value.  LangBot's own classes do both, and
 * their words are shown to people.
 */
#ifndef GATEWAY_PYTEXT_H
#define GATEWAY_PYTEXT_H

#include <msgpack.h>
#include <stddef.h>

#include "buf.h"

/* str.strip(): where it begins; *n becomes what is left.  The text is UTF-8. */
const char *py_strip(const char *, size_t *n);

/* What Rust's trim() takes off, which reads LangBot's numbers: not the separators U+001C to U+001F. */
const char *rust_trim(const char *, size_t *n);

/* Characters in UTF-8 text. */
size_t py_len(const char *, size_t n);

/* Bytes of the first so many characters. */
size_t py_prefix(const char *, size_t n, size_t characters);

/* Non-empty, and letters and digits only: to be taken for them is enough above ASCII. */
bool py_isalnum(const char *, size_t n);

/* repr(): 1.0, 1e+16, inf. */
void py_float(struct buf *, double);

/* repr(), about most bytes of it; and str(), which is the text itself when it is one. */
void py_repr(struct buf *, const msgpack_object *, size_t most);
void py_str(struct buf *, const msgpack_object *, size_t most);

/* bool(): empty, zero and None are false. */
bool py_truth(const msgpack_object *);

/* type(v).__name__ */
const char *py_type(const msgpack_object *);

#endif
