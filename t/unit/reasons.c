/* An error's reason, fields and marked parts: set, moved by what is put before the text, and taken to the next process. */
#include "base/err.h"
#include "tap.h"
#include "wire/detail.h"

/* ---- in one process ---- */

TEST(are_set_and_forgotten)
{
	struct err e;

	err_set(&e, E_INVALID, "no");
	ok(e.reason == REASON_NONE && e.field == FIELD_NONE && e.part[PART_SESSION].len == 0, "a text alone has none");
	cmp_ok(err_because(&e, REASON_BLOCKED, FIELD_EXTRA_MOUNTS, 3), "==", -1, "setting a reason is failing");
	ok(e.reason == REASON_BLOCKED && e.field == FIELD_EXTRA_MOUNTS && e.number == 3, "it is there, with its field");
	is(e.text, "no", "and the text is as it was");
	err_set(&e, E_SYS, "%s again", e.text);
	ok(e.reason == REASON_NONE && e.field == FIELD_NONE && e.number == 0,
	    "another error has not the reason of the last");
}

TEST(parts_are_said_in_other_words)
{
	struct err e;

	err_session(&e, E_CAPACITY, "%d commands are running in session %s already", 5, "ws-1-mine");
	is(e.text, "5 commands are running in session ws-1-mine already", "a session is named");
	err_say(&e, PART_WHEN, "never");
	is(e.text, "5 commands are running in session ws-1-mine already", "a part that is not there is not said");
	err_say(&e, PART_SESSION, "mine");
	is(e.text, "5 commands are running in session mine already", "by another name");
	err_say(&e, PART_SESSION, "a longer one");
	is(e.text, "5 commands are running in session a longer one already", "and by a third");
	err_prefix(&e, "%s", "ctx");
	err_say(&e, PART_SESSION, "x");
	is(e.text, "ctx: 5 commands are running in session x already", "behind what was put before it");
}

TEST(two_parts)
{
	struct err e;
	size_t     n;

	err_set_part(&e, E_QUOTA, PART_WHEN, "too much %s: ", "during execution");
	n = strlen(e.text);
	snprintf(e.text + n, sizeof(e.text) - n, "session_id=%s", "physical");
	e.part[PART_SESSION] = (struct err_span){ (uint16_t)(n + 11), 8 };
	err_say(&e, PART_WHEN, "after");
	err_say(&e, PART_SESSION, "me");
	is(e.text, "too much after: session_id=me", "the first part moves the second");
	err_say(&e, PART_SESSION, "somebody");
	err_say(&e, PART_WHEN, "before");
	is(e.text, "too much before: session_id=somebody", "and not the other way round");
}

TEST(context_goes_again)
{
	struct err e;

	err_session(&e, E_BACKEND, "%s has no wall", "ws-1-mine");
	err_strip(&e);
	is(e.text, "ws-1-mine has no wall", "nothing is taken off that was not put there");
	err_context(&e, "session %s failed", "ws-1-mine");
	is(e.text, "session ws-1-mine failed: ws-1-mine has no wall", "context stands before");
	err_strip(&e);
	is(e.text, "ws-1-mine has no wall", "and is taken off");
	err_say(&e, PART_SESSION, "mine");
	is(e.text, "mine has no wall", "the part is where it was");
}

