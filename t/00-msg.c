/*
 * Every message in the table: it survives the wire, and everything that is not
 * quite it is refused with a text that names message and field.
 *
 * Refused messages are packed here by hand, not by encode.c, which could not be
 * talked into making them.  A struct of the table is tested as a reply's result.
 */
#include <endian.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "memfd.h"
#include "mp.h"
#include "msg.h"
#include "tap.h"
#include "values.h"
#include "wire.h"

enum { ALL_SENDERS = 6, ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

#define EVERY_MESSAGE(t) enum msg_type t = MSG_NONE + 1; t < MSG__COUNT; t++
#define EVERY_FIELD(f, t) const struct field *f = msg_def(t)->fields; f->name != NULL; f++

/* Somebody who may send it; a struct comes in anybody's reply. */
static unsigned
sender_of(enum msg_type t)
{
	unsigned from = msg_def(t)->from;

	return msg_def(t)->envelope == ENV_STRUCT ? FROM_WORKER : from & -from;
}

/* Decode, and expect a struct to be the result.  The bytes are on the heap, exactly as many as they are. */
static int
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
	if (t != MSG_NONE && msg_def(t)->envelope == ENV_STRUCT)
		return msg_expect(m, t, e);
	return 0;
}

/* ---- round trips ---- */

static int
encode(struct packet *p, enum msg_type t, uint64_t conn, const void *body, struct err *e)
{
	if (msg_def(t)->envelope == ENV_STRUCT)
		return msg_encode_reply(p, t, UINT64_MAX, conn, body, e);
	return msg_encode(p, t, UINT64_MAX, conn, body, e);
}

static void
round_trip(enum msg_type t, enum fill how, uint64_t conn, unsigned from, bool stream)
{
	struct values v = { 0 };
	struct packet p = { .stream = stream };
	struct err    e = { 0 };
	struct msg    m = { 0 };
	const void   *body = fill_body(&v, t, how);
	const char   *bad = "";
	enum envelope env = msg_def(t)->envelope == ENV_STRUCT ? ENV_REPLY : msg_def(t)->envelope;

	if (encode(&p, t, conn, body, &e) == 0 && take(&m, t, &p, from, &e) == 0)
		bad = body_differs(t, body, m.body);
	if (!ok(bad == NULL && m.type == t && m.envelope == env && m.conn == conn &&
	    m.id == (env == ENV_NOTICE ? 0 : UINT64_MAX), "%s with %s, from %u%s", msg_name(t), fill_names[how], from,
	    stream ? " on a stream" : ""))
		diag("error '%s', differs in '%s'", e.text, bad ? bad : "the envelope");
	msg_clear(&m);
	packet_clear(&p);
	values_clear(&v);
}

static bool
has_kind(enum msg_type t, enum kind k)
{
	for (EVERY_FIELD(f, t))
		if (f->kind == k)
			return true;
	return false;
}

static void
round_trips(void)
{
	for (EVERY_MESSAGE(t)) {
		unsigned from = msg_def(t)->envelope == ENV_STRUCT ? FROM_WORKER | FROM_INIT : msg_def(t)->from;

		for (enum fill how = 0; how < FILL__COUNT; how++)
			for (unsigned bit = 1; bit < 1 << ALL_SENDERS; bit <<= 1)
				if (from & bit)
					round_trip(t, how, bit == FROM_CLIENT ? 0 : UINT64_MAX, bit, false);
		if (!has_kind(t, K_FD) && !has_kind(t, K_BLOB))
			round_trip(t, FILL_MOST, 0, sender_of(t), true);
	}
	round_trip(MSG_EXEC, FILL_LEAST, 0, FROM_CLIENT, true);
	round_trip(MSG_EXEC, FILL_LEAST, 7, FROM_GATEWAY | FROM_CLIENT, false);
}

static void
streams(void)
{
	struct packet          p = { .stream = true };
	struct err             e;
	struct msg             m;
	char                  *big = malloc(100 * KIB);
	struct msg_exec_result r;

	rnd_bytes(big, 100 * KIB);
	msg_defaults(MSG_EXEC_RESULT, &r);
	r.stdout = blob_of(big, 100 * KIB);
	cmp_ok(msg_encode_reply(&p, MSG_EXEC_RESULT, 1, 0, &r, &e), "==", 0, "a large payload goes into a stream");
	cmp_ok(p.nfds, "==", 0, "without a descriptor");
	cmp_ok(take(&m, MSG_EXEC_RESULT, &p, FROM_SUPERVISOR, &e), "==", 0, "and comes out");
	const struct msg_exec_result *got = m.body;
	ok(got != NULL && got->stdout.len == 100 * KIB && got->stdout.data != NULL &&
	    memcmp(got->stdout.data, big, 100 * KIB) == 0, "identical");
	msg_clear(&m);
	packet_clear(&p);
	p = (struct packet){ .stream = true };
	cmp_ok(msg_encode(&p, MSG_CONN_OPEN, 0, 0, &(struct msg_conn_open){ .peer = 0 }, &e), "==", -1,
	    "a descriptor does not go into a stream");
	like(e.text, "^conn_open\\.peer: ", "and the text says where it was");
	packet_clear(&p);
	free(big);
}

