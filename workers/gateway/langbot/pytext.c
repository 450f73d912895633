#include "langbot/pytext.h"

#include "langbot/json.h"

void
py_str(struct buf *b, const msgpack_object *o)
{
	if (o->type == MSGPACK_OBJECT_STR)
		buf_append(b, o->via.str.ptr, o->via.str.size);
	else if (o->type == MSGPACK_OBJECT_BOOLEAN)
		buf_printf(b, o->via.boolean ? "True" : "False");
	else if (o->type == MSGPACK_OBJECT_NIL)
		buf_printf(b, "None");
	else
		json_write(b, o);
}

bool
py_truth(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return o->via.boolean;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return o->via.u64 != 0;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return o->via.f64 != 0;
	case MSGPACK_OBJECT_STR:
		return o->via.str.size > 0;
	case MSGPACK_OBJECT_ARRAY:
		return o->via.array.size > 0;
	case MSGPACK_OBJECT_MAP:
		return o->via.map.size > 0;
	case MSGPACK_OBJECT_NIL:
		return false;
	default:
		return true;
	}
}
