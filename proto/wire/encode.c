#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memfd.h"
#include "wire/detail.h"
#include "wire/mp.h"
#include "wire/msg.h"
#include "wire/wire.h"

struct enc {
	struct packet *p;
	msgpack_packer pk;
	struct err    *e;
};

/* A duplicate goes beside the packet; its index, or -1. */
static int
attach_fd(struct enc *c, int fd)
{
	if (c->p->stream)
		return err_set(c->e, E_PROTO, "a descriptor cannot go to a client");
	if (c->p->nfds == LIM_PACKET_FDS)
		return err_set(c->e, E_PROTO, "more than %d descriptors beside one message", LIM_PACKET_FDS);
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own == -1)
		return err_sys(c->e, "duplicate descriptor %d", fd);
	c->p->fds[c->p->nfds] = own;
	return (int)c->p->nfds++;
}

static int
put_fd(struct enc *c, int fd)
{
	int i = attach_fd(c, fd);

	if (i == -1)
		return -1;
	msgpack_pack_ext(&c->pk, 1, EXT_FD);
	msgpack_pack_ext_body(&c->pk, &(unsigned char){ (unsigned char)i }, 1);
	return 0;
}

static int
put_blob_beside(struct enc *c, const struct blob *b)
{
	unsigned char ext[EXT_BLOB_SIZE];
	AUTO_FD int   made = -1;
	uint64_t      offset = htobe64(b->data ? 0 : b->offset);
	uint64_t      len = htobe64(b->len);

	if (b->data != NULL && (made = memfd_of("payload", b->data, b->len, c->e)) == -1)
		return -1;
	int i = attach_fd(c, b->data ? made : b->fd);
	if (i == -1)
		return -1;
	ext[0] = (unsigned char)i;
	memcpy(ext + 1, &offset, 8);
	memcpy(ext + 9, &len, 8);
	msgpack_pack_ext(&c->pk, sizeof(ext), EXT_BLOB);
	msgpack_pack_ext_body(&c->pk, ext, sizeof(ext));
	return 0;
}

/* A list can have more payloads than a packet descriptors: the rest of them make the message itself large. */
static int
put_blob(struct enc *c, const struct blob *b)
{
	bool room = !c->p->stream && c->p->nfds < LIM_PACKET_FDS;

	if (room && (b->data == NULL || b->len > LIM_BLOB_INLINE) && b->len > 0)
		return put_blob_beside(c, b);
	msgpack_pack_bin(&c->pk, b->len);
	return blob_read(b, &c->p->bytes, c->e);
}

static int put_map(struct enc *, enum msg_type, const void *body);

static int
put_list(struct enc *c, const struct field *f, const struct list *l)
{
	size_t size = msg_def(f->sub)->size;

	msgpack_pack_array(&c->pk, l->n);
	for (size_t i = 0; i < l->n; i++)
		if (put_map(c, f->sub, (const char *)l->v + i * size) == -1)
			return -1;
	return 0;
}

static void
put_strs(struct enc *c, const struct strs *s)
{
	msgpack_pack_array(&c->pk, s->n);
	for (size_t i = 0; i < s->n; i++)
		mp_cstr(&c->pk, s->v[i]);
}

static void
put_pairs(struct enc *c, const struct pairs *s)
{
	msgpack_pack_map(&c->pk, s->n);
	for (size_t i = 0; i < s->n; i++) {
		mp_cstr(&c->pk, s->v[i].name);
		mp_cstr(&c->pk, s->v[i].value);
	}
}

static void
put_lax(struct enc *c, const struct lax *l)
{
	switch (l->kind) {
	case LAX_BOOL:
		l->boolean ? msgpack_pack_true(&c->pk) : msgpack_pack_false(&c->pk);
		break;
	case LAX_INT:
		msgpack_pack_int64(&c->pk, l->number);
		break;
	case LAX_FLOAT:
		msgpack_pack_double(&c->pk, l->real);
		break;
	case LAX_STR:
		mp_cstr(&c->pk, l->text);
		break;
	case LAX_NONE:
		msgpack_pack_nil(&c->pk);
		break;
	}
}

static int
put_value(struct enc *c, const struct field *f, const void *at)
{
	struct list list;
	int         v;

	switch (f->kind) {
	case K_U64:
		msgpack_pack_uint64(&c->pk, *(const uint64_t *)at);
		return 0;
	case K_I64:
		msgpack_pack_int64(&c->pk, *(const int64_t *)at);
		return 0;
	case K_F64:
		msgpack_pack_double(&c->pk, *(const double *)at);
		return 0;
	case K_BOOL:
		if (*(const bool *)at)
			msgpack_pack_true(&c->pk);
		else
			msgpack_pack_false(&c->pk);
		return 0;
	case K_STR:
		mp_cstr(&c->pk, *(const char *const *)at);
		return 0;
	case K_STRS:
		put_strs(c, at);
		return 0;
	case K_PAIRS:
		put_pairs(c, at);
		return 0;
	case K_ENUM:
		memcpy(&v, at, sizeof(v));
		mp_cstr(&c->pk, f->names[v]);
		return 0;
	case K_BLOB:
		return put_blob(c, at);
	case K_FD:
		return put_fd(c, *(const int *)at);
	case K_LAX:
		put_lax(c, at);
		return 0;
	case K_OBJ:
		return put_map(c, f->sub, at);
	case K_LIST:
		memcpy(&list, at, sizeof(list));
		return put_list(c, f, &list);
	}
	return 0;
}