TEST(long_texts)
{
	struct err e;
	char       longest[2 * ERR_TEXT];

	memset(longest, 'z', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_session(&e, E_SYS, "session %s", longest);
	cmp_ok(e.part[PART_SESSION].len, "==", 0, "a name that was cut is no part");
	err_session(&e, E_SYS, "session %s%s", "one", longest);
	err_say(&e, PART_SESSION, longest);
	ok(strlen(e.text) == ERR_TEXT - 1, "words that are too long end");
	like(e.text, "z\\.\\.\\.$", "visibly");
	err_session(&e, E_SYS, "session %s", "one");
	err_prefix(&e, "%s", longest);
	cmp_ok(e.part[PART_SESSION].len, "==", 0, "a part that was moved out of the text is none");
	err_session(&e, E_SYS, "session %s", "one");
	err_context(&e, "%s", longest);
	err_strip(&e);
	is(e.text, "", "a text that was moved out is gone");
}

/* ---- to the next ---- */

static struct err
full(void)
{
	struct err e;

	err_set_part(&e, E_QUOTA, PART_WHEN, "too much %s", "during execution");
	e.part[PART_SESSION] = (struct err_span){ 0, 3 };
	err_because(&e, REASON_OUTGROWN, FIELD_HOST_PATH, UINT64_MAX);
	return e;
}

static int
take(struct msg *m, struct packet *p)
{
	struct err e = { 0 };

	return msg_decode(m, p->bytes.data, p->bytes.len, NULL, 0, FROM_WORKER | FROM_SUPERVISOR, &e);
}

TEST(crosses)
{
	struct err    why = full(), e;
	struct packet p = { 0 };
	struct msg    m;

	cmp_ok(msg_encode_error(&p, 7, 0, &why, &e), "==", 0, "a reply has it");
	cmp_ok(take(&m, &p), "==", 0, "and is read");
	ok(m.failed && m.error.code == E_QUOTA && m.error.reason == REASON_OUTGROWN &&
		m.error.field == FIELD_HOST_PATH && m.error.number == UINT64_MAX,
	    "code, reason, field and number cross");
	ok(memcmp(m.error.part, why.part, sizeof(why.part)) == 0, "and the parts");
	is(m.error.text, why.text, "and the text");
	msg_clear(&m);
	packet_clear(&p);
}

TEST(stays_inside)
{
	struct err    why = full(), plain, e;
	struct packet with = { .stream = true }, without = { .stream = true };

	err_set(&plain, why.code, "%s", why.text);
	cmp_ok(msg_encode_error(&with, 7, 0, &why, &e), "==", 0, "a client's reply");
	cmp_ok(msg_encode_error(&without, 7, 0, &plain, &e), "==", 0, "and one of an error without a reason");
	ok(with.bytes.len == without.bytes.len && memcmp(with.bytes.data, without.bytes.data, with.bytes.len) == 0,
	    "are the same to the byte");
	packet_clear(&with);
	packet_clear(&without);
}

TEST(every_reason_crosses)
{
	struct err from, to;

	for (int r = 0; r < REASON__COUNT || r < FIELD__COUNT; r++) {
		err_set(&from, E_SYS, "x");
		err_because(&from, r < REASON__COUNT ? (enum err_reason)r : REASON_NONE,
		    r < FIELD__COUNT ? (enum err_field)r : FIELD_NONE, (uint64_t)r);
		struct msg_detail d = detail_of(&from);
		err_set(&to, E_SYS, "x");
		detail_take(&to, &d);
		ok(to.reason == from.reason && to.field == from.field && to.number == from.number,
		    "reason %d: '%s', '%s'", r, d.reason, d.field);
	}
}

/* ---- what a worker may make up ---- */

static struct err
taken(const char *text, const struct msg_detail *d)
{
	struct err               e;
	struct packet            p = { 0 };
	struct msg               m;
	struct msg_worker_failed f = { .code = "invalid", .reason = text, .detail = *d };

	must(msg_encode(&p, MSG_WORKER_FAILED, 0, 0, &f, &e) != -1 && take(&m, &p) != -1, "a notice does not cross: %s",
	    e.text);
	const struct msg_worker_failed *got = m.body;
	err_set(&e, E_INVALID, "%s", got->reason);
	detail_take(&e, &got->detail);
	msg_clear(&m);
	packet_clear(&p);
	return e;
}

TEST(inventions)
{
	struct msg_detail d;
	struct err        e;

	msg_defaults(MSG_DETAIL, &d);
	d.reason = "Blocked";
	d.field = "host_path ";
	e = taken("text", &d);
	ok(e.reason == REASON_NONE && e.field == FIELD_NONE, "a reason and a field that nobody knows are none");
	static const uint64_t outside[][2] = { { 0, 5 }, { 4, 1 }, { 5, 0 }, { LIM_TEXT, LIM_TEXT }, { 2, 3 } };
	msg_defaults(MSG_DETAIL, &d);
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		d.session_at = d.when_at = outside[i][0];
		d.session_len = d.when_len = outside[i][1];
		e = taken("text", &d);
		ok(e.part[PART_SESSION].len == 0 && e.part[PART_WHEN].len == 0, "%lu bytes at %lu are not in the text",
		    outside[i][1], outside[i][0]);
		err_say(&e, PART_SESSION, "x");
		is(e.text, "text", "and nothing is said there");
	}
	d.session_at = d.when_at = 1;
	d.session_len = d.when_len = 3;
	e = taken("text", &d);
	err_say(&e, PART_SESSION, "");
	err_say(&e, PART_WHEN, "xyz");
	ok(strlen(e.text) < ERR_TEXT, "parts that overlap are still within the text: %s", e.text);
}