/* ---- messages made wrong on purpose ---- */

struct twist {
	const struct field *at;                               /* the field it is about */
	void (*put)(msgpack_packer *, const struct field *, long); /* instead of its value */
	long                arg;
	bool                omit, twice;
	const char         *unknown; /* one more field of this name */
};

static void put_body(msgpack_packer *, enum msg_type, const struct twist *);

static void
put_text(msgpack_packer *pk, size_t n)
{
	char *s = memset(malloc(n + 1), 'x', n + 1);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, s, n);
	free(s);
}

static void
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
static void
put_body(msgpack_packer *pk, enum msg_type t, const struct twist *w)
{
	size_t n = 0;
	char   next_fd = 0;

	for (EVERY_FIELD(f, t))
		n += f->needed || (w != NULL && w->at == f);
	if (w != NULL)
		n = n + (w->unknown != NULL) + w->twice - w->omit;
	msgpack_pack_map(pk, n);
	for (EVERY_FIELD(f, t)) {
		bool twisted = w != NULL && w->at == f;

		if ((!f->needed && !twisted) || (twisted && w->omit))
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

static void
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
static void
put_fds(struct packet *p)
{
	for (p->nfds = 0; p->nfds < 5; p->nfds++)
		p->fds[p->nfds] = memfd_plain(0, ALL_SEALS);
}

/* 0 when the twisted message is taken; else -1 and the error. */
static int
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
static bool
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

static void
baseline(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		if (!ok(twisted(t, NULL, &e) == 0, "%s packed by hand is taken", msg_name(t)))
			diag("%s", e.text);
		for (EVERY_FIELD(f, t))
			if (!ok(twisted(t, &(struct twist){ .at = f }, &e) == 0, "%s.%s too", msg_name(t), f->name))
				diag("%s", e.text);
	}
}

static void
missing_and_doubled(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (f->needed) {
				ok(refused(t, &(struct twist){ .at = f, .omit = true }, &e), "%s without %s", msg_name(t),
				    f->name);
				like(e.text, "missing", "says missing");
			}
			ok(refused(t, &(struct twist){ .at = f, .twice = true }, &e), "%s with two %s", msg_name(t), f->name);
			like(e.text, "given twice", "says twice");
		}
	}
}

static void
unknown_fields(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		ok(twisted(t, &(struct twist){ .unknown = "no\nsuch" }, &e) == -1 && e.code == E_INVALID,
		    "%s with an unknown field", msg_name(t));
		like(e.text, msg_name(t), "names the message");
		like(e.text, "'no\\\\x0asuch'", "and the field, escaped");
	}
	/* a name that only begins like a field */
	ok(twisted(MSG_GET, &(struct twist){ .unknown = "sessio" }, &e) == -1, "a field's prefix is not the field");
	ok(twisted(MSG_GET, &(struct twist){ .unknown = "session1" }, &e) == -1, "nor is something longer");
	ok(twisted(MSG_GET, &(struct twist){ .unknown = "" }, &e) == -1, "nor is nothing");
}

/* ---- kinds ---- */

enum { W_NIL, W_BOOL, W_UINT, W_NEG, W_FLOAT, W_STR, W_BIN, W_ARRAY, W_MAP, W_EXT, W__COUNT };

static void
put_wire(msgpack_packer *pk, const struct field *f, long which)
{
	(void)f;
	switch (which) {
	case W_NIL:
		msgpack_pack_nil(pk);
		break;
	case W_BOOL:
		msgpack_pack_false(pk);
		break;
	case W_UINT:
		msgpack_pack_uint64(pk, 1);
		break;
	case W_NEG:
		msgpack_pack_int64(pk, -1);
		break;
	case W_FLOAT:
		msgpack_pack_double(pk, 1.5);
		break;
	case W_STR:
		mp_cstr(pk, "x");
		break;
	case W_BIN:
		msgpack_pack_bin(pk, 1);
		msgpack_pack_bin_body(pk, "x", 1);
		break;
	case W_ARRAY:
		msgpack_pack_array(pk, 1);
		mp_cstr(pk, "x");
		break;
	case W_MAP:
		msgpack_pack_map(pk, 1);
		mp_cstr(pk, "x");
		mp_cstr(pk, "y");
		break;
	case W_EXT:
		put_ext(pk, 99, "x", 1);
		break;
	}
}

