/*
 * Any request of the protocol: its parameters as JSON, its result as JSON.  The field table says what each value
 * is on the wire, and the decoder that boxd has says what is wrong with it.
 */
#include <jansson.h>
#include <msgpack.h>
#include <string.h>

#include "cmd.h"
#include "text.h"

static void pack_struct(msgpack_packer *, enum msg_type, json_t *);

static void
pack_text(msgpack_packer *pk, const char *text, size_t n)
{
	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, text, n);
}

/* What it is in JSON; the decoder judges. */
static void
pack_plain(msgpack_packer *pk, json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_TRUE:
		msgpack_pack_true(pk);
		break;
	case JSON_FALSE:
		msgpack_pack_false(pk);
		break;
	case JSON_INTEGER:
		msgpack_pack_int64(pk, json_integer_value(v)); /* as an unsigned one, unless it is negative */
		break;
	case JSON_REAL:
		msgpack_pack_double(pk, json_real_value(v));
		break;
	case JSON_STRING:
		pack_text(pk, json_string_value(v), json_string_length(v));
		break;
	case JSON_ARRAY:
		msgpack_pack_array(pk, json_array_size(v));
		for (size_t i = 0; i < json_array_size(v); i++)
			pack_plain(pk, json_array_get(v, i));
		break;
	case JSON_OBJECT:
		pack_struct(pk, MSG_NONE, v);
		break;
	case JSON_NULL:
		msgpack_pack_nil(pk);
		break;
	}
}

static void
pack_field(msgpack_packer *pk, const struct field *f, json_t *v)
{
	if (f != NULL && f->kind == K_BLOB && json_is_string(v)) {
		msgpack_pack_bin(pk, json_string_length(v));
		msgpack_pack_bin_body(pk, json_string_value(v), json_string_length(v));
	} else if (f != NULL && f->kind == K_OBJ && json_is_object(v)) {
		pack_struct(pk, f->sub, v);
	} else if (f != NULL && f->kind == K_LIST && json_is_array(v)) {
		const struct field one = { .name = f->name, .kind = K_OBJ, .sub = f->sub };

		msgpack_pack_array(pk, json_array_size(v));
		for (size_t i = 0; i < json_array_size(v); i++)
			pack_field(pk, &one, json_array_get(v, i));
	} else {
		pack_plain(pk, v);
	}
}

static void
pack_struct(msgpack_packer *pk, enum msg_type t, json_t *o)
{
	const char *key;
	json_t     *value;

	msgpack_pack_map(pk, json_object_size(o));
	json_object_foreach(o, key, value)
	{
		pack_text(pk, key, strlen(key));
		pack_field(pk, msg_field(t, key), value);
	}
}

/* As a client would send it, read back by the decoder: what comes out can be sent. */
static int
read_request(const struct args *a, json_t *params, msgpack_sbuffer *bytes, struct msg *m, struct err *e)
{
	enum msg_type  t = msg_by_name(a->v[0], strlen(a->v[0]));
	msgpack_packer pk;

	if (t == MSG_NONE || msg_def(t)->envelope != ENV_REQUEST || !(msg_def(t)->from & FROM_CLIENT))
		return err_set(e, E_INVALID, "'%s' is no request for clients", a->v[0]);
	msgpack_packer_init(&pk, bytes, msgpack_sbuffer_write);
	msgpack_pack_array(&pk, 4);
	msgpack_pack_uint64(&pk, ENV_REQUEST);
	msgpack_pack_uint64(&pk, 1);
	pack_text(&pk, a->v[0], strlen(a->v[0]));
	pack_struct(&pk, t, params);
	return msg_decode(m, bytes->data, bytes->size, NULL, 0, FROM_CLIENT, e);
}

int
cmd_call(const struct args *a)
{
	json_error_t    why;
	json_t         *params = json_loads(a->n > 1 ? a->v[1] : "{}", JSON_ALLOW_NUL, &why);
	msgpack_sbuffer bytes;
	struct msg      m = { 0 };
	struct err      e;
	int             code = EXIT_USAGE;

	msgpack_sbuffer_init(&bytes);
	msgpack_unpacked_init(&m.unpacked);
	if (!json_is_object(params)) {
		err_set(&e, E_INVALID, "the parameters are no JSON object%s%s", params == NULL ? ": " : "",
		    params == NULL ? why.text : "");
		usage_error("call", &e);
	} else if (read_request(a, params, &bytes, &m, &e) == -1) {
		usage_error("call", &e);
	} else {
		code = cmd_show(a, m.type, m.body, NULL);
	}
	msg_clear(&m);
	msgpack_sbuffer_destroy(&bytes);
	json_decref(params);
	return code;
}
