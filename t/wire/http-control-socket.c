/*
 * The control socket speaks both: the first byte tells HTTP from MessagePack.
 */
#include "tap.h"
#include "webbox.h"

/* Its second announcement: the id it has as an HTTP client. */
static uint64_t
comes_again(uint64_t native)
{
	struct msg m;

	sup_until(MSG_CONN_OPEN, &m);
	const struct msg_conn_open *open = m.body;
	uint64_t                    conn = open->speaks == SPEAKS_HTTP ? m.conn : 0;
	msg_clear(&m);
	ok(is_gone(native), "the native connection is gone");
	cmp_ok(conn, ">", native, "and comes again as HTTP, under another id");
	return conn;
}

static void
probes(void)
{
	struct client                c = client_open();
	struct msg_box_health_result r = { 0 };
	struct msg                   m;

	web_say(&c, "G");
	c.conn = comes_again(c.conn);
	web_say(&c, "ET /healthz HTTP/1.1\r\n\r\n");
	sup_until(MSG_HTTP_HEALTH, &m);
	cmp_ok(m.conn, "==", c.conn, "no Host is needed here");
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	like(web_hear(&c), "^HTTP/1.1 200 ", "and a probe is answered");
	client_close(&c);
}

static void
websockets(void)
{
	struct client   c = client_open();
	struct msg_done done;
	struct msg      m;

	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	c.conn = comes_again(c.conn);
	sup_until(MSG_HTTP_AUTH, &m);
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	like(web_upgraded(&c), "^HTTP/1.1 101 ", "a WebSocket stands on it");
	web_text(&c, "hello");
	ok(web_hears(&c, "hello"), "and talks");
	client_close(&c);
}

static void
still_strict(void)
{
	struct client c = client_open();

	web_say(&c, "GET /x HTTP/1.1\r\nHost: whatever.example\r\nOrigin: https://evil.example\r\n\r\n");
	c.conn = comes_again(c.conn);
	like(web_hear(&c), "^HTTP/1.1 403 ", "any Host, but no web page");
	client_close(&c);
	c = client_open();
	web_say(&c, "HELLO\r\n\r\n");
	c.conn = comes_again(c.conn);
	like(web_hear(&c), "^HTTP/1.1 400 ", "what only looks like HTTP is refused as such");
	client_close(&c);
	CLOSES("hello\r\n", "not a MessagePack-RPC message", "small letters are not HTTP");
	c = client_open();
	ok(alive(&c), "a native client after all that");
	say(&c, "GET / HTTP/1.1\r\n\r\n", 18);
	like(last_words(&c, "protocol"), "not a MessagePack-RPC message", "cannot change its mind later");
	client_close(&c);
}

static void
refused_by_the_supervisor(void)
{
	struct msg_closing bye = { .code = "denied", .reason = "not you" };
	struct client      c = client_open();
	uint64_t           native = c.conn;

	web_say(&c, "GET /healthz HTTP/1.1\r\n\r\n");
	c.conn = comes_again(native);
	sup_notice(MSG_CLOSING, native, &bye);
	sup_notice(MSG_CLOSING, c.conn, &bye);
	like(web_hear(&c), "^HTTP/1.1 403 .*403: not you$", "who may not use this boxd hears so in its own words");
	client_close(&c);
}

/* LangBot's door may be missing. */
static void
without_tcp(void)
{
	struct client c;
	struct msg    m;

	start(gate_jail, GATEWAY_UID, MAX_CONNECTIONS);
	sup_until(MSG_GATEWAY_READY, &m);
	msg_clear(&m);
	c = client_open();
	web_say(&c, "GET /x HTTP/1.1\r\n\r\n");
	c.conn = comes_again(c.conn);
	like(web_hear(&c), "^HTTP/1.1 404 ", "the same without LangBot's door");
	client_close(&c);
}

int
main(void)
{
	struct msg_gateway_start s;

	web_plan(&s);
	web_start(&s);
	probes();
	websockets();
	still_strict();
	refused_by_the_supervisor();
	cmp_ok(exit_of_gateway(), "==", 0, "it ends");
	without_tcp();
	web_stop();
	done_testing();
}
