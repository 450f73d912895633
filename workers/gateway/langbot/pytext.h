/* Values as Python's str() and bool() see them, which LangBot's handlers apply to what they are sent. */
#pragma once

#include <msgpack.h>

#include "base/buf.h"

/* str() of a scalar; of a list or map, which no client sends where a text belongs, its JSON. */
void py_str(struct buf *, const msgpack_object *);

/* bool(): empty, zero and None are false. */
bool py_truth(const msgpack_object *);
