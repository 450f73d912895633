/*
 * Who does not read, who is not read, and who hears nothing any more.  BOX_SLOW=1 adds what takes a minute.
 */
#include "tap.h"
#include "webbox.h"

#define RELAY "/v1/sessions/s/managed-process/p/ws"

enum { PIECE = 64 * 1024, FLOOD = 32 * 1024 * 1024 };

static bool
answers(struct client *c)
{
	web_text(c, "x");
	return web_hears(c, "x");
}

TEST(flood_waits)
{
	struct client c = web_socket(), other = web_socket();
	long          before = proc_kib("VmHWM");
	size_t        got = 0;
	struct frame  f;

	web_text(&c, "flood");
	ok(answers(&other), "another client is served while one does not read");
	while (got < FLOOD && (f = web_next(&c)).first == (OP_FIN | OP_TEXT) && f.n == PIECE)
		got += f.n;
	cmp_ok(got, "==", FLOOD, "32 MiB arrive whole when it reads at last");
	skip(SANITIZED, 1, "the sanitizer keeps what was freed");
	cmp_ok(proc_kib("VmHWM") - before, "<", 16 * 1024, "the guest was held back: memory stays flat");
	end_skip;
	ok(answers(&c), "and the connection goes on");
	client_close(&c);
	client_close(&other);
}

TEST(drowned_is_dropped)
{
	struct client c = web_socket(), other = web_socket();

	web_text(&c, "drown");
	sup_until_gone(c.conn);
	pass("a client for whom too much waits is dropped");
	ok(answers(&other), "another is not");
	client_close(&c);
	client_close(&other);
}

TEST(unread_is_not_read)
{
	struct client c = web_socket(), other = web_socket();
	char         *big = malloc(8 * 1024 * 1024);
	struct msg    m;

	memset(big, 'b', 8 * 1024 * 1024);
	web_frame(&c, OP_FIN | OP_TEXT, big, 8 * 1024 * 1024);
	web_text(&c, "ask");
	web_text(&other, "ask");
	sup_until(MSG_BOX_PING, &m);
	ok(m.conn == other.conn, "with 8 MiB waiting for it a client's next message waits too");
	msg_clear(&m);
	ok(web_next(&c).n == 8 * 1024 * 1024, "it reads");
	sup_until(MSG_BOX_PING, &m);
	ok(m.conn == c.conn, "and is read again");
	msg_clear(&m);
	free(big);
	client_close(&c);
	client_close(&other);
}

/* Release it: anything the supervisor says does. */
static void
release(struct client *c)
{
	struct msg_output o = { .call = 1, .stream = STREAM_STDOUT, .offset = 0, .data = blob_of("x", 1) };

	sup_notice(MSG_OUTPUT, c->conn, &o);
}

TEST(held_guest)
{
	struct client c = web_socket();

	web_text(&c, "hold");
	web_text(&c, "one");
	web_text(&c, "hold");
	web_text(&c, "two");
	web_frame(&c, OP_FIN | OP_PING, "p", 1);
	ok(web_next(&c).first == (OP_FIN | OP_PONG), "a guest that wants nothing gets nothing, but pings are answered");
	release(&c);
	ok(web_hears(&c, "one"), "what waited comes when it is released");
	web_frame(&c, OP_FIN | OP_PING, "p", 1);
	ok(web_next(&c).first == (OP_FIN | OP_PONG), "up to where it holds again");
	release(&c);
	ok(web_hears(&c, "two") && answers(&c), "and in order");
	client_close(&c);
}

TEST(held_guest_fills_up)
{
	struct client c = web_socket();
	char          kib[1024];
	int           sent = 0, back = 0;

	memset(kib, 'k', sizeof(kib));
	web_text(&c, "hold");
	while (poll(&(struct pollfd){ .fd = c.fd, .events = POLLOUT }, 1, 500) == 1 && sent < 64 * 1024) {
		web_frame(&c, OP_FIN | OP_TEXT, kib, sizeof(kib));
		sent++;
	}
	cmp_ok(sent, "<", 64 * 1024, "when enough waits for the guest the client is not read any more");
	release(&c);
	while (back < sent && web_next(&c).n == sizeof(kib))
		back++;
	cmp_ok(back, "==", sent, "and then nothing is lost");
	client_close(&c);
}

TEST(closed_while_held)
{
	struct client      c = web_socket();
	struct msg_closing bye = { .code = "state", .reason = "over" };

	web_text(&c, "hold");
	web_text(&c, "one");
	web_frame(&c, OP_FIN | OP_PING, "p", 1);
	web_next(&c);
	sup_notice(MSG_CLOSING, c.conn, &bye);
	is(web_close_code(&c), "1000 over", "what waits for a guest is dropped when it ends");
	web_frame(&c, OP_FIN | OP_CLOSE, "\x03\xe8", 2);
	ok(web_ends(&c), "and the goodbye is read all the same");
}

/* Each of these takes its time; they run together. */
static void
silence(void)
{
	struct client quiet = web_socket_at(RELAY), dead = web_socket_at(RELAY), rpc = web_socket(),
		      stalled = web_socket();

	web_next(&quiet);
	web_next(&dead);
	web_text(&stalled, "flood");
	ok(web_next(&quiet).first == (OP_FIN | OP_PING), "a relay's client that says nothing is pinged");
	web_frame(&quiet, OP_FIN | OP_PONG, "", 0);
	ok(web_next(&dead).first == (OP_FIN | OP_PING), "another one too");
	ok(web_next(&dead).first == -1, "who does not answer is dropped, without a close frame");
	ok(answers(&quiet), "who answers is not");
	sup_until_gone(stalled.conn);
	pass("who takes not one byte of what waits for it is dropped");
	ok(answers(&rpc), "an rpc client may be silent");
	client_close(&quiet);
	client_close(&dead);
	client_close(&rpc);
	client_close(&stalled);
}

int
main(void)
{
	struct msg_gateway_start s;

	web_plan(&s);
	web_start(&s);
	run_tests();
	if (getenv("BOX_SLOW") != NULL)
		silence();
	web_stop();
	done_testing();
}
