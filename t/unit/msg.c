/*
 * Every message in the table survives the wire, comes only from who may send it,
 * and in no envelope but its own; and the table itself keeps its promises.
 */
#include "base/memfd.h"
#include "check.h"
#include "tap.h"
#include "twist.h"
#include "values.h"
#include "wire/mp.h"
#include "wire/msg.h"
#include "wire/wire.h"

/* ---- round trips ---- */

static int
encode(struct packet *p, enum msg_type t, uint64_t conn, const void *body, struct err *e)
{
	if (msg_def(t)->envelope == ENV_STRUCT)
		return msg_encode_reply(p, t, UINT64_MAX, conn, body, e);
	return msg_encode(p, t, UINT64_MAX, conn, body, e);
}

/* What only boxd's own processes get is left out of a stream. */
static void
forget_detail(enum msg_type t, void *body)
{
	for (EVERY_FIELD(f, t))
		if (f->sub == MSG_DETAIL)
			msg_defaults(MSG_DETAIL, (char *)body + f->offset);
}

static void
round_trip(enum msg_type t, enum fill how, uint64_t conn, unsigned from, bool stream)
{
	struct values v = { 0 };
	struct packet p = { .stream = stream };
	struct err    e = { 0 };
	struct msg    m = { 0 };
	void         *body = fill_body(&v, t, how);
	const char   *bad = "";
	enum envelope env = msg_def(t)->envelope == ENV_STRUCT ? ENV_REPLY : msg_def(t)->envelope;
	int           r = encode(&p, t, conn, body, &e);

	if (stream)
		forget_detail(t, body);
	if (r == 0 && take(&m, t, &p, from, &e) == 0)
		bad = body_differs(t, body, m.body);
	if (!ok(bad == NULL && m.type == t && m.envelope == env && m.conn == conn &&
		    m.id == (env == ENV_NOTICE ? 0 : UINT64_MAX),
		"%s with %s, from %u%s", msg_name(t), fill_names[how], from, stream ? " on a stream" : ""))
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

TEST(round_trips)
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

TEST(streams)
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
		memcmp(got->stdout.data, big, 100 * KIB) == 0,
	    "identical");
	msg_clear(&m);
	packet_clear(&p);
	p = (struct packet){ .stream = true };
	cmp_ok(msg_encode(&p, MSG_CONN_OPEN, 0, 0, &(struct msg_conn_open){ .peer = 0 }, &e), "==", -1,
	    "a descriptor does not go into a stream");
	like(e.text, "^conn_open\\.peer: ", "and the text says where it was");
	packet_clear(&p);
	free(big);
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

TEST(envelopes)
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
		ok(take_bytes(bad[i].bytes, bad[i].n, FROM_CLIENT, &m, &e) == -1 && e.code != E_NONE &&
			e.text[0] != '\0' && m.body == NULL,
		    "%s from a client is refused: %s", bad[i].what, e.text);
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
		m.envelope == ENV_REQUEST,
	    "a refused request still tells its id");
	like(e.text, "'nope'", "the text names the method");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x00\x2a\xa3get\x80"), FROM_CLIENT, &m, &e) == -1 && m.id == 42,
	    "one with bad fields too");
	msg_clear(&m);
	ok(take_bytes(BYTES("\x94\x00\x01\xa5p\ning\x80"), FROM_CLIENT, &m, &e) == -1, "a hostile method name");
	like(e.text, "p\\\\x0aing", "is escaped");
	msg_clear(&m);
}

TEST(cut_anywhere)
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

TEST(wrong_senders)
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
			ok(take(&m, t, &p, bit, &e) == -1 && e.code == E_PROTO && m.body == NULL,
			    "%s from %u is refused", msg_name(t), bit);
			msg_clear(&m);
			packet_clear(&p);
		}
	}
}

/* ---- replies ---- */

