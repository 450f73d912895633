/*
 * One loop decodes every message: it checks kind, range, missing, unknown,
 * doubled and trailing fields, so a handler sees only valid data.  Nothing in the
 * bytes is believed: mp_scan has bounded counts and depth before msgpack-c
 * allocates for them.
 */
#include <endian.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memfd.h"
#include "wire/detail.h"
#include "wire/mp.h"
#include "wire/msg.h"
#include "wire/wire.h"

struct dec {
	struct msg *m;
	struct err *e;
	unsigned    named; /* descriptors that a field has named already, a bit each */
};

static const char *
found(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		return "nil";
	case MSGPACK_OBJECT_BOOLEAN:
		return "a boolean";
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return "a number";
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return "a negative number";
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return "a float";
	case MSGPACK_OBJECT_STR:
		return "a string";
	case MSGPACK_OBJECT_ARRAY:
		return "an array";
	case MSGPACK_OBJECT_MAP:
		return "a map";
	case MSGPACK_OBJECT_BIN:
		return "bytes";
	default:
		return "an extension";
	}
}

static int
wrong(struct dec *d, const char *wanted, const msgpack_object *o)
{
	return err_set(d->e, E_INVALID, "expected %s, got %s", wanted, found(o));
}

static void *
zone_alloc(struct dec *d, size_t n)
{
	void *p = msgpack_zone_malloc(d->m->unpacked.zone, n > 0 ? n : 1);

	if (p == NULL)
		err_set(d->e, E_SYS, "no memory for a message");
	return p;
}

static int
get_u64(struct dec *d, const struct field *f, const msgpack_object *o, uint64_t *out)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
		return wrong(d, "a whole number", o);
	*out = o->via.u64;
	return range_u64(f, *out, d->e);
}

static int
get_i64(struct dec *d, const struct field *f, const msgpack_object *o, int64_t *out)
{
	if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER && o->via.u64 <= INT64_MAX)
		*out = (int64_t)o->via.u64;
	else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
		*out = o->via.i64;
	else
		return wrong(d, "a whole number", o);
	return range_i64(f, *out, d->e);
}

static int
get_f64(struct dec *d, const struct field *f, const msgpack_object *o, double *out)
{
	if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		*out = (double)o->via.u64;
	else if (o->type == MSGPACK_OBJECT_FLOAT64 || o->type == MSGPACK_OBJECT_FLOAT32)
		*out = o->via.f64;
	else
		return wrong(d, "a number", o);
	return range_f64(f, *out, d->e);
}

/* Strings become C strings; a NUL inside would cut one short unseen. */
static int
get_cstr(struct dec *d, const msgpack_object *o, const char **out)
{
	if (o->type != MSGPACK_OBJECT_STR)
		return wrong(d, "a string", o);
	if (memchr(o->via.str.ptr, '\0', o->via.str.size) != NULL)
		return err_set(d->e, E_INVALID, "has a NUL byte in it");
	char *s = zone_alloc(d, (size_t)o->via.str.size + 1);
	if (s == NULL)
		return -1;
	memcpy(s, o->via.str.ptr, o->via.str.size);
	s[o->via.str.size] = '\0';
	*out = s;
	return 0;
}

static int
get_str(struct dec *d, const struct field *f, const msgpack_object *o, const char **out)
{
	if (get_cstr(d, o, out) == -1)
		return -1;
	return range_count(f, o->via.str.size, "bytes", d->e);
}

static int
get_strs(struct dec *d, const struct field *f, const msgpack_object *o, struct strs *out)
{
	if (o->type != MSGPACK_OBJECT_ARRAY)
		return wrong(d, "an array of strings", o);
	size_t n = o->via.array.size;
	if (range_count(f, n, "entries", d->e) == -1)
		return -1;
	const char **v = zone_alloc(d, (n + 1) * sizeof(*v));
	if (v == NULL)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (get_cstr(d, &o->via.array.ptr[i], &v[i]) == -1)
			return err_prefix(d->e, "entry %zu", i);
	v[n] = NULL;
	*out = (struct strs){ n, v };
	return 0;
}