/* Which of them a kind takes, by what messages.def promises. */
static unsigned
welcome(enum kind k)
{
	static const unsigned table[] = {
		[K_U64] = 1 << W_UINT,
		[K_I64] = 1 << W_UINT | 1 << W_NEG,
		[K_F64] = 1 << W_UINT | 1 << W_FLOAT,
		[K_BOOL] = 1 << W_BOOL,
		[K_STR] = 1 << W_STR,
		[K_BLOB] = 1 << W_BIN | 1 << W_STR,
		[K_STRS] = 1 << W_ARRAY,
		[K_PAIRS] = 1 << W_MAP,
		[K_FD] = 0,
		[K_ENUM] = 0, /* "x" is none of its names */
		[K_OBJ] = 0,  /* "x" is none of its fields */
		[K_LIST] = 0, /* "x" is no map */
	};
	return table[k];
}

static void
wrong_kinds(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			bool good = true;

			for (int k = 0; k < W__COUNT; k++)
				if (!(welcome(f->kind) & 1u << k))
					good &= refused(t, &(struct twist){ .at = f, .put = put_wire, .arg = k }, &e);
			ok(good, "%s.%s of any other kind", msg_name(t), f->name);
		}
	}
}

/* ---- ranges ---- */

static void
put_out_of_range(msgpack_packer *pk, const struct field *f, long over)
{
	static const double doubles[] = { -0.001, NAN, INFINITY, -INFINITY, 1e308 };
	size_t              n = over ? f->most + 1 : (size_t)f->least - 1;

	switch (f->kind) {
	case K_U64:
		msgpack_pack_uint64(pk, n);
		break;
	case K_I64:
		msgpack_pack_int64(pk, over ? (int64_t)f->most + 1 : f->least - 1);
		break;
	case K_F64:
		msgpack_pack_double(pk, over == 1 ? (double)f->most + 0.001 : doubles[over ? over - 2 : 0]);
		break;
	case K_STR:
		put_text(pk, n);
		break;
	case K_STRS:
		msgpack_pack_array(pk, n);
		while (n-- > 0)
			mp_cstr(pk, "x");
		break;
	case K_PAIRS:
		msgpack_pack_map(pk, n);
		while (n-- > 0)
			mp_cstr(pk, "x"), mp_cstr(pk, "y");
		break;
	case K_LIST:
		msgpack_pack_array(pk, n);
		while (n-- > 0)
			put_body(pk, f->sub, NULL);
		break;
	case K_BLOB:
		msgpack_pack_bin(pk, n);
		for (size_t i = 0; i < n; i++)
			buf_append(pk->data, "x", 1);
		break;
	default:
		break;
	}
}

static bool
has_minimum(const struct field *f)
{
	bool counted = f->kind == K_U64 || f->kind == K_STR || f->kind == K_STRS || f->kind == K_BLOB;

	return f->kind == K_I64 || f->kind == K_F64 || (counted && f->least > 0);
}

static bool
has_maximum(const struct field *f)
{
	bool counted = f->kind == K_STR || f->kind == K_STRS || f->kind == K_PAIRS || f->kind == K_LIST;

	/* the maxima of BLOB are tested with a file beside the message */
	return f->kind == K_F64 || ((counted || f->kind == K_U64 || f->kind == K_I64) && f->most < UINT64_MAX);
}

static void
ranges(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (has_minimum(f))
				ok(refused(t, &(struct twist){ f, put_out_of_range, 0, 0, 0, 0 }, &e) && e.code == E_INVALID,
				    "%s.%s under its minimum %ld", msg_name(t), f->name, f->least);
			if (has_maximum(f))
				ok(refused(t, &(struct twist){ f, put_out_of_range, 1, 0, 0, 0 }, &e) && e.code == E_INVALID,
				    "%s.%s over its maximum %lu", msg_name(t), f->name, f->most);
			for (int i = 2; f->kind == K_F64 && i < 7; i++)
				ok(refused(t, &(struct twist){ f, put_out_of_range, i, 0, 0, 0 }, &e),
				    "%s.%s: %s", msg_name(t), f->name, e.text);
		}
	}
}

/* ---- text ---- */

static void
put_nul(msgpack_packer *pk, const struct field *f, long where)
{
	if (f->kind == K_STRS)
		msgpack_pack_array(pk, 2);
	if (f->kind == K_PAIRS)
		msgpack_pack_map(pk, 1);
	if (f->kind == K_STRS || (f->kind == K_PAIRS && where == 1))
		mp_cstr(pk, "good");
	msgpack_pack_str(pk, 3);
	msgpack_pack_str_body(pk, "a\0b", 3);
	if (f->kind == K_PAIRS && where == 0)
		mp_cstr(pk, "good");
}