TEST(error_replies)
{
	for (enum err_code c = 0; c < E__COUNT; c++) {
		struct packet p = { 0 };
		struct err    e, why;
		struct msg    m = { 0 };

		err_set(&why, c, "it's %d", c);
		ok(msg_encode_error(&p, 9, 5, &why, &e) == 0 && take(&m, MSG_NONE, &p, FROM_WORKER, &e) == 0 &&
			m.failed && m.id == 9 && m.conn == 5 && m.envelope == ENV_REPLY,
		    "error '%s' travels", err_wire_name(c));
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

TEST(odd_replies)
{
	struct msg m;
	struct err e;

	ok(take_failure("made_up", 10, &m, &e) == 0 && m.failed && m.error.code == E_SYS,
	    "an unknown code is a system error");
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
	ok(take_bytes(BYTES("\x94\x01\x03\xa1x\xc0"), FROM_WORKER, &m, &e) == -1,
	    "an error that is a string is refused");
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

/* Whatever is not exactly a name finds nothing; a method from the wire has no NUL behind it, and may have one in it. */
static void
finds_no_other_name(void)
{
	cmp_ok(msg_by_name("exec", 3), "==", MSG_NONE, "the beginning of a name");
	cmp_ok(msg_by_name("exec_of_none", 12), "==", MSG_NONE, "more than a name");
	cmp_ok(msg_by_name("exec\0x", 6), "==", MSG_NONE, "a name and a NUL");
	cmp_ok(msg_by_name("exec_of_none", 4), "==", MSG_EXEC, "bytes that go on behind the name do not count");
	cmp_ok(msg_by_name("", 0), "==", MSG_NONE, "nothing");
	cmp_ok(msg_by_name("a", 1), "==", MSG_NONE, "what comes before all names");
	cmp_ok(msg_by_name("zzz", 3), "==", MSG_NONE, "and behind them");
	cmp_ok(msg_by_name("spec", 4), "==", MSG_NONE, "a struct is no method");
}

static size_t
depth_of(enum msg_type t)
{
	size_t deepest = 0;

	for (EVERY_FIELD(f, t)) {
		size_t d = f->kind == K_OBJ                          ? depth_of(f->sub)
			   : f->kind == K_LIST                       ? 1 + depth_of(f->sub)
			   : f->kind == K_STRS || f->kind == K_PAIRS ? 1
								     : 0;
		deepest = d > deepest ? d : deepest;
	}
	return deepest + 1;
}

TEST(definitions)
{
	finds_no_other_name();
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

TEST(absent_lists)
{
	struct msg_exec x;

	msg_defaults(MSG_EXEC, &x);
	ok(x.argv.v != NULL && x.argv.v[0] == NULL, "an absent list of strings ends in NULL like any other");
}

TEST(nested_texts)
{
	struct msg m;
	struct err e;

	take_bytes(BYTES("\x94\x00\x01\xa6"
			 "create\x81\xa4spec\x81\xa4"
			 "cpus\xa1x"),
	    FROM_CLIENT, &m, &e);
	is(e.text, "create.spec: spec.cpus: expected a number, got a string", "the text leads to a field of a field");
	msg_clear(&m);
	take_bytes(BYTES("\x94\x00\x01\xa6"
			 "attach\x81\xa5"
			 "execs\x92\x81\xa4"
			 "exec\x01\x80"),
	    FROM_WORKER, &m, &e);
	is(e.text, "attach.execs: entry 1: resume.exec: missing", "and to one in a list");
	msg_clear(&m);
}

/* An empty payload is there, also when it comes beside the message: it is not an absent one. */
TEST(empty_beside)
{
	static const char bytes[] = "\x93\x02\xa8remember\x82\xa4"
				    "exec\x01\xa5"
				    "about\xc7\x11\x01"
				    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct err        e = { 0 };
	struct msg        m;
	int               fd = memfd_of("payload", "x", 1, &e);

	ok(msg_decode(&m, bytes, sizeof(bytes) - 1, &fd, 1, FROM_WORKER, &e) == 0, "an empty payload beside: %s",
	    e.text);
	const struct msg_remember *r = m.body;
	ok(r != NULL && r->about.len == 0 && r->about.data != NULL, "is empty, and not absent");
	msg_clear(&m);
}

int
main(void)
{
	int before = open_fds();

	run_tests();
	cmp_ok(open_fds(), "==", before, "no descriptor was left open");
	done_testing();
}
