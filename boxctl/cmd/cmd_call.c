/*
 * Any request of the protocol: its parameters as JSON, its result as JSON.  The field table says what each value
 * is on the wire, and the decoder that boxd has says what is wrong with it.
 */
#include <msgpack.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

static void pack_struct(msgpack_packer *, enum msg_type, struct json_object *);

static void
pack_text(msgpack_packer *pk, struct json_object *v)
{
	size_t n = (size_t)json_object_get_string_len(v);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, json_object_get_string(v), n);
}

static void
pack_key(msgpack_packer *pk, const char *key)
{
	msgpack_pack_str(pk, strlen(key));
	msgpack_pack_str_body(pk, key, strlen(key));
}

/* What it is in JSON; the decoder judges. */
static void
pack_plain(msgpack_packer *pk, struct json_object *v)
{
	switch (json_object_get_type(v)) {
	case json_type_boolean:
		json_object_get_boolean(v) ? msgpack_pack_true(pk) : msgpack_pack_false(pk);
		break;
	case json_type_int:
		if (json_object_get_int64(v) < 0)
			msgpack_pack_int64(pk, json_object_get_int64(v));
		else
			msgpack_pack_uint64(pk, json_object_get_uint64(v));
		break;
	case json_type_double:
		msgpack_pack_double(pk, json_object_get_double(v));
		break;
	case json_type_string:
		pack_text(pk, v);
		break;
	case json_type_array:
		msgpack_pack_array(pk, json_object_array_length(v));
		for (size_t i = 0; i < json_object_array_length(v); i++)
			pack_plain(pk, json_object_array_get_idx(v, i));
		break;
	case json_type_object:
		pack_struct(pk, MSG_NONE, v);
		break;
	case json_type_null:
		msgpack_pack_nil(pk);
		break;
	}
}

static void
pack_field(msgpack_packer *pk, const struct field *f, struct json_object *v)
{
	enum json_type t = json_object_get_type(v);
	size_t         n = (size_t)(t == json_type_string ? json_object_get_string_len(v) : 0);

	if (f != NULL && f->kind == K_BLOB && t == json_type_string) {
		msgpack_pack_bin(pk, n);
		msgpack_pack_bin_body(pk, json_object_get_string(v), n);
	} else if (f != NULL && f->kind == K_OBJ && t == json_type_object) {
		pack_struct(pk, f->sub, v);
	} else if (f != NULL && f->kind == K_LIST && t == json_type_array) {
		const struct field one = { .name = f->name, .kind = K_OBJ, .sub = f->sub };

		msgpack_pack_array(pk, json_object_array_length(v));
		for (size_t i = 0; i < json_object_array_length(v); i++)
			pack_field(pk, &one, json_object_array_get_idx(v, i));
	} else {
		pack_plain(pk, v);
	}
}

static const struct field *
field_named(enum msg_type t, const char *name)
{
	if (t == MSG_NONE)
		return NULL;
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static void
pack_struct(msgpack_packer *pk, enum msg_type t, struct json_object *o)
{
	msgpack_pack_map(pk, (size_t)json_object_object_length(o));
	json_object_object_foreach(o, key, value)
	{
		pack_key(pk, key);
		pack_field(pk, field_named(t, key), value);
	}
}

/* As a client would send it, read back by the decoder: what comes out can be sent. */
static int
read_request(const struct args *a, struct json_object *params, msgpack_sbuffer *bytes, struct msg *m, struct err *e)
{
	enum msg_type  t = msg_by_name(a->v[0], strlen(a->v[0]));
	msgpack_packer pk;

	if (t == MSG_NONE || msg_def(t)->envelope != ENV_REQUEST || !(msg_def(t)->from & FROM_CLIENT))
		return err_set(e, E_INVALID, "'%s' is no request for clients", a->v[0]);
	msgpack_packer_init(&pk, bytes, msgpack_sbuffer_write);
	msgpack_pack_array(&pk, 4);
	msgpack_pack_uint64(&pk, ENV_REQUEST);
	msgpack_pack_uint64(&pk, 1);
	pack_key(&pk, a->v[0]);
	pack_struct(&pk, t, params);
	return msg_decode(m, bytes->data, bytes->size, NULL, 0, FROM_CLIENT, e);
}

static int
call(const struct args *a, const struct msg *m)
{
	struct client c;
	struct msg    reply;

	int code = cmd_ask(a, m->type, m->body, &c, &reply);
	if (code != EXIT_OK)
		return code;
	if (a->json)
		render_print_json(render_json(msg_def(m->type)->result, reply.body));
	else
		render_lines(msg_def(m->type)->result, reply.body, 0);
	cmd_done(&c, &reply);
	return EXIT_OK;
}

int
cmd_call(const struct args *a)
{
	struct json_object *params = json_tokener_parse(a->n > 1 ? a->v[1] : "{}");
	msgpack_sbuffer     bytes;
	struct msg          m = { 0 };
	struct err          e;
	int                 code = EXIT_USAGE;

	msgpack_sbuffer_init(&bytes);
	msgpack_unpacked_init(&m.unpacked);
	if (!json_object_is_type(params, json_type_object)) {
		err_set(&e, E_INVALID, "the parameters are no JSON object");
		usage_error("call", &e);
	} else if (read_request(a, params, &bytes, &m, &e) == -1) {
		usage_error("call", &e);
	} else {
		code = call(a, &m);
	}
	msg_clear(&m);
	msgpack_sbuffer_destroy(&bytes);
	json_object_put(params);
	return code;
}