static void
put_number_inside(msgpack_packer *pk, const struct field *f, long where)
{
	if (f->kind == K_STRS) {
		msgpack_pack_array(pk, 2);
		mp_cstr(pk, "good");
		msgpack_pack_int(pk, 1);
		return;
	}
	msgpack_pack_map(pk, 1);
	for (int i = 0; i < 2; i++)
		if (i == where)
			msgpack_pack_int(pk, 1);
		else
			mp_cstr(pk, "good");
}

static void
texts(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			bool list = f->kind == K_STRS || f->kind == K_PAIRS;

			if (f->kind != K_STR && !list)
				continue;
			for (int where = 0; where <= (f->kind == K_PAIRS); where++) {
				ok(refused(t, &(struct twist){ f, put_nul, where, 0, 0, 0 }, &e), "%s.%s with a NUL", msg_name(t),
				    f->name);
				like(e.text, "NUL", "says so");
				if (list)
					ok(refused(t, &(struct twist){ f, put_number_inside, where, 0, 0, 0 }, &e),
					    "%s.%s with a number in it", msg_name(t), f->name);
			}
		}
	}
}

static void
put_bad_choice(msgpack_packer *pk, const struct field *f, long which)
{
	const char *good = f->names[0];

	if (which == 0) {
		mp_cstr(pk, "it's\x1b[31m");
	} else if (which == 1) {
		msgpack_pack_str(pk, 0);
	} else if (which == 2) { /* a prefix */
		msgpack_pack_str(pk, strlen(good) - 1);
		msgpack_pack_str_body(pk, good, strlen(good) - 1);
	} else { /* with the NUL */
		msgpack_pack_str(pk, strlen(good) + 1);
		msgpack_pack_str_body(pk, good, strlen(good) + 1);
	}
}

static void
choices(void)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (f->kind != K_ENUM)
				continue;
			for (int which = 0; which < 4; which++) {
				ok(refused(t, &(struct twist){ f, put_bad_choice, which, 0, 0, 0 }, &e), "%s.%s: bad choice %d",
				    msg_name(t), f->name, which);
				bool all = true;
				for (int i = 0; f->names[i] != NULL; i++) {
					char quoted[64];
					snprintf(quoted, sizeof(quoted), "'%s'", f->names[i]);
					all &= strstr(e.text, quoted) != NULL;
				}
				ok(all && strchr(e.text, 0x1b) == NULL, "the text lists the choices, and no raw byte");
			}
		}
	}
}

/* ---- descriptors and payloads beside the message ---- */

struct beside {
	const char *what;
	uint64_t    offset, len;
	size_t      file;     /* its size */
	int         seals;
	int         index;
	int         ext, size; /* 0: as it should be */
	bool        taken;
};

static void
put_beside(msgpack_packer *pk, const struct field *f, long arg)
{
	const struct beside *b = (const struct beside *)arg;
	unsigned char        x[32] = { (unsigned char)b->index };
	uint64_t             offset = htobe64(b->offset), len = htobe64(b->len);
	bool                 blob = f->kind == K_BLOB;

	memcpy(x + 1, &offset, 8);
	memcpy(x + 9, &len, 8);
	put_ext(pk, b->ext ? b->ext : blob ? EXT_BLOB : EXT_FD, x, b->size ? (size_t)b->size : blob ? EXT_BLOB_SIZE : 1);
}

static int
take_beside(enum msg_type t, const struct field *f, const struct beside *b, int file, struct err *e)
{
	struct twist  w = { .at = f, .put = put_beside, .arg = (long)b };
	struct packet p = { 0 };
	struct msg    m;

	put_message(&p, t, &w);
	p.fds[p.nfds++] = file;
	int r = take(&m, t, &p, sender_of(t), e);
	msg_clear(&m);
	packet_clear(&p);
	return r;
}

static void
one_payload(enum msg_type t, const struct field *f, const struct beside *b)
{
	char       where[128];
	struct err e = { 0 };
	int        r = take_beside(t, f, b, memfd_plain(b->file, b->seals), &e);

	snprintf(where, sizeof(where), "^%s\\.%s: ", msg_name(t), f->name);
	if (!ok((r == 0) == b->taken, "%s.%s: %s is %s", msg_name(t), f->name, b->what, b->taken ? "taken" : "refused"))
		diag("%s", e.text);
	if (!b->taken)
		like(e.text, where, "and where is said");
}

