#include "langbot/coerce.h"

#include "langbot/json.h"

enum { DOUBLE_DIGITS = 308 }; /* of a whole number that a double can hold */

bool
strict_int(const msgpack_object *o, wide *out)
{
	if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		*out = o->via.u64;
	else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
		*out = o->via.i64;
	else if (o->type == MSGPACK_OBJECT_EXT && o->via.ext.type == JSON_BIG)
		*out = o->via.ext.ptr[0] == '-' ? -WIDE_MOST : WIDE_MOST;
	else
		return false;
	return true;
}

const char *
coerce_int(const msgpack_object *o, wide *out)
{
	if (strict_int(o, out))
		return NULL;
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return int_of_real(o->via.f64, out);
	case MSGPACK_OBJECT_STR:
		return int_of_text(o->via.str.ptr, o->via.str.size, out);
	default:
		return NOT_INT;
	}
}

const char *
coerce_float(const msgpack_object *o, double *out)
{
	wide v;

	if (strict_int(o, &v)) {
		*out = (double)v; /* of a larger one it is enough that it is larger than anything of ours */
		return o->type == MSGPACK_OBJECT_EXT && o->via.ext.size > DOUBLE_DIGITS ? NOT_FLOAT : NULL;
	}
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		*out = o->via.f64;
		return NULL;
	case MSGPACK_OBJECT_STR:
		return float_of_text(o->via.str.ptr, o->via.str.size, out);
	default:
		return NOT_FLOAT;
	}
}

const char *
coerce_bool(const msgpack_object *o, bool *out)
{
	double v;

	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_STR:
		return bool_of_text(o->via.str.ptr, o->via.str.size, out);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		coerce_float(o, &v);
		return bool_of_real(v, out);
	default:
		return NOT_BOOL;
	}
}
