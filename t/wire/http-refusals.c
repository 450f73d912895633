/*
 * HTTP that is not taken: too long, too late, too many, with two readings, from where it must not come.
 */
#include "base/fd.h"
#include "check.h"
#include "tap.h"
#include "webbox.h"

#define HOST "Host: localhost\r\n"

/* How many strangers may be inside. */
enum { STRANGERS = 6 };

TEST(hosts)
{
	static const char *const ours[] = { "localhost", "LOCALHOST:80", "127.0.0.1", "10.1.2.3:5410", "[::1]",
		"[fe80::1]:5410", "box.example", "Box.Example:5410" };
	static const char *const others[] = { "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
		"[::1", "[::1]x", "[evil]", "::1", "localhost:x", "localhost:123456", "user@localhost", "box.example.",
		"box.example:80:90" };
	char                     words[256];

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		snprintf(words, sizeof(words), "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", ours[i]);
		like(web_ask(words), "^HTTP/1.1 404 ", "'%s' is us", ours[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		snprintf(words, sizeof(words), "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", others[i]);
		like(web_ask(words), "^HTTP/1.1 421 .*http_hosts", "'%s' is not", others[i]);
	}
	like(web_ask("GET /healthz HTTP/1.1\r\n\r\n"), "^HTTP/1.1 400 .*Host is missing", "nor is nobody");
	like(web_ask("GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n"), "^HTTP/1.1 421 ", "in HTTP/1.0 neither");
}

TEST(origins)
{
	like(web_ask("GET /rpc/ws HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n"),
	    "^HTTP/1.1 403 .*http_origins", "a web page may not come in");
	like(web_ask("GET /rpc/ws HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n"), "^HTTP/1.1 403 ", "nor one from nowhere");
	like(web_ask("GET /rpc/ws HTTP/1.1\r\n" HOST "Origin:\r\n\r\n"), "^HTTP/1.1 403 ", "nor one that does not say");
	like(web_ask("GET /x HTTP/1.1\r\n" HOST "Origin: https://good.example\r\n\r\n"), "^HTTP/1.1 404 ",
	    "unless it is listed");
}

TEST(two_readings)
{
	static const struct {
		const char *words, *status, *name;
	} rows[] = {
		{ "GET /healthz HTTP/1.1\r\n" HOST HOST "\r\n", "400", "two hosts" },
		{ "GET /x HTTP/1.1\r\n" HOST "X-LangBot-Box-Control-Token: a\r\nx-langbot-box-control-token: b\r\n\r\n",
		    "400", "two tokens" },
		{ "GET /x HTTP/1.1\r\n" HOST "X-LangBot-Instance-Id: a\r\nX-LangBot-Instance-Id: a\r\n\r\n", "400",
		    "two instances" },
		{ "GET /x HTTP/1.1\r\n" HOST "Origin: https://good.example\r\nOrigin: x\r\n\r\n", "400",
		    "two origins" },
		{ "GET /x HTTP/1.1\r\n" HOST "Sec-WebSocket-Key: a\r\nSec-WebSocket-Key: b\r\n\r\n", "400",
		    "two keys" },
		{ "POST /healthz HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", "413", "a body" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", "413", "of a GET" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "413", "in chunks" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n", "4", "encoded otherwise" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "400",
		    "two lengths" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", "400", "a length below nothing" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "400",
		    "a length and chunks" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET /readyz HTTP/1.1\r\n\r\n", "400",
		    "a request behind the last" },
		{ "GET /healthz HTTP/1.0\r\n\r\nGET /readyz HTTP/1.0\r\n\r\n", "400", "two requests of HTTP/1.0" },
		{ "GET http://localhost/healthz HTTP/1.1\r\n" HOST "\r\n", "400", "a target with a host" },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "400", "a target that is a star" },
		{ "CONNECT localhost:80 HTTP/1.1\r\n" HOST "\r\n", "400", "a tunnel" },
		{ "GET /x#y HTTP/1.1\r\n" HOST "\r\n", "400", "a fragment" },
		{ "GET /healthz HTTP/2.0\r\n" HOST "\r\n", "505", "another version" },
		{ "GET /healthz HTTP/0.9\r\n" HOST "\r\n", "505", "an old version" },
		{ "GET /healthz\r\n\r\n", "505", "no version" },
		{ "GARBAGE /healthz HTTP/1.1\r\n\r\n", "400", "no method" },
		{ "get /healthz HTTP/1.1\r\n\r\n", "400", "in small letters" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "X Y: z\r\n\r\n", "400", "a name with a space" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "X-LangBot-Instance-Id : z\r\n\r\n", "400",
		    "a space before the colon" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "no colon\r\n\r\n", "400", "no colon" },
		{ "GET /healthz HTTP/1.1\r\n" HOST ": nameless\r\n\r\n", "400", "no name" },
		{ "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n", "400", "a target that is not ASCII" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Connection: x, close\r\n\r\nX", "400", "a byte too many" },
		{ "GET /healthz HTTP/1.1\r\n" HOST "\rX", "400", "headers that end otherwise" },
		{ "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400", "TLS where there is none" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char regex[32];
		snprintf(regex, sizeof(regex), "^HTTP/1.1 %s", rows[i].status);
		like(web_ask(rows[i].words), regex, "%s", rows[i].name);
	}
}

/* NUL cannot be in a C string: by hand. */
TEST(nul)
{
	static const char words[] = "GET /healthz HTTP/1.1\r\n" HOST "X-LangBot-Instance-Id: a\0b\r\n\r\n";
	struct client     c = web_open();

	say(&c, words, sizeof(words) - 1);
	like(web_hear(&c), "^HTTP/1.1 400 ", "NUL in a value");
	client_close(&c);
}

TEST(percent)
{
	static const char *const bad[] = { "%", "%2", "%zz", "a%00b", "%ff", "%c0%80", "%ed%a0%80" };
	char                     words[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(
		    words, sizeof(words), "GET /v1/sessions/%s/managed-process/p/ws HTTP/1.1\r\n" HOST "\r\n", bad[i]);
		like(web_ask(words), "^HTTP/1.1 400 .*percent-encoded", "'%s' in a path", bad[i]);
		snprintf(
		    words, sizeof(words), "GET /v1/sessions/s/managed-process/%s/ws HTTP/1.1\r\n" HOST "\r\n", bad[i]);
		like(web_ask(words), "^HTTP/1.1 400 ", "and behind it");
	}
}

TEST(length)
{
	char          many[LIM_HTTP_HEADER + 1024];
	struct client c = web_open();

	memset(many, 'a', sizeof(many));
	web_say(&c, "GET /x HTTP/1.1\r\n" HOST "X: %.*s\r\n\r\n", (int)LIM_HTTP_HEADER - 1000, many);
	like(web_hear(&c), "^HTTP/1.1 404 ", "15 KiB of headers are taken");
	client_close(&c);
	c = web_open();
	web_say(&c, "GET /x HTTP/1.1\r\n" HOST "X: %.*s\r\n\r\n", (int)sizeof(many), many);
	like(web_hear(&c), "^HTTP/1.1 431 ", "17 KiB are not, though all of them were sent");
	client_close(&c);
	c = web_open();
	web_say(&c, "GET /%.*s", (int)LIM_HTTP_HEADER, many);
	like(web_hear(&c), "^HTTP/1.1 431 ", "nor so long a target, before it ends");
	client_close(&c);
	c = web_open();
	web_say(&c, "GET /x HTTP/1.1\r\n");
	for (int i = 0; i < 2000; i++)
		web_say(&c, "X-%d: y\r\n", i);
	like(web_hear(&c), "^HTTP/1.1 431 ", "nor so many headers");
	client_close(&c);
}

TEST(pieces)
{
	static const char words[] = "GET /x HTTP/1.1\r\n" HOST "X-LangBot-Instance-Id: i\r\n\r\n";
	struct client     c = web_open();

	for (size_t i = 0; i < sizeof(words) - 1; i++)
		say(&c, words + i, 1);
	like(web_hear(&c), "^HTTP/1.1 404 ", "a request may come byte by byte");
	client_close(&c);
}

/* Its request is there, and boxd is asked who it is. */
static struct client
asking(void)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	msg_clear(&m);
	return c;
}

static bool
is_open(const struct client *c)
{
	char b;

	return recv(c->fd, &b, 1, MSG_PEEK | MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

TEST(strangers)
{
	struct client asks = asking(), c[STRANGERS], known = web_socket();

	for (int i = 0; i < STRANGERS - 1; i++)
		c[i] = web_open();
	c[STRANGERS - 1] = web_open();
	like(web_hear(&c[0]), "^HTTP/1.1 503 .*another client needed this place",
	    "all places are taken: the oldest that has asked nothing makes room");
	ok(is_open(&asks), "though one that has asked is older");
	web_text(&known, "x");
	ok(web_hears(&known, "x"), "who is known is not disturbed");
	struct client native = client_open();
	ok(alive(&native), "nor is the control socket");
	client_close(&native);
	web_say(&c[1], "GET /x\r\n\r\n");
	like(web_hear(&c[1]), "^HTTP/1.1 505 ", "one is answered, and does not leave");
	client_close(&c[0]);
	c[0] = web_socket();
	ok(is_open(&c[2]), "it makes room before one that was not");
	client_close(&asks);
	client_close(&known);
	for (int i = 0; i < STRANGERS; i++)
		client_close(&c[i]);
}

/* All places taken by clients that are being asked about: those go without a word. */
TEST(guesses)
{
	struct client c[STRANGERS];

	for (int i = 0; i < STRANGERS; i++)
		c[i] = asking();
	struct client late = web_socket();
	is(web_hear(&c[0]), "", "a guess that makes room for another client hears nothing");
	ok(is_open(&c[1]), "the next waits on");
	client_close(&late);
	for (int i = 0; i < STRANGERS; i++)
		client_close(&c[i]);
}

/* One that is not a stranger. */
static struct client
web_or_native(int i)
{
	struct client c = i % 2 == 0 ? web_socket() : client_open();

	if (i % 2 != 0 && !alive(&c))
		fail("connection %d", i);
	return c;
}

TEST(everybody)
{
	struct client c[MAX_CONNECTIONS], more = { 0 };

	for (int i = 0; i < MAX_CONNECTIONS; i++)
		c[i] = web_or_native(i);
	more.fd = web_dial();
	like(web_hear(&more), "^HTTP/1.1 503 .*too many connections",
	    "connections of both listeners are counted together");
	client_close(&more);
	more = (struct client){ .fd = dial() };
	like(last_words(&more, "busy"), "too many connections", "and refused at both");
	client_close(&more);
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		client_close(&c[i]);
}

static void
strangers_make_room_for_natives(void)
{
	struct client c[MAX_CONNECTIONS], native;

	for (int i = 0; i < MAX_CONNECTIONS; i++)
		c[i] = i < STRANGERS ? web_open() : web_or_native(i);
	native = client_open();
	ok(alive(&native), "all places are taken: a client of the control socket gets that of a stranger");
	like(web_hear(&c[0]), "^HTTP/1.1 503 ", "of the oldest");
	client_close(&native);
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		client_close(&c[i]);
}

/* Neither listener gets the last eighth, and strangers make room for clients of the control socket. */
TEST(shares)
{
	struct client c[MAX_CONNECTIONS], more = { 0 };
	int           n = MAX_CONNECTIONS - MAX_CONNECTIONS / 8;

	for (int i = 0; i < n; i++)
		c[i] = web_socket();
	more.fd = web_dial();
	like(web_hear(&more), "^HTTP/1.1 503 .*too many connections", "LangBot's door does not get the last places");
	client_close(&more);
	c[n] = client_open();
	ok(alive(&c[n]), "they are for the control socket");
	for (int i = 0; i <= n; i++)
		client_close(&c[i]);
	for (int i = 0; i < n; i++)
		if (c[i] = client_open(), !alive(&c[i]))
			fail("connection %d", i);
	more = (struct client){ .fd = dial() };
	like(last_words(&more, "busy"), "too many connections", "nor does the control socket");
	client_close(&more);
	c[n] = web_open();
	client_close(&c[0]);
	c[0] = client_open();
	ok(alive(&c[0]) && is_open(&c[n]), "there is room for a stranger");
	for (int i = 0; i <= n; i++)
		client_close(&c[i]);
	strangers_make_room_for_natives();
}

TEST(noise)
{
	char bytes[2048];

	for (int i = 0; i < 300; i++) {
		struct client c = web_open();
		size_t        n = 1 + rnd() % sizeof(bytes);

		rnd_bytes(bytes, n);
		if (i % 2 == 0)
			web_say(&c, "GET /rpc/ws HTTP/1.1\r\n");
		say(&c, bytes, n);
		client_close(&c);
	}
	like(
	    web_ask("GET /x HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ", "noise on 300 connections harms nobody else");
}

/* All three run at once, so this takes as long as one. */
TEST(silence)
{
	struct client mute = web_open(), slow = web_open(), asked = web_open();
	struct msg    m;

	web_say(&slow, "GET /healthz HTTP/1.1\r\nHost: ");
	web_say(&asked, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
	sup_until(MSG_HTTP_HEALTH, &m);
	like(web_hear(&mute), "^HTTP/1.1 408 ", "who says nothing is told that it was too long");
	like(web_hear(&slow), "^HTTP/1.1 408 ", "who does not end its headers too");
	struct msg_box_health_result r = { 0 };
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	like(web_hear(&asked), "^HTTP/1.1 200 ", "who waits for us may wait");
	client_close(&mute);
	client_close(&slow);
	client_close(&asked);
}

int
main(void)
{
	const char              *names[] = { "box.example", NULL }, *pages[] = { "https://good.example", NULL };
	struct msg_gateway_start s;

	gate_quiet = true;
	web_plan(&s);
	s.hosts = (struct strs){ 1, names };
	s.origins = (struct strs){ 1, pages };
	s.max_unauthenticated = STRANGERS;
	web_start(&s);
	run_tests();
	web_stop();
	done_testing();
}