static void
payloads(enum msg_type t, const struct field *f)
{
	const struct beside table[] = {
		{ "a sealed file", 0, 1000, 1000, ALL_SEALS, 0, 0, 0, true },
		{ "a part of one", 900, 100, 1000, ALL_SEALS, 0, 0, 0, true },
		{ "the longest", 0, f->most, f->most, ALL_SEALS, 0, 0, 0, true },
		{ "one byte longer", 0, f->most + 1, f->most + 1, ALL_SEALS, 0, 0, 0, false },
		{ "an unsealed file", 0, 1000, 1000, 0, 0, 0, 0, false },
		{ "one that can shrink", 0, 1000, 1000, F_SEAL_GROW | F_SEAL_WRITE, 0, 0, 0, false },
		{ "one that can be written", 0, 1000, 1000, F_SEAL_GROW | F_SEAL_SHRINK, 0, 0, 0, false },
		{ "a shorter file", 0, 1001, 1000, ALL_SEALS, 0, 0, 0, false },
		{ "a shorter rest", 1, 1000, 1000, ALL_SEALS, 0, 0, 0, false },
		{ "an offset behind the end", 1001, 1, 1000, ALL_SEALS, 0, 0, 0, false },
		{ "a sum that wraps", UINT64_MAX, 2, 1000, ALL_SEALS, 0, 0, 0, false },
		{ "a length that wraps", 2, UINT64_MAX, 1000, ALL_SEALS, 0, 0, 0, false },
		{ "a descriptor that is not there", 0, 1000, 1000, ALL_SEALS, 1, 0, 0, false },
		{ "descriptor 255", 0, 1000, 1000, ALL_SEALS, 255, 0, 0, false },
		{ "a short extension", 0, 1000, 1000, ALL_SEALS, 0, 0, 16, false },
		{ "a long extension", 0, 1000, 1000, ALL_SEALS, 0, 0, 18, false },
		{ "a descriptor's extension", 0, 1000, 1000, ALL_SEALS, 0, EXT_FD, 1, false },
	};
	struct err e;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		one_payload(t, f, &table[i]);
	ok(take_beside(t, f, &table[0], open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &e) == -1,
	    "%s.%s: a regular file is refused", msg_name(t), f->name);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) == -1)
		BAIL_OUT("pipe");
	close(ends[1]);
	ok(take_beside(t, f, &table[0], ends[0], &e) == -1, "%s.%s: a pipe is refused", msg_name(t), f->name);
}

static void
descriptors(enum msg_type t, const struct field *f)
{
	static const struct beside table[] = {
		{ "a descriptor that is not there", 0, 0, 0, 0, 8, 0, 0, false },
		{ "descriptor 255", 0, 0, 0, 0, 255, 0, 0, false },
		{ "an empty extension", 0, 0, 0, 0, 0, EXT_FD, 2, false },
		{ "a payload's extension", 0, 0, 0, ALL_SEALS, 0, EXT_BLOB, EXT_BLOB_SIZE, false },
	};
	struct err e;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		ok(refused(t, &(struct twist){ f, put_beside, (long)&table[i], 0, 0, 0 }, &e), "%s.%s: %s is refused",
		    msg_name(t), f->name, table[i].what);
}

static void
put_same_fd(msgpack_packer *pk, const struct field *f, long arg)
{
	(void)f;
	(void)arg;
	put_ext(pk, EXT_FD, &(char){ 0 }, 1);
}

/* Who took the one would close it under the other. */
static void
shared_descriptors(void)
{
	struct err          e;
	const struct field *init = msg_def(MSG_WORKER_START)->fields;

	while (strcmp(init->name, "init") != 0)
		init++;
	ok(refused(MSG_WORKER_START, &(struct twist){ .at = init, .put = put_same_fd }, &e),
	    "two fields that name one descriptor are refused");
	like(e.text, "^worker_start\\.init: ", "the second is named");
}

static void
beside(void)
{
	for (EVERY_MESSAGE(t))
		for (EVERY_FIELD(f, t))
			if (f->kind == K_BLOB)
				payloads(t, f);
			else if (f->kind == K_FD)
				descriptors(t, f);
	shared_descriptors();
}

static void
taking(void)
{
	struct packet p = { 0 };
	struct err    e;
	struct msg    m;
	int           before = open_fds();

	put_message(&p, MSG_CONN_OPEN, NULL);
	put_fds(&p);
	take(&m, MSG_CONN_OPEN, &p, FROM_GATEWAY, &e);
	packet_clear(&p);
	int named = ((const struct msg_conn_open *)m.body)->peer;
	int fd = msg_take_fd(&m, named);
	ok(fd >= 0 && fd == named, "a handler takes a descriptor");
	cmp_ok(msg_take_fd(&m, named), "==", -1, "once");
	cmp_ok(msg_take_fd(&m, -1), "==", -1, "an absent one is not found");
	msg_clear(&m);
	ok(fcntl(fd, F_GETFD) != -1, "a taken one outlives the message");
	close(fd);
	cmp_ok(open_fds(), "==", before, "and the others do not");
}