static int
get_pairs(struct dec *d, const struct field *f, const msgpack_object *o, struct pairs *out)
{
	if (o->type != MSGPACK_OBJECT_MAP)
		return wrong(d, "a map of strings", o);
	size_t n = o->via.map.size;
	if (range_count(f, n, "entries", d->e) == -1)
		return -1;
	struct pair *v = zone_alloc(d, n * sizeof(*v));
	if (v == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const msgpack_object_kv *kv = &o->via.map.ptr[i];

		if (get_cstr(d, &kv->key, &v[i].name) == -1)
			return err_prefix(d->e, "name %zu", i);
		if (get_cstr(d, &kv->val, &v[i].value) == -1)
			return err_prefix(d->e, "%s", log_escape(v[i].name, strlen(v[i].name)));
	}
	*out = (struct pairs){ n, v };
	return 0;
}

static int
get_enum(struct dec *d, const struct field *f, const msgpack_object *o, int *out)
{
	char list[256];

	if (o->type != MSGPACK_OBJECT_STR)
		return wrong(d, "a string", o);
	for (int i = 0; f->names[i] != NULL; i++)
		if (strlen(f->names[i]) == o->via.str.size &&
		    memcmp(f->names[i], o->via.str.ptr, o->via.str.size) == 0) {
			*out = i;
			return 0;
		}
	range_names(f, list, sizeof(list));
	return err_set(d->e, E_INVALID, "'%s' should be %s", log_escape(o->via.str.ptr, o->via.str.size), list);
}

/* Each is named once: who takes it for one field would close it under another. */
static int
named_fd(struct dec *d, unsigned i)
{
	if (i >= d->m->nfds)
		return err_set(d->e, E_PROTO, "descriptor %u did not come with the message", i);
	if (d->named & 1U << i)
		return err_set(d->e, E_PROTO, "descriptor %u is named twice", i);
	d->named |= 1U << i;
	return d->m->fds[i];
}

static int
get_fd(struct dec *d, const msgpack_object *o, int *out)
{
	if (o->type != MSGPACK_OBJECT_EXT || o->via.ext.type != EXT_FD || o->via.ext.size != 1)
		return wrong(d, "a descriptor", o);
	*out = named_fd(d, (unsigned char)o->via.ext.ptr[0]);
	return *out == -1 ? -1 : 0;
}

/* The file must be sealed and really as long as the message says. */
static int
get_blob_beside(struct dec *d, const msgpack_object *o, struct blob *out)
{
	uint64_t offset, len;

	if (o->via.ext.type != EXT_BLOB || o->via.ext.size != EXT_BLOB_SIZE)
		return wrong(d, "bytes", o);
	memcpy(&offset, o->via.ext.ptr + 1, 8);
	memcpy(&len, o->via.ext.ptr + 9, 8);
	offset = be64toh(offset);
	len = be64toh(len);
	int fd = named_fd(d, (unsigned char)o->via.ext.ptr[0]);
	if (fd == -1)
		return -1;
	int64_t size = memfd_sealed_size(fd, d->e);
	if (size == -1)
		return -1;
	if (offset > (uint64_t)size || len > (uint64_t)size - offset)
		return err_set(d->e, E_PROTO, "a payload is shorter than its message says");
	*out = len > 0 ? (struct blob){ .len = len, .fd = fd, .offset = offset } : blob_of(NULL, 0);
	return 0;
}

static int
get_blob(struct dec *d, const struct field *f, const msgpack_object *o, struct blob *out)
{
	if (o->type == MSGPACK_OBJECT_BIN)
		*out = blob_of(o->via.bin.ptr, o->via.bin.size);
	else if (o->type == MSGPACK_OBJECT_STR) /* old encoders have no bin */
		*out = blob_of(o->via.str.ptr, o->via.str.size);
	else if (o->type != MSGPACK_OBJECT_EXT)
		return wrong(d, "bytes", o);
	else if (get_blob_beside(d, o, out) == -1)
		return -1;
	return range_count(f, out->len, "bytes", d->e);
}

