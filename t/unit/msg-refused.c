/*
 * Everything that is not quite a message of the table is refused, with a text
 * that names message and field.
 */
#include <endian.h>
#include <math.h>

#include "base/memfd.h"
#include "check.h"
#include "tap.h"
#include "twist.h"
#include "values.h"
#include "wire/mp.h"
#include "wire/msg.h"
#include "wire/wire.h"

TEST(baseline)
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

TEST(missing_and_doubled)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (msg_needs(f)) {
				ok(refused(t, &(struct twist){ .at = f, .omit = true }, &e), "%s without %s",
				    msg_name(t), f->name);
				like(e.text, "missing", "says missing");
			}
			ok(refused(t, &(struct twist){ .at = f, .twice = true }, &e), "%s with two %s", msg_name(t),
			    f->name);
			like(e.text, "given twice", "says twice");
		}
	}
}

TEST(unknown_fields)
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
		[K_LAX] = 1 << W_NIL | 1 << W_BOOL | 1 << W_UINT | 1 << W_NEG | 1 << W_FLOAT | 1 << W_STR,
		[K_ENUM] = 0, /* "x" is none of its names */
		[K_OBJ] = 0,  /* "x" is none of its fields */
		[K_LIST] = 0, /* "x" is no map */
	};
	return table[k];
}

TEST(wrong_kinds)
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
	case K_LAX:
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
	bool counted = f->kind == K_STR || f->kind == K_STRS || f->kind == K_PAIRS || f->kind == K_LIST ||
		       f->kind == K_LAX;

	/* the maxima of BLOB are tested with a file beside the message */
	return f->kind == K_F64 || ((counted || f->kind == K_U64 || f->kind == K_I64) && f->most < UINT64_MAX);
}

TEST(ranges)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (has_minimum(f))
				ok(refused(t, &(struct twist){ f, put_out_of_range, 0, 0, 0, 0 }, &e) &&
					e.code == E_INVALID,
				    "%s.%s under its minimum %ld", msg_name(t), f->name, f->least);
			if (has_maximum(f))
				ok(refused(t, &(struct twist){ f, put_out_of_range, 1, 0, 0, 0 }, &e) &&
					e.code == E_INVALID,
				    "%s.%s over its maximum %lu", msg_name(t), f->name, f->most);
			for (int i = 2; f->kind == K_F64 && i < 7; i++)
				ok(refused(t, &(struct twist){ f, put_out_of_range, i, 0, 0, 0 }, &e), "%s.%s: %s",
				    msg_name(t), f->name, e.text);
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