/* ---- envelopes ---- */

static int
take_bytes(const char *bytes, size_t n, unsigned from, struct msg *m, struct err *e)
{
	struct packet p = { 0 };

	buf_append(&p.bytes, bytes, n);
	int r = take(m, MSG_NONE, &p, from, e);
	packet_clear(&p);
	return r;
}

static void
envelopes(void)
{
#define BYTES(s) s, sizeof(s) - 1
	static const struct {
		const char *bytes;
		size_t      n;
		const char *what;
	} bad[] = {
		{ BYTES(""), "nothing" },
		{ BYTES("\xc0"), "nil" },
		{ BYTES("\xc1"), "c1" },
		{ BYTES("\x90"), "an empty array" },
		{ BYTES("\x80"), "a map" },
		{ BYTES("\x92\x00\x01"), "two elements" },
		{ BYTES("\x93\x00\x01\xa4ping"), "a request without parameters" },
		{ BYTES("\x94\x03\x01\xa4ping\x80"), "an envelope of kind 3" },
		{ BYTES("\x94\xff\x01\xa4ping\x80"), "an envelope of kind -1" },
		{ BYTES("\x94\xc0\x01\xa4ping\x80"), "an envelope of kind nil" },
		{ BYTES("\x94\x00\xff\xa4ping\x80"), "a negative id" },
		{ BYTES("\x94\x00\xa1x\xa4ping\x80"), "an id of text" },
		{ BYTES("\x94\x00\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa4ping\x80"), "an id of 1.0" },
		{ BYTES("\x94\x00\x01\x05\x80"), "a method of 5" },
		{ BYTES("\x94\x00\x01\xc4\x04ping\x80"), "a method of bytes" },
		{ BYTES("\x94\x00\x01\xa3pin\x80"), "a method's beginning" },
		{ BYTES("\x94\x00\x01\xa5pings\x80"), "a method and more" },
		{ BYTES("\x94\x00\x01\xa0\x80"), "a method of no letters" },
		{ BYTES("\x94\x00\x01\xa4none\x80"), "the name of no message" },
		{ BYTES("\x94\x00\x01\xa4spec\x80"), "the name of a struct" },
		{ BYTES("\x94\x00\x01\xa4ping\xc0"), "parameters of nil" },
		{ BYTES("\x94\x00\x01\xa4ping\x90"), "parameters in an array" },
		{ BYTES("\x93\x02\xa4ping\x80"), "a request as a notice" },
		{ BYTES("\x94\x00\x01\xaaoutput_ack\x80"), "a notice as a request" },
		{ BYTES("\x94\x00\x01\xa4ping\x81\x05\x05"), "a field named 5" },
		{ BYTES("\x95\x00\x01\xa4ping\x80\x07"), "a connection id" },
		{ BYTES("\x95\x00\x01\xa4ping\x80\xc0"), "a nil behind it" },
		{ BYTES("\x94\x00\x01\xa4ping\x80\x80"), "bytes behind it" },
		{ BYTES("\x94\x00\x01\xa4ping\x80\x00"), "a zero behind it" },
		{ BYTES("\x94\x01\x01\xc0\x80"), "a reply, which nobody asks a client for," },
	};
	struct msg m;
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok(take_bytes(bad[i].bytes, bad[i].n, FROM_CLIENT, &m, &e) == -1 && e.code != E_NONE && e.text[0] != '\0' &&
		    m.body == NULL, "%s from a client is refused: %s", bad[i].what, e.text);
		msg_clear(&m);
	}
	ok(take_bytes(BYTES("\x94\x00\x01\xa4ping\x80"), FROM_CLIENT, &m, &e) == 0, "while a ping is taken");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x96\x00\x01\xa4ping\x80\x07\x07"), FROM_CLIENT | FROM_GATEWAY, &m, &e) == -1,
	    "two elements too many are refused from anybody");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x95\x00\x01\xa4ping\x80\xff"), FROM_CLIENT | FROM_GATEWAY, &m, &e) == -1,
	    "a negative connection id too");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x00\x2a\xa4nope\x80"), FROM_CLIENT, &m, &e) == -1 && m.id == 42 &&
	    m.envelope == ENV_REQUEST, "a refused request still tells its id");
	like(e.text, "'nope'", "the text names the method");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x00\x2a\xa3get\x80"), FROM_CLIENT, &m, &e) == -1 && m.id == 42, "one with bad fields too");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x00\x01\xa5p\ning\x80"), FROM_CLIENT, &m, &e) == -1, "a hostile method name");
	like(e.text, "p\\\\x0aing", "is escaped");
	msg_clear(&m);
}