/* Whoever asked for it judges what it means. */
static int
get_lax(struct dec *d, const struct field *f, const msgpack_object *o, struct lax *out)
{
	*out = (struct lax){ .kind = LAX_NONE };
	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		return 0;
	case MSGPACK_OBJECT_BOOLEAN:
		*out = (struct lax){ .kind = LAX_BOOL, .boolean = o->via.boolean };
		return 0;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		*out = lax_number(o->via.u64 > INT64_MAX ? INT64_MAX : (int64_t)o->via.u64);
		return 0;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		*out = lax_number(o->via.i64);
		return 0;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		*out = (struct lax){ .kind = LAX_FLOAT, .real = o->via.f64 };
		return 0;
	case MSGPACK_OBJECT_STR:
		out->kind = LAX_STR;
		return get_str(d, f, o, &out->text);
	default:
		return wrong(d, "a boolean, a number or a string", o);
	}
}

static int get_map(struct dec *, enum msg_type, const msgpack_object *, void *body);

static int
get_list(struct dec *d, const struct field *f, const msgpack_object *o, struct list *out)
{
	size_t size = msg_def(f->sub)->size;

	if (o->type != MSGPACK_OBJECT_ARRAY)
		return wrong(d, "an array", o);
	size_t n = o->via.array.size;
	if (range_count(f, n, "entries", d->e) == -1)
		return -1;
	char *v = zone_alloc(d, n * size);
	if (v == NULL)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (get_map(d, f->sub, &o->via.array.ptr[i], v + i * size) == -1)
			return err_prefix(d->e, "entry %zu", i);
	*out = (struct list){ n, v };
	return 0;
}

static int
get_value(struct dec *d, const struct field *f, const msgpack_object *o, void *at)
{
	struct list list;
	int         v;

	switch (f->kind) {
	case K_U64:
		return get_u64(d, f, o, at);
	case K_I64:
		return get_i64(d, f, o, at);
	case K_F64:
		return get_f64(d, f, o, at);
	case K_BOOL:
		if (o->type != MSGPACK_OBJECT_BOOLEAN)
			return wrong(d, "true or false", o);
		*(bool *)at = o->via.boolean;
		return 0;
	case K_STR:
		return get_str(d, f, o, at);
	case K_STRS:
		return get_strs(d, f, o, at);
	case K_PAIRS:
		return get_pairs(d, f, o, at);
	case K_BLOB:
		return get_blob(d, f, o, at);
	case K_FD:
		return get_fd(d, o, at);
	case K_LAX:
		return get_lax(d, f, o, at);
	case K_OBJ:
		return get_map(d, f->sub, o, at);
	case K_ENUM:
		if (get_enum(d, f, o, &v) == -1)
			return -1;
		memcpy(at, &v, sizeof(v));
		return 0;
	case K_LIST:
		if (get_list(d, f, o, &list) == -1)
			return -1;
		memcpy(at, &list, sizeof(list));
		return 0;
	}
	return 0;
}

/* Index in the table of that name, or with a prefix and _ that name behind it; or -1. */
static int
field_index(const struct field *fields, const char *prefix, const msgpack_object *key)
{
	size_t n = strlen(prefix);

	if (key->type != MSGPACK_OBJECT_STR)
		return -1;
	for (int i = 0; fields[i].name != NULL; i++) {
		const char *name = fields[i].name;

		if (n > 0 && (strncmp(name, prefix, n) != 0 || name[n] != '_'))
			continue;
		name += n > 0 ? n + 1 : 0;
		if (strlen(name) == key->via.str.size && memcmp(name, key->via.str.ptr, key->via.str.size) == 0)
			return i;
	}
	return -1;
}

/* A map on its way into a struct. */
struct filling {
	enum msg_type       t;
	const struct field *fields;
	void               *body;
	uint64_t            seen; /* no message has 64 fields; a test holds us to it */
};

static int
no_field(struct dec *d, const char *where, const msgpack_object *key)
{
	if (key->type != MSGPACK_OBJECT_STR)
		return err_set(d->e, E_INVALID, "%s: a field's name is %s", where, found(key));
	return err_set(d->e, E_INVALID, "%s: no field '%s'", where, log_escape(key->via.str.ptr, key->via.str.size));
}

