/*
 * From HTTP to WebSocket: the vectors of RFC 6455, what is refused, and what a client that does not wait for the
 * answer gets.
 */
#include "tap.h"
#include "webbox.h"

#define RELAY "/v1/sessions/s/managed-process/p/ws"
#define PLAIN "Host: 127.0.0.1\r\nX-LangBot-Instance-Id: inst-1\r\n"
#define UP "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define V13 "Sec-WebSocket-Version: 13\r\n"
#define KEY "Sec-WebSocket-Key: " WEB_KEY "\r\n"

static void
admit(void)
{
	struct msg_done done;
	struct msg      m;

	sup_until(MSG_HTTP_AUTH, &m);
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
}

/* The answer's head to these headers; the supervisor lets everybody in. */
static const char *
shake(const char *path, const char *headers)
{
	struct client c = web_open();

	web_say(&c, "GET %s HTTP/1.1\r\n" PLAIN "%s\r\n", path, headers);
	admit();
	const char *head = web_upgraded(&c);
	client_close(&c);
	return head;
}

TEST(vectors)
{
	const char *head = shake("/rpc/ws", UP V13 KEY);

	like(head, "^HTTP/1.1 101 Switching Protocols\r\n", "101");
	like(head, "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", "with the headers of the RFC");
	like(head, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\\+xOo=\r\n", "and its vector");
	like(shake("/rpc/ws", UP V13 "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n"),
	    "HSmrc0sMlYUkAGmm5OPpG2HaGWk=", "and another");
	unlike(shake("/rpc/ws", UP V13 KEY), "Protocol:", "no subprotocol");
	unlike(shake("/rpc/ws", UP V13 KEY "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"),
	    "Extensions", "and no extension, whatever is offered");
	like(shake("/rpc/ws", "Upgrade: h2c, WebSocket\r\nConnection: keep-alive, upGRADE\r\n" V13 KEY),
	    "^HTTP/1.1 101 ", "words in any case, among others");
	like(shake("/rpc/ws", "Upgrade: WebSocket\r\nConnection: keep-alive\r\nConnection: Upgrade\r\n" V13 KEY),
	    "^HTTP/1.1 101 ", "and a list in two headers");
}

TEST(subprotocols)
{
	like(shake(RELAY, UP V13 KEY "Sec-WebSocket-Protocol: mcp\r\n"), "\r\nSec-WebSocket-Protocol: mcp\r\n",
	    "a relay selects mcp");
	like(shake(RELAY, UP V13 KEY "Sec-WebSocket-Protocol: chat,mcp\r\nSec-WebSocket-Protocol: b\r\n"),
	    "\r\nSec-WebSocket-Protocol: mcp\r\n", "among others");
	unlike(shake(RELAY, UP V13 KEY "Sec-WebSocket-Protocol: chat, mcpx, MCP\r\n"), "Protocol:", "but no other");
	unlike(shake(RELAY, UP V13 KEY), "Protocol:", "and none when none is offered");
	unlike(shake("/rpc/ws", UP V13 KEY "Sec-WebSocket-Protocol: mcp\r\n"), "Protocol:", "/rpc/ws has none");
}

TEST(plans)
{
	struct client c = web_open();

	web_say(&c, "GET " RELAY " HTTP/1.1\r\n" WEB_UPGRADE "Sec-WebSocket-Protocol: mcp\r\n\r\n");
	admit();
	web_upgraded(&c);
	ok(web_hears(&c, "s p lines 4096"), "the relay is told session, process, framing and limit");
	client_close(&c);
	c = web_socket_at("/v1/sessions/s/managed-process/ws");
	ok(web_hears(&c, "s default raw 4096"), "without mcp: raw");
	client_close(&c);
}

TEST(refusals)
{
	const char *head = shake("/rpc/ws", UP KEY "Sec-WebSocket-Version: 8\r\n");

	like(head, "^HTTP/1.1 426 Upgrade Required\r\n", "426 for another version");
	like(head, "\r\nSec-WebSocket-Version: 13\r\n", "which names ours");
	like(shake("/rpc/ws", UP KEY), "^HTTP/1.1 426 ", "and for none");
	like(shake("/rpc/ws", UP V13), "^HTTP/1.1 400 ", "400 without a key");
	like(shake("/rpc/ws", UP V13 "Sec-WebSocket-Key: c2hvcnQ=\r\n"), "^HTTP/1.1 400 ", "with a short one");
	like(shake("/rpc/ws", UP V13 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!\r\n"), "^HTTP/1.1 400 ",
	    "with one that is not base64");
	like(shake("/rpc/ws", UP V13 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSEh\r\n"), "^HTTP/1.1 400 ",
	    "with one of 18 bytes");
	like(shake("/rpc/ws", "Upgrade: h2c\r\nConnection: Upgrade\r\n" V13 KEY), "^HTTP/1.1 400 ",
	    "400 for an upgrade to something else");
	like(shake("/rpc/ws", "Upgrade: websocket\r\n" V13 KEY), "^HTTP/1.1 400 ", "400 without Connection");
	struct client c = web_open();
	web_say(&c, "GET /rpc/ws HTTP/1.0\r\n" PLAIN UP V13 KEY "\r\n");
	admit();
	like(web_hear(&c), "^HTTP/1.1 400 ", "400 for HTTP/1.0");
	client_close(&c);
	c = web_open();
	web_say(&c, "HEAD /rpc/ws HTTP/1.1\r\n" PLAIN UP V13 KEY "\r\n");
	admit();
	like(web_hear(&c), "^HTTP/1.1 400 .*\r\n\r\n$", "and for HEAD, which has no body");
	client_close(&c);
}

/* Frames behind the request in the same packet, and more while the supervisor thinks. */
TEST(early_frames)
{
	struct client   c = web_open(), other = web_open();
	struct msg_done done;
	struct msg      m;
	uint64_t        id;

	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n\x81\x85%s",
	    "\x01\x01\x01\x01"
	    "idmmn");
	sup_until(MSG_HTTP_AUTH, &m);
	id = m.id;
	msg_clear(&m);
	web_text(&c, "two");
	web_say(&other, "GET /nothing HTTP/1.1\r\n" PLAIN "\r\n");
	like(web_hear(&other), "^HTTP/1.1 404 ", "while one waits for the supervisor others are served");
	sup_reply(MSG_DONE, id, c.conn, &done);
	like(web_upgraded(&c), "^HTTP/1.1 101 ", "a late answer is an answer");
	ok(web_hears(&c, "hello"), "what was sent before it");
	ok(web_hears(&c, "two"), "was kept");
	client_close(&c);
	client_close(&other);
}

TEST(late_for_nobody)
{
	struct client   c = web_open();
	struct msg_done done;
	struct msg      m;

	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	uint64_t id = m.id;
	msg_clear(&m);
	client_close(&c);
	sup_reply(MSG_DONE, id, c.conn, &done);
	c = web_socket();
	web_text(&c, "x");
	ok(web_hears(&c, "x"), "an answer for one that has left disturbs nobody");
	client_close(&c);
}

int
main(void)
{
	struct msg_gateway_start s;

	web_plan(&s);
	s.relay_line_bytes = 4096;
	web_start(&s);
	run_tests();
	web_stop();
	done_testing();
}