static void
cut_anywhere(void)
{
	struct values v = { 0 };
	struct packet p = { 0 };
	struct err    e;
	struct msg    m;
	int           taken = 0;

	msg_encode(&p, MSG_SESSION_STATE, 0, 0, fill_body(&v, MSG_SESSION_STATE, FILL_LEAST), &e);
	for (size_t n = 0; n < p.bytes.len; n++) {
		taken += take_bytes(p.bytes.data, n, FROM_FILE, &m, &e) == 0;
		msg_clear(&m);
	}
	cmp_ok(taken, "==", 0, "a message cut at any of %zu places is refused", p.bytes.len);
	packet_clear(&p);
	values_clear(&v);
}

static void
wrong_senders(void)
{
	struct packet p;
	struct err    e;
	struct msg    m;

	for (EVERY_MESSAGE(t)) {
		if (msg_def(t)->envelope == ENV_STRUCT)
			continue;
		for (unsigned bit = 1; bit < 1 << ALL_SENDERS; bit <<= 1) {
			if (msg_def(t)->from & bit)
				continue;
			p = (struct packet){ 0 };
			put_message(&p, t, NULL);
			put_fds(&p);
			ok(take(&m, t, &p, bit, &e) == -1 && e.code == E_PROTO && m.body == NULL, "%s from %u is refused",
			    msg_name(t), bit);
			msg_clear(&m);
			packet_clear(&p);
		}
	}
}

/* ---- replies ---- */

static void
error_replies(void)
{
	for (enum err_code c = 0; c < E__COUNT; c++) {
		struct packet p = { 0 };
		struct err    e, why;
		struct msg    m = { 0 };

		err_set(&why, c, "it's %d", c);
		ok(msg_encode_error(&p, 9, 5, &why, &e) == 0 && take(&m, MSG_NONE, &p, FROM_WORKER, &e) == 0 && m.failed &&
		    m.id == 9 && m.conn == 5 && m.envelope == ENV_REPLY, "error '%s' travels", err_wire_name(c));
		cmp_ok(m.error.code, "==", c, "as itself");
		is(m.error.text, why.text, "with its text");
		msg_clear(&m);
		packet_clear(&p);
	}
}

static void
put_failure(struct buf *b, const char *code, size_t text)
{
	msgpack_packer pk;

	mp_writer(&pk, b);
	msgpack_pack_array(&pk, 4);
	msgpack_pack_int(&pk, ENV_REPLY);
	msgpack_pack_int(&pk, 3);
	msgpack_pack_map(&pk, 2);
	mp_cstr(&pk, "code");
	mp_cstr(&pk, code);
	mp_cstr(&pk, "message");
	put_text(&pk, text);
	msgpack_pack_nil(&pk);
}

static int
take_failure(const char *code, size_t text, struct msg *m, struct err *e)
{
	struct packet p = { 0 };

	put_failure(&p.bytes, code, text);
	int r = take(m, MSG_NONE, &p, FROM_WORKER, e);
	packet_clear(&p);
	return r;
}

static void
odd_replies(void)
{
	struct msg m;
	struct err e;

	ok(take_failure("made_up", 10, &m, &e) == 0 && m.failed && m.error.code == E_SYS, "an unknown code is a system error");
	is(m.error.text, "xxxxxxxxxx", "and keeps its text");
	msg_clear(&m);
	ok(take_failure("none", 10, &m, &e) == 0 && m.failed, "an error called 'none' is a failure still");
	msg_clear(&m);
	ok(take_failure("busy", LIM_TEXT, &m, &e) == 0 && m.failed, "the longest text is taken");
	like(m.error.text, "^x+(\\.\\.\\.)$", "and visibly cut");
	msg_clear(&m);
	ok(take_failure("busy", LIM_TEXT + 1, &m, &e) == -1, "a longer one is refused");
	like(e.text, "^failure\\.message: ", "as failure.message");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x01\x03\x80\xc0"), FROM_WORKER, &m, &e) == -1, "an error without code is refused");
	like(e.text, "^failure\\.code: missing", "as missing");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x01\x03\xa1x\xc0"), FROM_WORKER, &m, &e) == -1, "an error that is a string is refused");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x01\x03\xc0\xc0"), FROM_WORKER, &m, &e) == 0 && !m.failed, "a nil result is a reply");
	ok(msg_expect(&m, MSG_DONE, &e) == -1, "but no result of any type");
	msg_clear(&m);
}

/* ---- the table itself ---- */

