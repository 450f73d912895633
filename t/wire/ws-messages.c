/*
 * Frames and messages of a WebSocket: as LangBot's client cuts them, as any client may, and as none must.
 */
#include "check.h"
#include "tap.h"
#include "webbox.h"

#define RELAY "/v1/sessions/s/managed-process/p/ws"

enum { PIECE = 64 * 1024 };

TEST(text_comes_back)
{
	struct client c = web_socket();
	char          many[70000];
	struct frame  f;

	web_text(&c, "hello");
	ok(web_hears(&c, "hello"), "a small message");
	web_text(&c, "");
	ok(web_hears(&c, ""), "an empty one");
	web_text(&c, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	ok(web_hears(&c, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "characters of two, three and four bytes");
	memset(many, 'x', sizeof(many));
	web_frame(&c, OP_FIN | OP_TEXT, many, 126);
	f = web_next(&c);
	ok(f.first == (OP_FIN | OP_TEXT) && f.n == 126, "126 bytes: a length of two bytes");
	web_frame(&c, OP_FIN | OP_TEXT, many, 65535);
	ok(web_next(&c).n == 65535, "65535 bytes");
	web_frame(&c, OP_FIN | OP_TEXT, many, 65536);
	f = web_next(&c);
	ok(f.n == 65536 && memcmp(f.bytes, many, f.n) == 0, "65536 bytes: a length of eight, in one frame");
	client_close(&c);
}

TEST(byte_by_byte)
{
	static const char frame[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"; /* of RFC 6455, 5.7 */
	struct client     c = web_socket();

	for (size_t i = 0; i < sizeof(frame) - 1; i++)
		say(&c, frame + i, 1);
	ok(web_hears(&c, "Hello"), "the RFC's masked frame, byte by byte");
	say(&c, frame, sizeof(frame) - 1);
	say(&c, frame, sizeof(frame) - 1);
	ok(web_hears(&c, "Hello") && web_hears(&c, "Hello"), "two at once");
	client_close(&c);
}

/* A message of n bytes as websockets' client sends it: pieces of 64 KiB, and an empty one that ends it. */
static void
send_as_langbot(struct client *c, const char *bytes, size_t n)
{
	for (size_t at = 0; at < n; at += PIECE)
		web_frame(c, at == 0 ? OP_TEXT : OP_MORE, bytes + at, n - at < PIECE ? n - at : PIECE);
	web_frame(c, OP_FIN | OP_MORE, "", 0);
}

static char *
letters(size_t n)
{
	char *p = malloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)('a' + i % 26);
	return p;
}

TEST(fragments)
{
	enum { BIG = 1000 * 1000 };
	struct client c = web_socket();
	char         *big = letters(BIG);

	send_as_langbot(&c, big, BIG);
	struct frame f = web_next(&c);
	ok(f.first == (OP_FIN | OP_TEXT) && f.n == BIG && memcmp(f.bytes, big, BIG) == 0,
	    "a message in pieces of 64 KiB with an empty last one comes back in one frame");
	web_frame(&c, OP_TEXT, "\xe2\x82", 2);
	web_frame(&c, OP_FIN | OP_PING, "now", 3);
	web_frame(&c, OP_MORE, "", 0);
	web_frame(&c, OP_FIN | OP_PONG, "unasked", 7);
	web_frame(&c, OP_FIN | OP_MORE, "\xac", 1);
	f = web_next(&c);
	ok(f.first == (OP_FIN | OP_PONG) && f.n == 3 && memcmp(f.bytes, "now", 3) == 0,
	    "a ping between fragments is answered before they end");
	ok(web_hears(&c, "\xe2\x82\xac"), "a character may be cut between them");
	free(big);
	client_close(&c);
}

TEST(pings)
{
	struct client c = web_socket();
	char          full[125];

	memset(full, 'p', sizeof(full));
	web_frame(&c, OP_FIN | OP_PING, full, sizeof(full));
	struct frame f = web_next(&c);
	ok(f.first == (OP_FIN | OP_PONG) && f.n == sizeof(full) && memcmp(f.bytes, full, f.n) == 0,
	    "a pong has what its ping had");
	for (int i = 0; i < 1000; i++)
		web_frame(&c, OP_FIN | OP_PING, "", 0);
	int n = 0;
	while (n < 1000 && web_next(&c).first == (OP_FIN | OP_PONG))
		n++;
	cmp_ok(n, "==", 1000, "each of a thousand is answered");
	client_close(&c);
}

/* The bytes of one frame, by hand; what it is closed with. */
static const char *
closed_by(const char *bytes, size_t n)
{
	struct client c = web_socket();

	say(&c, bytes, n);
	const char *code = web_close_code(&c);
	bool        ends = web_ends(&c);
	return ends ? code : "no end";
}

#define CLOSED(bytes, want, name) like(closed_by(bytes, sizeof(bytes) - 1), "^" want, name)

TEST(broken_frames)
{
	CLOSED("\x81\x02hi", "1002", "an unmasked frame");
	CLOSED("\x83\x80....", "1002", "an opcode that is not used");
	CLOSED("\x8b\x80....", "1002", "nor that of a control frame");
	CLOSED("\xc1\x80....", "1002", "a reserved bit, with no extension agreed on");
	CLOSED("\x80\x80....", "1002", "a continuation of nothing");
	CLOSED("\x01\x80....\x81\x80....", "1002", "a message inside another");
	CLOSED("\x09\x80....", "1002", "a ping in fragments");
	CLOSED("\x89\xfe\x00\x7e....", "1002", "a ping of 126 bytes");
	CLOSED("\x81\xfe\x00\x05....", "1002", "a length that could be shorter");
	CLOSED("\x81\xff\x00\x00\x00\x00\x00\x00\x00\x05....", "1002", "or much shorter");
	CLOSED("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x05....", "1002", "a length of more than 63 bits");
	CLOSED("\x88\x82\x00\x00\x00\x00\x03\xed", "1002", "with a code that must not be sent");
}

TEST(bad_text)
{
	CLOSED("\x81\x81\x00\x00\x00\x00\xff", "1007", "a byte UTF-8 never has");
	CLOSED("\x81\x82\x00\x00\x00\x00\xc0\x80", "1007", "an overlong NUL");
	CLOSED("\x81\x83\x00\x00\x00\x00\xed\xa0\x80", "1007", "half a surrogate pair");
	CLOSED("\x81\x84\x00\x00\x00\x00\xf4\x90\x80\x80", "1007", "more than Unicode has");
	CLOSED("\x81\x82\x00\x00\x00\x00\xe2\x82", "1007", "a character that ends with its message");
	CLOSED(
	    "\x01\x81\x00\x00\x00\x00\xe2\x80\x81\x00\x00\x00\x00x", "1007", "or is broken off by the next fragment");
}

TEST(binary)
{
	struct client c = web_socket();

	web_frame(&c, OP_FIN | OP_BINARY, "\x00\xff", 2);
	like(web_close_code(&c), "^1003", "binary ends an rpc connection");
	client_close(&c);
	c = web_socket_at(RELAY);
	web_next(&c);
	web_frame(&c, OP_BINARY, "\x00\xff", 2);
	web_frame(&c, OP_FIN | OP_MORE, "\xfe", 1);
	web_text(&c, "after");
	ok(web_hears(&c, "after"), "and is not even looked at by a relay");
	client_close(&c);
}

TEST(size_is_bounded)
{
	struct client c = web_socket();
	char         *big = letters(LIM_WS_MESSAGE);
	long          before = proc_kib("VmHWM");
	char          want[32];

	CLOSED("\x81\xff\x00\x00\x00\x00\x01\x00\x00\x00....x", "1009 .*16 MiB",
	    "a claim of 16 MiB is refused at its first byte");
	CLOSED("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff....x", "1009 .*16 MiB", "and one of 8 EiB");
	CLOSED("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff....x", "1009 .*16 MiB", "binary or not");
	CLOSED("\x81\xff\x00\x00\x00\x00\x01\x00\x00\x00", "1009 .*16 MiB", "by its length alone, before any byte");
	CLOSED("\x81\xff\x00\x00\x00\x00\x01\x00\x00\x00....", "1009 .*16 MiB", "or with its mask");
	CLOSED("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", "1009 .*16 MiB", "for binary, too");
	CLOSED("\x01\x82\x00\x00\x00\x00hi\x80\xff\x00\x00\x00\x00\x00\xff\xff\xfe", "1009 .*16 MiB",
	    "or with the fragments before it");
	say(&c, "\x81\xff\x00\x00\x00\x00\x00\xff\xff\xff\x00\x00\x00\x00", 14);
	struct client other = web_socket();
	web_text(&other, "x");
	ok(web_hears(&other, "x"), "a claim of a byte less is read on");
	cmp_ok(proc_kib("VmHWM") - before, "<", 4096, "and takes no memory");
	client_close(&c);
	client_close(&other);

	c = web_socket();
	web_text(&c, "size");
	send_as_langbot(&c, big, LIM_WS_MESSAGE - 1);
	snprintf(want, sizeof(want), "%lu", LIM_WS_MESSAGE - 1);
	ok(web_hears(&c, want), "a message of 16 MiB less one byte is taken");
	web_frame(&c, OP_TEXT, big, LIM_WS_MESSAGE - 1);
	web_frame(&c, OP_FIN | OP_MORE, "x", 1);
	like(web_close_code(&c), "^1009 .*16 MiB", "one byte more, in whatever frame, is too much");
	client_close(&c);
	free(big);
}

TEST(fragments_are_bounded)
{
	struct client c = web_socket();

	web_text(&c, "size");
	web_frame(&c, OP_TEXT, "x", 1);
	for (int i = 2; i < LIM_WS_FRAGMENTS; i++)
		web_frame(&c, OP_MORE, "x", 1);
	web_frame(&c, OP_FIN | OP_MORE, "", 0);
	ok(web_hears(&c, "4095"), "a message of 4096 fragments is taken");
	web_frame(&c, OP_TEXT, "x", 1);
	for (int i = 1; i < LIM_WS_FRAGMENTS; i++)
		web_frame(&c, OP_MORE, "", 0);
	web_frame(&c, OP_FIN | OP_MORE, "", 0);
	like(web_close_code(&c), "^1009 .*4096 fragments", "of one more is not");
	client_close(&c);
}

TEST(asks_in_its_name)
{
	struct client   c = web_socket();
	struct msg_done done;
	struct msg      m;

	web_text(&c, "ask");
	sup_until(MSG_BOX_PING, &m);
	cmp_ok(m.conn, "==", c.conn, "what the guest asks carries the connection's id");
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	ok(web_hears(&c, "1 done"), "and is answered");
	web_text(&c, "ask");
	sup_until(MSG_BOX_PING, &m);
	sup_fail(m.id, m.conn, E_CAPACITY, "full");
	msg_clear(&m);
	ok(web_hears(&c, "2 capacity"), "errors too");
	client_close(&c);
}

/* Any bytes behind a good handshake: whatever they do, the gateway lives. */
TEST(noise)
{
	char bytes[512];

	for (int i = 0; i < 200; i++) {
		struct client c = web_socket();

		rnd_bytes(bytes, sizeof(bytes));
		say(&c, bytes, sizeof(bytes));
		client_close(&c);
	}
	struct client c = web_socket();
	web_text(&c, "still here");
	ok(web_hears(&c, "still here"), "noise on 200 connections harms nobody else");
	client_close(&c);
}

int
main(void)
{
	struct msg_gateway_start s;

	web_plan(&s);
	web_start(&s);
	run_tests();
	web_stop();
	done_testing();
}