static int
fill_field(struct dec *d, struct filling *to, int i, const msgpack_object *value)
{
	const struct field *f = &to->fields[i];

	if (to->seen & 1ULL << i)
		return err_set(d->e, E_INVALID, "%s.%s: given twice", msg_name(to->t), f->name);
	to->seen |= 1ULL << i;
	if (get_value(d, f, value, (char *)to->body + f->offset) == -1)
		return err_prefix(d->e, "%s.%s", msg_name(to->t), f->name);
	return 0;
}

static bool
has_settings(const struct field *fields, const struct field *f)
{
	size_t n = strlen(f->name);

	for (const struct field *g = fields; g->name != NULL; g++)
		if (strncmp(g->name, f->name, n) == 0 && g->name[n] == '_')
			return f->kind == K_ENUM;
	return false;
}

/* A choice and its settings in one map: {mode, rules} of network is network and network_rules. */
static int
fill_choice(struct dec *d, struct filling *to, int choice, const msgpack_object *o)
{
	const struct field *f = &to->fields[choice];
	char                where[LIM_NAME + 1];

	snprintf(where, sizeof(where), "%s.%s", msg_name(to->t), f->name);
	if (to->seen & 1ULL << choice)
		return err_set(d->e, E_INVALID, "%s: given twice", where);
	for (uint32_t k = 0; k < o->via.map.size; k++) {
		const msgpack_object *key = &o->via.map.ptr[k].key;
		bool                  is_mode = key->type == MSGPACK_OBJECT_STR && key->via.str.size == 4 &&
			       memcmp(key->via.str.ptr, "mode", 4) == 0;
		int i = is_mode ? choice : field_index(to->fields, f->name, key);

		if (i == -1)
			return no_field(d, where, key);
		if (fill_field(d, to, i, &o->via.map.ptr[k].val) == -1)
			return -1;
	}
	if (!(to->seen & 1ULL << choice))
		return err_set(d->e, E_INVALID, "%s.mode: missing", where);
	return 0;
}

static int
get_map(struct dec *d, enum msg_type t, const msgpack_object *o, void *body)
{
	struct filling to = { .t = t, .fields = msg_def(t)->fields, .body = body };

	msg_defaults(t, body);
	if (o->type != MSGPACK_OBJECT_MAP)
		return wrong(d, "a map", o);
	for (uint32_t k = 0; k < o->via.map.size; k++) {
		const msgpack_object *value = &o->via.map.ptr[k].val;
		int                   i = field_index(to.fields, "", &o->via.map.ptr[k].key);

		if (i == -1)
			return no_field(d, msg_name(t), &o->via.map.ptr[k].key);
		bool settings = value->type == MSGPACK_OBJECT_MAP && has_settings(to.fields, &to.fields[i]);
		if ((settings ? fill_choice(d, &to, i, value) : fill_field(d, &to, i, value)) == -1)
			return -1;
	}
	for (int i = 0; to.fields[i].name != NULL; i++)
		if (!(to.seen & 1ULL << i) && msg_needs(&to.fields[i]))
			return err_set(d->e, E_INVALID, "%s.%s: missing", msg_name(t), to.fields[i].name);
	return 0;
}

static int
get_body(struct dec *d, enum msg_type t, const msgpack_object *o)
{
	void *body = zone_alloc(d, msg_def(t)->size);

	if (body == NULL || get_map(d, t, o, body) == -1)
		return -1;
	d->m->type = t;
	d->m->body = body;
	return 0;
}

static int
get_id(struct dec *d, const msgpack_object *o, const char *what, uint64_t *out)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
		return err_set(d->e, E_PROTO, "%s: expected a whole number, got %s", what, found(o));
	*out = o->via.u64;
	return 0;
}

/* A request or notice: its method, may this peer send it, its parameters. */
static int
get_call(struct dec *d, const msgpack_object *method, const msgpack_object *params, unsigned from)
{
	if (method->type != MSGPACK_OBJECT_STR)
		return err_set(d->e, E_PROTO, "method: expected a string, got %s", found(method));
	enum msg_type t = msg_by_name(method->via.str.ptr, method->via.str.size);
	if (t == MSG_NONE || !(msg_def(t)->from & from))
		return err_set(
		    d->e, E_PROTO, "there is no action '%s'", log_escape(method->via.str.ptr, method->via.str.size));
	if (msg_def(t)->envelope != d->m->envelope)
		return err_set(d->e, E_PROTO, "%s is a %s", msg_name(t),
		    msg_def(t)->envelope == ENV_REQUEST ? "request, not a notice" : "notice, not a request");
	return get_body(d, t, params);
}