static void
each_definition(enum msg_type t)
{
	const struct msg_def *d = msg_def(t);
	int                   fields = 0, same = 0, too_long = 0, fds = 0;

	for (EVERY_FIELD(f, t)) {
		size_t names = 0;

		for (int i = 0; f->kind == K_ENUM && f->names[i] != NULL; i++)
			names += strlen(f->names[i]) + 6;
		too_long += names >= 256; /* get_enum writes them into so much */
		for (const struct field *g = d->fields; g < f; g++)
			same += strcmp(f->name, g->name) == 0;
		fds += f->kind == K_FD;
		fields++;
	}
	cmp_ok(fields, "<", 64, "%s: a 64-bit set holds its fields", d->name);
	cmp_ok(same, "==", 0, "%s: no two fields of one name", d->name);
	cmp_ok(too_long, "==", 0, "%s: the choices of its enums fit an error text", d->name);
	cmp_ok(fds, "<=", LIM_PACKET_FDS, "%s: its descriptors fit a packet", d->name);
	if (d->envelope == ENV_STRUCT)
		return;
	ok(d->doc != NULL && d->doc[0] != '\0', "%s: says what it is for", d->name);
	ok(d->from != 0 && d->from < 1 << ALL_SENDERS, "%s: somebody may send it", d->name);
	ok((d->result != MSG_NONE) == (d->envelope == ENV_REQUEST) && msg_def(d->result)->envelope == ENV_STRUCT,
	    "%s: a request has a result, a notice none", d->name);
	ok(!(d->from & FROM_CLIENT) || fds == 0, "%s: a client sends no descriptors", d->name);
	ok(msg_by_name(d->name, strlen(d->name)) == t, "%s: is found by name", d->name);
}

static size_t
depth_of(enum msg_type t)
{
	size_t deepest = 0;

	for (EVERY_FIELD(f, t)) {
		size_t d = f->kind == K_OBJ ? depth_of(f->sub) : f->kind == K_LIST ? 1 + depth_of(f->sub) :
		    f->kind == K_STRS || f->kind == K_PAIRS ? 1 : 0;
		deepest = d > deepest ? d : deepest;
	}
	return deepest + 1;
}

static void
definitions(void)
{
	for (EVERY_MESSAGE(t)) {
		int same = 0;

		for (EVERY_MESSAGE(u))
			same += strcmp(msg_name(t), msg_name(u)) == 0;
		cmp_ok(same, "==", 1, "%s: no other message of that name", msg_name(t));
		each_definition(t);
		cmp_ok(depth_of(t) + 1, "<=", LIM_DEPTH, "%s: its envelope and nesting pass the scanner", msg_name(t));
	}
	is(msg_enum_name(MSG_SESSION_INFO, "state", STATE_READY), "ready", "an enum's name by its field");
	is(msg_enum_name(MSG_SESSION_INFO, "state", 99), "?", "of no value");
	is(msg_enum_name(MSG_SESSION_INFO, "state", -1), "?", "of a negative one");
	is(msg_enum_name(MSG_SESSION_INFO, "session", 0), "?", "of a field that is none");
	is(msg_name(MSG__COUNT), "none", "the name of no message");
}

static void
absent_lists(void)
{
	struct msg_exec x;

	msg_defaults(MSG_EXEC, &x);
	ok(x.argv.v != NULL && x.argv.v[0] == NULL, "an absent list of strings ends in NULL like any other");
}

static void
nested_texts(void)
{
	struct msg m;
	struct err e;

	take_bytes(BYTES("\x94\x00\x01\xa6" "create\x81\xa4spec\x81\xa4" "cpus\xa1x"), FROM_CLIENT, &m, &e);
	is(e.text, "create.spec: spec.cpus: expected a number, got a string", "the text leads to a field of a field");
	msg_clear(&m);
	take_bytes(BYTES("\x94\x00\x01\xa6" "attach\x81\xa5" "execs\x92\x81\xa4" "exec\x01\x80"), FROM_WORKER, &m, &e);
	is(e.text, "attach.execs: entry 1: resume.exec: missing", "and to one in a list");
	msg_clear(&m);
}

int
main(void)
{
	int before = open_fds();

	plan(NO_PLAN);
	definitions();
	absent_lists();
	round_trips();
	streams();
	baseline();
	missing_and_doubled();
	unknown_fields();
	wrong_kinds();
	ranges();
	texts();
	choices();
	beside();
	taking();
	envelopes();
	cut_anywhere();
	wrong_senders();
	error_replies();
	odd_replies();
	nested_texts();
	take_bytes("", 0, FROM_CLIENT, &(struct msg){ 0 }, &(struct err){ 0 }); /* frees what take keeps */
	cmp_ok(open_fds(), "==", before, "no descriptor was left open");
	done_testing();
}
