/*
 * Values as Python prints them: repr(), str(), bool(), type().  LangBot's own classes do so, and their words are shown
 * to people.
 */
#ifndef GATEWAY_PYTEXT_H
#define GATEWAY_PYTEXT_H

#include <msgpack.h>
#include <stddef.h>

#include "base/buf.h"
#include "python/pystr.h"

/* str.isalnum() */
bool py_isalnum(const char *, size_t n);

/* repr(), about most bytes of it; and str(), which is the text itself when it is one. */
void py_repr(struct buf *, const msgpack_object *, size_t most);
void py_str(struct buf *, const msgpack_object *, size_t most);

/* bool(): empty, zero and None are false. */
bool py_truth(const msgpack_object *);

/* type(v).__name__ */
const char *py_type(const msgpack_object *);

#endif