TEST(texts)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			bool list = f->kind == K_STRS || f->kind == K_PAIRS;

			if (f->kind != K_STR && !list)
				continue;
			for (int where = 0; where <= (f->kind == K_PAIRS); where++) {
				ok(refused(t, &(struct twist){ f, put_nul, where, 0, 0, 0 }, &e), "%s.%s with a NUL",
				    msg_name(t), f->name);
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

TEST(choices)
{
	struct err e;

	for (EVERY_MESSAGE(t)) {
		for (EVERY_FIELD(f, t)) {
			if (f->kind != K_ENUM)
				continue;
			for (int which = 0; which < 4; which++) {
				ok(refused(t, &(struct twist){ f, put_bad_choice, which, 0, 0, 0 }, &e),
				    "%s.%s: bad choice %d", msg_name(t), f->name, which);
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
	size_t      file; /* its size */
	int         seals;
	int         index;
	int         ext, size; /* 0: as it should be */
	bool        taken, wraps;
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
	put_ext(pk,
	    b->ext ? b->ext
	    : blob ? EXT_BLOB
		   : EXT_FD,
	    x,
	    b->size ? (size_t)b->size
	    : blob  ? EXT_BLOB_SIZE
		    : 1);
}

static int
take_beside(enum msg_type t, const struct field *f, const struct beside *b, int file, struct err *e)
{
	struct beside behind = *b; /* the descriptors that the message needs */
	struct twist  w = { .at = f, .put = put_beside, .arg = (long)&behind };
	struct packet p = { 0 };
	struct msg    m;

	for (EVERY_FIELD(other, t))
		if (other != f && other->needed && other->kind == K_FD) {
			p.fds[p.nfds++] = memfd_plain(0, ALL_SEALS);
			behind.index++;
		}
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
	if (b->wraps)
		like(e.text, "shorter than its message says", "for the right reason");
}

static void
payloads(enum msg_type t, const struct field *f)
{
	const struct beside table[] = {
		{ "a sealed file", 0, 1000, 1000, ALL_SEALS, 0, 0, 0, true, false },
		{ "a part of one", 900, 100, 1000, ALL_SEALS, 0, 0, 0, true, false },
		{ "the longest", 0, f->most, f->most, ALL_SEALS, 0, 0, 0, true, false },
		{ "one byte longer", 0, f->most + 1, f->most + 1, ALL_SEALS, 0, 0, 0, false, false },
		{ "an unsealed file", 0, 1000, 1000, 0, 0, 0, 0, false, false },
		{ "one that can shrink", 0, 1000, 1000, F_SEAL_GROW | F_SEAL_WRITE, 0, 0, 0, false, false },
		{ "one that can be written", 0, 1000, 1000, F_SEAL_GROW | F_SEAL_SHRINK, 0, 0, 0, false, false },
		{ "a shorter file", 0, 1001, 1000, ALL_SEALS, 0, 0, 0, false, true },
		{ "a shorter rest", 1, 1000, 1000, ALL_SEALS, 0, 0, 0, false, true },
		{ "an offset behind the end", 1001, 1, 1000, ALL_SEALS, 0, 0, 0, false, true },
		{ "a sum that wraps", UINT64_MAX, 2, 1000, ALL_SEALS, 0, 0, 0, false, true },
		{ "a length that wraps", 2, UINT64_MAX, 1000, ALL_SEALS, 0, 0, 0, false, true },
		{ "a descriptor that is not there", 0, 1000, 1000, ALL_SEALS, 1, 0, 0, false, false },
		{ "descriptor 255", 0, 1000, 1000, ALL_SEALS, 255, 0, 0, false, false },
		{ "a short extension", 0, 1000, 1000, ALL_SEALS, 0, 0, 16, false, false },
		{ "a long extension", 0, 1000, 1000, ALL_SEALS, 0, 0, 18, false, false },
		{ "a descriptor's extension", 0, 1000, 1000, ALL_SEALS, 0, EXT_FD, 1, false, false },
	};
	struct err e;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		one_payload(t, f, &table[i]);
	ok(take_beside(t, f, &table[0], open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &e) == -1,
	    "%s.%s: a regular file is refused", msg_name(t), f->name);
	int ends[2];
	must(pipe2(ends, O_CLOEXEC) != -1, "pipe");
	close(ends[1]);
	ok(take_beside(t, f, &table[0], ends[0], &e) == -1, "%s.%s: a pipe is refused", msg_name(t), f->name);
}

static void
descriptors(enum msg_type t, const struct field *f)
{
	static const struct beside table[] = {
		{ "a descriptor that is not there", 0, 0, 0, 0, 8, 0, 0, false, false },
		{ "descriptor 255", 0, 0, 0, 0, 255, 0, 0, false, false },
		{ "an empty extension", 0, 0, 0, 0, 0, EXT_FD, 2, false, false },
		{ "a payload's extension", 0, 0, 0, ALL_SEALS, 0, EXT_BLOB, EXT_BLOB_SIZE, false, false },
	};
	struct err e;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		ok(refused(t, &(struct twist){ f, put_beside, (long)&table[i], 0, 0, 0 }, &e), "%s.%s: %s is refused",
		    msg_name(t), f->name, table[i].what);
}

static void
put_same_fd(msgpack_packer *pk, const struct field *f, long arg)
{
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

TEST(beside)
{
	for (EVERY_MESSAGE(t))
		for (EVERY_FIELD(f, t))
			if (f->kind == K_BLOB)
				payloads(t, f);
			else if (f->kind == K_FD)
				descriptors(t, f);
	shared_descriptors();
}

TEST(taking)
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

/* Whoever sends bytes and says where they begin may lie; whoever takes them adds both. */
TEST(offsets)
{
	for (EVERY_MESSAGE(t)) {
		const struct field *at = NULL, *data = NULL;

		for (EVERY_FIELD(f, t)) {
			at = strcmp(f->name, "offset") == 0 ? f : at;
			data = f->kind == K_BLOB ? f : data;
		}
		if (at != NULL && data != NULL)
			ok(at->most <= INT64_MAX, "the end of %s.%s has a number", msg_name(t), data->name);
	}
}

int
main(void)
{
	int before = open_fds();

	run_tests();
	cmp_ok(open_fds(), "==", before, "no descriptor was left open");
	done_testing();
}
