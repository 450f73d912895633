#include "twist.h"

#include "check.h"
#include "tap.h"
#include "wire/mp.h"
#include "wire/wire.h"

unsigned
sender_of(enum msg_type t)
{
	unsigned from = msg_def(t)->from;

	return msg_def(t)->envelope == ENV_STRUCT ? FROM_WORKER : from & -from;
}

/* The bytes are on the heap, exactly as many as they are: a look behind them is seen. */
int
take(struct msg *m, enum msg_type t, const struct packet *p, unsigned from, struct err *e)
{
	static char *bytes; /* a msg points into its bytes: kept until the next one */
	int          fds[LIM_PACKET_FDS];

	free(bytes);
	bytes = malloc(p->bytes.len ? p->bytes.len : 1);
	if (p->bytes.len > 0)
		memcpy(bytes, p->bytes.data, p->bytes.len);
	for (size_t i = 0; i < p->nfds; i++)
		fds[i] = fcntl(p->fds[i], F_DUPFD_CLOEXEC, 0);
	*e = (struct err){ 0 };
	if (msg_decode(m, bytes, p->bytes.len, fds, p->nfds, from, e) == -1)
		return -1;
	if (t != MSG_NONE && msg_def(t)->envelope == ENV_STRUCT && msg_expect(m, t, e) == -1) {
		if (e->code == E_CRASH) /* a bad result blames its sender; the tests compare what a request would say */
			e->code = E_INVALID;
		return -1;
	}
	return 0;
}

void
put_text(msgpack_packer *pk, size_t n)
{
	char *s = memset(malloc(n + 1), 'x', n + 1);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, s, n);
	free(s);
}

void
put_ext(msgpack_packer *pk, int type, const void *p, size_t n)
{
	msgpack_pack_ext(pk, n, (int8_t)type);
	msgpack_pack_ext_body(pk, p, n);
}

/* A value the field takes, as small as it may be.  Descriptor 0 is what an FD names. */
static void
put_good(msgpack_packer *pk, const struct field *f)
{
	switch (f->kind) {
	case K_U64:
		msgpack_pack_uint64(pk, (uint64_t)f->least);
		break;
	case K_I64:
		msgpack_pack_int64(pk, f->least);
		break;
	case K_F64:
		msgpack_pack_double(pk, (double)f->least);
		break;
	case K_BOOL:
	case K_LAX:
		msgpack_pack_true(pk);
		break;
	case K_STR:
		put_text(pk, (size_t)f->least);
		break;
	case K_BLOB:
		msgpack_pack_bin(pk, (size_t)f->least);
		msgpack_pack_bin_body(pk, "xxxxxxxx", (size_t)f->least);
		break;
	case K_STRS:
		msgpack_pack_array(pk, (size_t)f->least);
		for (int64_t i = 0; i < f->least; i++)
			mp_cstr(pk, "x");
		break;
	case K_PAIRS:
		msgpack_pack_map(pk, 0);
		break;
	case K_FD:
		put_ext(pk, EXT_FD, &(char){ 0 }, 1);
		break;
	case K_ENUM:
		mp_cstr(pk, f->names[0]);
		break;
	case K_OBJ:
		put_body(pk, f->sub, NULL);
		break;
	case K_LIST:
		msgpack_pack_array(pk, 0);
		break;
	}
}

/*
 * What a descriptor field names: the first needed one is descriptor 0, the
 * second 1 and so on, since no two may share one.
 */
static void
put_one(msgpack_packer *pk, const struct field *f, const struct twist *w, char *next_fd)
{
	if (w != NULL && w->at == f && w->put != NULL)
		w->put(pk, f, w->arg);
	else if (f->kind == K_FD)
		put_ext(pk, EXT_FD, next_fd, 1);
	else
		put_good(pk, f);
	*next_fd = (char)(*next_fd + (f->kind == K_FD));
}

/* All needed fields, the twisted one, and nothing else. */
void
put_body(msgpack_packer *pk, enum msg_type t, const struct twist *w)
{
	size_t n = 0;
	char   next_fd = 0;

	for (EVERY_FIELD(f, t))
		n += msg_needs(f) || (w != NULL && w->at == f);
	if (w != NULL)
		n = n + (w->unknown != NULL) + w->twice - w->omit;
	msgpack_pack_map(pk, n);
	for (EVERY_FIELD(f, t)) {
		bool twisted = w != NULL && w->at == f;

		if ((!msg_needs(f) && !twisted) || (twisted && w->omit))
			continue;
		for (int i = 0; i <= (twisted && w->twice); i++) {
			mp_cstr(pk, f->name);
			put_one(pk, f, w, &next_fd);
		}
	}
	if (w != NULL && w->unknown != NULL) {
		mp_cstr(pk, w->unknown);
		msgpack_pack_nil(pk);
	}
}

void
put_message(struct packet *p, enum msg_type t, const struct twist *w)
{
	const struct msg_def *d = msg_def(t);
	msgpack_packer        pk;

	mp_writer(&pk, &p->bytes);
	msgpack_pack_array(&pk, d->envelope == ENV_NOTICE ? 3 : 4);
	msgpack_pack_int(&pk, d->envelope == ENV_STRUCT ? ENV_REPLY : (int)d->envelope);
	if (d->envelope != ENV_NOTICE)
		msgpack_pack_uint64(&pk, 77);
	if (d->envelope == ENV_STRUCT)
		msgpack_pack_nil(&pk);
	else
		mp_cstr(&pk, d->name);
	put_body(&pk, t, w);
}

/* Five descriptors beside it: an empty sealed file first, so that a message has what it may name. */
void
put_fds(struct packet *p)
{
	for (p->nfds = 0; p->nfds < 5; p->nfds++)
		p->fds[p->nfds] = memfd_plain(0, ALL_SEALS);
}

/* 0 when the twisted message is taken; else -1 and the error. */
int
twisted(enum msg_type t, const struct twist *w, struct err *e)
{
	struct packet p = { 0 };
	struct msg    m;

	put_message(&p, t, w);
	put_fds(&p);
	int r = take(&m, t, &p, sender_of(t), e);
	msg_clear(&m);
	packet_clear(&p);
	return r;
}

/* Refused, as the peer's fault, with "message.field: " in the text. */
bool
refused(enum msg_type t, const struct twist *w, struct err *e)
{
	char where[256];

	snprintf(where, sizeof(where), "%s.%s: ", msg_name(t), w->at->name);
	if (twisted(t, w, e) == 0) {
		diag("%s was taken", where);
		return false;
	}
	if (strncmp(e->text, where, strlen(where)) == 0 && (e->code == E_INVALID || e->code == E_PROTO))
		return true;
	diag("code %d, '%s' does not begin with '%s'", e->code, e->text, where);
	return false;
}
