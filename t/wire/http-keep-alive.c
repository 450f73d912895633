/*
 * Who polls /healthz and /readyz keeps its connection: one request after the other, also sent ahead, each judged as if it
 * were the first; and a connection that rests is nobody's burden.
 */
#include "tap.h"
#include "webbox.h"

enum { STRANGERS = 8 };

#define HOST "Host: localhost:5410\r\n"
#define HEALTH "GET /healthz HTTP/1.1\r\n" HOST "\r\n"
#define READY "GET /readyz HTTP/1.1\r\n" HOST "\r\n"
#define LAST "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"

/* The supervisor is asked, and says how many sessions there are. */
static bool
tell(const struct client *c, uint64_t sessions)
{
	struct msg_box_health_result r = { .sessions = sessions };
	struct msg                   m;

	sup_until(MSG_HTTP_HEALTH, &m);
	bool same = m.conn == c->conn;
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	return same;
}

/* One answer with its body, without waiting for the end of the connection; NULL: it has ended. */
static const char *
next_answer(struct client *c)
{
	static char text[4096];
	char       *body = NULL, *length;
	size_t      n = 0;

	for (;;) {
		buf_append(&c->in, "", 1);
		c->in.len--;
		body = strstr(c->in.data, "\r\n\r\n");
		length = strstr(c->in.data, "Content-Length: ");
		if (body != NULL && length != NULL) {
			n = (size_t)(body + 4 - c->in.data) + strtoul(length + 16, NULL, 10);
			if (c->in.len >= n)
				break;
		}
		if (!client_read(c))
			return NULL;
	}
	snprintf(text, sizeof(text), "%.*s", (int)n, c->in.data);
	buf_drop(&c->in, n);
	return text;
}

static bool
has_ended(struct client *c)
{
	return c->in.len == 0 && !client_read(c);
}

TEST(polls)
{
	struct client        c = web_open();
	struct msg_readiness r;
	struct msg           m;
	const char          *heard;

	for (uint64_t i = 1; i <= 3; i++) {
		web_say(&c, HEALTH);
		ok(tell(&c, i), "request %lu of one connection is asked in its name", i);
		heard = next_answer(&c);
		like(heard, "^HTTP/1.1 200 OK\r\n", "200");
		like(heard, "\r\nConnection: keep-alive\r\nKeep-Alive: timeout=[0-9]+\r\n", "the connection stays");
		like(heard,
		    i == 1   ? "\"sessions\":1,"
		    : i == 2 ? "\"sessions\":2,"
			     : "\"sessions\":3,",
		    "its own answer");
	}
	web_say(&c, READY);
	sup_until(MSG_HTTP_READY, &m);
	msg_defaults(MSG_READINESS, &r);
	sup_reply(MSG_READINESS, m.id, m.conn, &r);
	msg_clear(&m);
	like(next_answer(&c), "^HTTP/1.1 503 .*Connection: keep-alive", "not ready is an answer like another");
	web_say(&c, LAST);
	tell(&c, 4);
	heard = next_answer(&c);
	like(heard, "\r\nConnection: close\r\n", "who says so has its last answer");
	ok(has_ended(&c), "and the end");
	client_close(&c);
}

/* All in one packet, and the answers come in their order. */
TEST(sends_ahead)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c, HEALTH "HEAD /healthz HTTP/1.1\r\n" HOST "\r\n\r\n" HEALTH LAST);
	tell(&c, 11);
	like(next_answer(&c), "\"sessions\":11,", "the first of four that were sent ahead");
	tell(&c, 12);
	sup_until(
	    MSG_HTTP_HEALTH, &m); /* the next comes only now, and HEAD had no body: the bytes are the next answer's */
	struct msg_box_health_result r = { .sessions = 13 };
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	tell(&c, 14);
	const char *all = web_hear(&c);
	like(all, "^HTTP/1.1 200 OK\r\n.*\r\n\r\nHTTP/1.1 200 OK\r\n.*\"sessions\":13,.*\"sessions\":14,",
	    "then the others, in their order, HEAD without a body");
	unlike(all, "\"sessions\":12,", "as it has to be");
	client_close(&c);
}

/* The next is not even asked before the answer to the first has been given. */
TEST(one_at_a_time)
{
	struct client a = web_open(), b = web_open();
	struct msg    first, m;

	web_say(&a, HEALTH HEALTH);
	sup_until(MSG_HTTP_HEALTH, &first);
	web_say(&b, LAST);
	sup_until(MSG_HTTP_HEALTH, &m);
	cmp_ok(m.conn, "==", b.conn, "a request that was sent ahead waits for the answer before it; others do not");
	struct msg_box_health_result r = { 0 };
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	web_hear(&b);
	sup_reply(MSG_BOX_HEALTH_RESULT, first.id, first.conn, &r);
	sup_until(MSG_HTTP_HEALTH, &m);
	ok(m.conn == a.conn && m.id != first.id, "then it is asked, under an id of its own");
	sup_reply(MSG_BOX_HEALTH_RESULT, first.id, first.conn, &r); /* late */
	sup_fail(m.id, m.conn, E_STATE, "not now");
	msg_clear(&first);
	msg_clear(&m);
	like(next_answer(&a), "^HTTP/1.1 200 ", "the first has its answer");
	like(next_answer(&a), "^HTTP/1.1 503 .*Connection: close.*not now",
	    "and the second its own: an old one is dropped");
	ok(has_ended(&a), "an error ends the connection");
	client_close(&a);
	client_close(&b);
}

