/*
 * Native requests.  One is a map of what its table needs, and one field beside that is at an edge.  Maps and lists are
 * gone into.  Where a field has a usual value (the session that is there for it) that is used, to get further inside.
 */
#include <stdio.h>
#include <string.h>

#include "edges.h"
#include "wire/mp.h"

/* The way to the field that is tried. */
struct way {
	const struct field *at[8];
	int                 n;
	int                 edge;
};

static void put_fields(msgpack_packer *, enum msg_type, const struct way *, int depth, const char *session);

/* Deeper tries only: a request whose fields are not named here is tried all the same. */
static bool
put_usual(msgpack_packer *pk, const struct field *f, const char *session)
{
	static const char *const usual[][2] = { { "process", "edge" }, { "path", "edge" }, { "instance", "inst-1" },
		{ "workspace", "w-1" }, { "name", "edge" }, { "target", "edge" } };

	if (f->kind == K_STRS && strcmp(f->name, "argv") == 0) {
		msgpack_pack_array(pk, 1);
		mp_cstr(pk, "true");
		return true;
	}
	if (f->kind == K_STR && (strcmp(f->name, "session") == 0 || strcmp(f->name, "session_id") == 0)) {
		mp_cstr(pk, session);
		return true;
	}
	for (size_t i = 0; f->kind == K_STR && i < sizeof(usual) / sizeof(*usual); i++)
		if (strcmp(f->name, usual[i][0]) == 0) {
			mp_cstr(pk, usual[i][1]);
			return true;
		}
	return false;
}

static bool
has_usual(const struct field *f)
{
	struct buf     b = { 0 };
	msgpack_packer pk;

	mp_writer(&pk, &b);
	bool has = put_usual(&pk, f, "");
	buf_clear(&b);
	return has;
}

static void
put_plain(msgpack_packer *pk, const struct field *f, const char *session)
{
	static const struct way none = { .n = -1 };

	if (put_usual(pk, f, session))
		return;
	switch (f->kind) {
	case K_U64:
	case K_I64:
	case K_F64:
		msgpack_pack_int64(pk, f->least > 0 ? f->least : 0);
		break;
	case K_BOOL:
		msgpack_pack_false(pk);
		break;
	case K_STR:
	case K_LAX:
		mp_cstr(pk, "edge");
		break;
	case K_ENUM:
		mp_cstr(pk, f->names[0]);
		break;
	case K_BLOB:
		msgpack_pack_bin(pk, 0);
		break;
	case K_PAIRS:
		msgpack_pack_map(pk, 0);
		break;
	case K_STRS:
	case K_LIST:
		msgpack_pack_array(pk, 0);
		break;
	case K_OBJ:
		put_fields(pk, f->sub, &none, 0, session);
		break;
	case K_FD:
		msgpack_pack_nil(pk);
		break;
	}
}

static void
put_tried(msgpack_packer *pk, const struct field *f, const struct way *w, int depth, const char *session)
{
	if (depth + 1 < w->n) {
		if (f->kind == K_LIST)
			msgpack_pack_array(pk, 1);
		put_fields(pk, f->sub, w, depth + 1, session);
	} else if (w->edge == EDGE_TWICE)
		put_plain(pk, f, session);
	else
		edge_pack(pk, f, w->edge);
}

static void
put_fields(msgpack_packer *pk, enum msg_type t, const struct way *w, int depth, const char *session)
{
	const struct field *tried = depth < w->n ? w->at[depth] : NULL;
	bool                last = depth + 1 == w->n;
	size_t              n = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass == 1)
			msgpack_pack_map(pk, n);
		for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++) {
			bool is_tried = f == tried;
			int  times = is_tried ? 1 : msg_needs(f) || has_usual(f);

			if (is_tried && last && w->edge < 0)
				times = w->edge == EDGE_MISSING ? 0 : w->edge == EDGE_TWICE ? 2 : 1;
			n += pass == 0 ? (size_t)times : 0;
			for (; pass == 1 && times > 0; times--) {
				mp_cstr(pk, is_tried && last && w->edge == EDGE_UNKNOWN ? "no_such_field" : f->name);
				if (is_tried && !(last && w->edge == EDGE_UNKNOWN))
					put_tried(pk, f, w, depth, session);
				else
					put_plain(pk, f, session);
			}
		}
	}
}

static void
put_request(struct peer *p, enum msg_type t, const struct way *w, const char *session)
{
	bool           request = msg_def(t)->envelope == ENV_REQUEST;
	struct buf     b = { 0 };
	msgpack_packer pk;

	mp_writer(&pk, &b);
	msgpack_pack_array(&pk, request ? 4 : 3);
	msgpack_pack_int(&pk, (int)msg_def(t)->envelope);
	if (request)
		msgpack_pack_uint64(&pk, p->next++);
	mp_cstr(&pk, msg_name(t));
	put_fields(&pk, t, w, 0, session);
	peer_put(p, b.data, b.len);
	buf_clear(&b);
}

/* Requests in flight are bounded; a batch is smaller than that. */
static void
try_field(struct peer *p, enum msg_type t, struct way *w, const char *session)
{
	char         what[512] = "";
	struct batch b;
	size_t       used = (size_t)snprintf(what, sizeof(what), "%s", msg_name(t));

	for (int i = 0; i < w->n; i++)
		used += (size_t)snprintf(what + used, sizeof(what) - used, ".%s", w->at[i]->name);
	batch_begin(&b, p, what);
	for (w->edge = EDGE_LOWEST; w->edge < edges_count(); w->edge++)
		put_request(p, t, w, session);
	batch_end(&b);
}

static void
try_fields(struct peer *p, enum msg_type top, enum msg_type t, struct way *w, const char *session)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++) {
		w->at[w->n++] = f;
		try_field(p, top, w, session);
		if (f->kind == K_OBJ || f->kind == K_LIST)
			try_fields(p, top, f->sub, w, session);
		w->n--;
	}
}

/* As it should be. */
static void
one_request(struct peer *p, enum msg_type t, const char *session)
{
	static const struct way none = { .n = -1 };
	struct batch            b;

	batch_begin(&b, p, msg_name(t));
	put_request(p, t, &none, session);
	batch_end(&b);
}

void
edges_native(struct peer *p)
{
	char       session[LIM_NAME];
	struct way w = { 0 };

	for (enum msg_type t = MSG_NONE + 1; t < MSG__COUNT; t++) {
		enum envelope env = msg_def(t)->envelope;

		if (env == ENV_STRUCT || !(msg_def(t)->from & FROM_CLIENT))
			continue;
		/* a session for this request alone: it may pause it, or end it */
		snprintf(session, sizeof(session), "edge-%s", msg_name(t));
		one_request(p, MSG_CREATE, session);
		one_request(p, MSG_PROCESS_START, session);
		w.n = 0;
		try_fields(p, t, t, &w, session);
		if (msg_def(t)->fields->name == NULL)
			one_request(p, t, session);
		one_request(p, MSG_DELETE, session);
	}
}