/* [1, id, error, result]: the result waits for msg_expect. */
static int
get_reply(struct dec *d, const msgpack_object *error, const msgpack_object *result)
{
	struct msg_failure why;

	d->m->result = result;
	if (error->type == MSGPACK_OBJECT_NIL)
		return 0;
	if (get_map(d, MSG_FAILURE, error, &why) == -1)
		return -1;
	enum err_code c = err_from_wire(why.code, strlen(why.code));
	d->m->failed = true;
	err_set(&d->m->error, c == E__COUNT ? E_SYS : c, "%s", why.message);
	detail_take(&d->m->error, &why.detail);
	return 0;
}

static int
get_envelope(struct dec *d, const msgpack_object *o, unsigned from)
{
	struct msg *m = d->m;

	if (o->type != MSGPACK_OBJECT_ARRAY || o->via.array.size < 3)
		return err_set(d->e, E_PROTO, "not a MessagePack-RPC message");
	const msgpack_object *v = o->via.array.ptr;
	if (v[0].type != MSGPACK_OBJECT_POSITIVE_INTEGER || v[0].via.u64 > ENV_NOTICE)
		return err_set(d->e, E_PROTO, "message type: expected 0, 1 or 2");
	m->envelope = (enum envelope)v[0].via.u64;
	size_t base = m->envelope == ENV_NOTICE ? 3 : 4;
	if (o->via.array.size < base || o->via.array.size > base + (from != FROM_CLIENT))
		return err_set(d->e, E_PROTO, "message has %u elements, expected %zu", o->via.array.size, base);
	if (m->envelope != ENV_NOTICE && get_id(d, &v[1], "request id", &m->id) == -1)
		return -1;
	if (o->via.array.size > base && get_id(d, &v[base], "connection id", &m->conn) == -1)
		return -1;
	if (m->envelope == ENV_REPLY && !(from & ~(FROM_CLIENT | FROM_FILE)))
		return err_set(d->e, E_PROTO, "a reply, and nothing was asked");
	m->whole = true;
	if (m->envelope == ENV_REPLY)
		return get_reply(d, &v[2], &v[3]);
	return get_call(d, &v[base - 2], &v[base - 1], from);
}

int
msg_decode(struct msg *m, const void *bytes, size_t n, const int *fds, size_t nfds, unsigned from, struct err *e)
{
	struct dec     d = { .m = m, .e = e };
	struct mp_scan scan = { 0 };
	size_t         off = 0;

	*m = (struct msg){ .nfds = nfds };
	for (size_t i = 0; i < nfds; i++)
		m->fds[i] = fds[i];
	msgpack_unpacked_init(&m->unpacked);
	if (mp_scan(&scan, bytes, n, n > 0 ? n : 1) != MP_WHOLE)
		return err_set(e, E_PROTO, "not a whole MessagePack value");
	if (scan.pos != n)
		return err_set(e, E_PROTO, "%zu bytes behind the message", n - scan.pos);
	if (msgpack_unpack_next(&m->unpacked, bytes, n, &off) != MSGPACK_UNPACK_SUCCESS)
		return err_set(e, E_PROTO, "not MessagePack");
	return get_envelope(&d, &m->unpacked.data, from);
}

int
msg_expect(struct msg *m, enum msg_type t, struct err *e)
{
	struct dec d = { .m = m, .e = e };

	if (get_body(&d, t, m->result) == 0)
		return 0;
	e->code = E_CRASH;
	return -1;
}

int
msg_take_fd(struct msg *m, int fd)
{
	for (size_t i = 0; i < m->nfds; i++)
		if (fd >= 0 && m->fds[i] == fd)
			return fd_take(&m->fds[i]);
	return -1;
}

void
msg_clear(struct msg *m)
{
	while (m->nfds > 0)
		fd_close(&m->fds[--m->nfds]);
	msgpack_unpacked_destroy(&m->unpacked);
	m->body = NULL;
}