/* A field without a descriptor, a blob or a value is left out. */
static bool
is_absent(const struct enc *c, const struct field *f, const void *at)
{
	const struct blob *b = at;

	if (f->sub == MSG_DETAIL) /* no client's */
		return c->p->stream || detail_is_empty(at);
	if (f->kind == K_FD)
		return *(const int *)at == -1;
	if (f->kind == K_LAX)
		return ((const struct lax *)at)->kind == LAX_NONE;
	return f->kind == K_BLOB && b->data == NULL && b->len == 0;
}

static int
put_map(struct enc *c, enum msg_type t, const void *body)
{
	const struct field *fields = msg_def(t)->fields;
	size_t              n = 0;

	for (const struct field *f = fields; f->name != NULL; f++)
		n += !is_absent(c, f, (const char *)body + f->offset);
	msgpack_pack_map(&c->pk, n);
	for (const struct field *f = fields; f->name != NULL; f++) {
		const char *at = (const char *)body + f->offset;

		if (is_absent(c, f, at))
			continue;
		mp_cstr(&c->pk, f->name);
		if (put_value(c, f, at) == -1)
			return err_prefix(c->e, "%s.%s", msg_name(t), f->name);
	}
	return 0;
}

static void
enc_begin(struct enc *c, struct packet *p, struct err *e, size_t elements, enum envelope env, uint64_t conn)
{
	*c = (struct enc){ .p = p, .e = e };
	mp_writer(&c->pk, &p->bytes);
	msgpack_pack_array(&c->pk, elements + (conn != 0));
	msgpack_pack_int(&c->pk, (int)env);
}

static int
enc_end(struct enc *c, uint64_t conn)
{
	if (conn != 0)
		msgpack_pack_uint64(&c->pk, conn);
	if (c->p->bytes.failed)
		return err_set(c->e, E_SYS, "no memory for a message");
	if (c->p->bytes.len > LIM_MESSAGE && !c->p->stream)
		return err_set(
		    c->e, E_PROTO, "a message of %zu bytes is over the maximum %lu", c->p->bytes.len, LIM_MESSAGE);
	return 0;
}

int
msg_encode(struct packet *p, enum msg_type t, uint64_t id, uint64_t conn, const void *body, struct err *e)
{
	const struct msg_def *d = msg_def(t);
	bool                  request = d->envelope == ENV_REQUEST;
	struct enc            c;

	enc_begin(&c, p, e, request ? 4 : 3, d->envelope, conn);
	if (request)
		msgpack_pack_uint64(&c.pk, id);
	mp_cstr(&c.pk, d->name);
	if (put_map(&c, t, body) == -1)
		return -1;
	return enc_end(&c, conn);
}

int
msg_encode_reply(struct packet *p, enum msg_type t, uint64_t id, uint64_t conn, const void *body, struct err *e)
{
	struct enc c;

	enc_begin(&c, p, e, 4, ENV_REPLY, conn);
	msgpack_pack_uint64(&c.pk, id);
	msgpack_pack_nil(&c.pk);
	if (put_map(&c, t, body) == -1)
		return -1;
	return enc_end(&c, conn);
}

int
msg_encode_error(struct packet *p, uint64_t id, uint64_t conn, const struct err *why, struct err *e)
{
	struct msg_failure failure = {
		.code = err_wire_name(why->code), .message = why->text, .detail = detail_of(why)
	};
	struct enc c;

	enc_begin(&c, p, e, 4, ENV_REPLY, conn);
	msgpack_pack_uint64(&c.pk, id);
	if (put_map(&c, MSG_FAILURE, &failure) == -1)
		return -1;
	msgpack_pack_nil(&c.pk);
	return enc_end(&c, conn);
}

int
packet_copy(struct packet *to, const struct packet *from, struct err *e)
{
	*to = (struct packet){ .spilled = from->spilled, .stream = from->stream };
	buf_append(&to->bytes, from->bytes.data, from->bytes.len);
	if (to->bytes.failed)
		return err_set(e, E_SYS, "no memory for a message");
	for (; to->nfds < from->nfds; to->nfds++)
		if ((to->fds[to->nfds] = fcntl(from->fds[to->nfds], F_DUPFD_CLOEXEC, 0)) == -1)
			return err_sys(e, "duplicate descriptor %d", from->fds[to->nfds]);
	return 0;
}

int
blob_read(const struct blob *b, struct buf *out, struct err *e)
{
	size_t done = 0;

	if (buf_reserve(out, b->len) == -1)
		return err_set(e, E_SYS, "no memory for a payload of %zu bytes", b->len);
	if (b->data != NULL) {
		buf_append(out, b->data, b->len);
		return 0;
	}
	while (done < b->len) {
		ssize_t n = pread(b->fd, out->data + out->len, b->len - done, (off_t)(b->offset + done));
		if (n <= 0)
			return err_sys(e, "read a payload");
		out->len += (size_t)n;
		done += (size_t)n;
	}
	return 0;
}