/* Whatever stands behind a probe. */
static const char *
behind(const char *words)
{
	static char   text[4096];
	struct client c = web_open();

	web_say(&c, HEALTH "%s", words);
	tell(&c, 0);
	next_answer(&c);
	snprintf(text, sizeof(text), "%s", web_hear(&c));
	client_close(&c);
	return text;
}

TEST(each_is_judged)
{
	like(behind("GET /healthz HTTP/1.1\r\n\r\n"), "^HTTP/1.1 400 .*Host is missing",
	    "the second needs its Host, too");
	like(behind("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "^HTTP/1.1 421 ", "and one of ours");
	like(behind("GET /healthz HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n"), "^HTTP/1.1 403 ",
	    "an origin that is not listed");
	like(behind("POST /healthz HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"), "^HTTP/1.1 413 ", "a body");
	like(behind("GET /nothing HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 .*Connection: close", "no such path");
	like(behind("garbage\r\n\r\n"), "^HTTP/1.1 400 ", "garbage");
	like(behind("\x16\x03\x01 x"), "^HTTP/1.1 400 ", "TLS");
}

TEST(headers_are_its_own)
{
	struct client   c = web_open();
	struct msg_done done;
	struct msg      m;

	web_say(&c, "GET /healthz HTTP/1.1\r\n" HOST "X-LangBot-Box-Control-Token: a secret\r\n\r\n");
	tell(&c, 0);
	next_answer(&c);
	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	is(((const struct msg_http_auth *)m.body)->token, "", "the token of a request is not that of the next");
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	like(web_upgraded(&c), "^HTTP/1.1 101 ", "a WebSocket may follow a probe");
	web_text(&c, "hello");
	ok(web_hears(&c, "hello"), "and works");
	client_close(&c);
}

/* A client that says all it has and closes its side, before the answer or after. */
TEST(half_closed)
{
	struct client c = web_open();

	web_say(&c, HEALTH);
	shutdown(c.fd, SHUT_WR);
	tell(&c, 21);
	like(web_hear(&c), "\"sessions\":21,", "who closes its side behind a request has its answer, and the end");
	client_close(&c);
}

/* A connection that rests makes room before one that speaks, and hears nothing that it could take for an answer. */
TEST(makes_room)
{
	struct client c[STRANGERS], more[2], native = client_open();

	for (int i = 0; i < STRANGERS; i++)
		c[i] = web_open();
	web_say(&c[3], HEALTH);
	tell(&c[3], 0);
	next_answer(&c[3]);
	more[0] = web_open();
	ok(has_ended(&c[3]), "the one that rests makes room, without a word");
	web_say(&c[5], HEALTH);
	tell(&c[5], 0);
	next_answer(&c[5]);
	web_say(&c[5], "GET /hea");
	ok(alive(&native), "a client of the control socket is served"); /* and so those bytes have been read */
	more[1] = web_open();
	like(web_hear(&c[0]), "^HTTP/1.1 503 .*another client", "one in its next request is like one in its first");
	web_say(&c[5], "lthz HTTP/1.1\r\n" HOST "\r\n");
	tell(&c[5], 31);
	like(next_answer(&c[5]), "\"sessions\":31,", "and goes on");
	for (int i = 0; i < STRANGERS; i++)
		client_close(&c[i]);
	client_close(&more[0]);
	client_close(&more[1]);
	client_close(&native);
}

/* All are sent ahead, and no answer is read before the last: neither side waits for the other for ever. */
TEST(has_a_last_request)
{
	struct client c = web_open(), other;

	for (int i = 0; i < LIM_HTTP_REQUESTS; i++)
		web_say(&c, HEALTH);
	for (int i = 0; i < LIM_HTTP_REQUESTS; i++)
		tell(&c, i < LIM_HTTP_REQUESTS - 1 ? 7 : 8);
	const char *all = web_hear(&c);
	const char *last = strstr(all, "\"sessions\":8,"), *close = strstr(all, "Connection: close");
	ok(last != NULL && close != NULL && close < last && strstr(close, "\"sessions\":7,") == NULL,
	    "request %d of a connection is its last, and it says so", LIM_HTTP_REQUESTS);
	client_close(&c);
	other = web_open();
	web_say(&other, HEALTH);
	tell(&other, 9);
	like(next_answer(&other), "\"sessions\":9,", "others are served");
	client_close(&other);
}

/* Both run at once, so this takes as long as the longer one. */
TEST(time_is_up)
{
	struct client rests = web_open(), slow = web_open();

	web_say(&rests, HEALTH);
	tell(&rests, 0);
	next_answer(&rests);
	web_say(&slow, HEALTH);
	tell(&slow, 0);
	next_answer(&slow);
	web_say(&slow, "GET /healthz HTTP/1.1\r\nHost: ");
	like(next_answer(&slow), "^HTTP/1.1 408 ", "a request that does not end is told so");
	ok(has_ended(&rests), "one that rests for too long is closed without a word");
	client_close(&rests);
	client_close(&slow);
}

int
main(void)
{
	struct msg_gateway_start s;

	gate_quiet = true;
	web_plan(&s);
	s.max_unauthenticated = STRANGERS;
	web_start(&s);
	run_tests();
	struct client rests = web_open();
	web_say(&rests, HEALTH);
	tell(&rests, 0);
	next_answer(&rests);
	web_stop();
	ok(has_ended(&rests), "when boxd stops, it is closed without a word");
	client_close(&rests);
	done_testing();
}
