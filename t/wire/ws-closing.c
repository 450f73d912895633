/*
 * How a WebSocket ends: by the client, by its guest, by the supervisor, with boxd, and when the other side does not
 * play along.
 */
#include "tap.h"
#include "webbox.h"

static void
client_says_goodbye(void)
{
	struct client c = web_socket();

	web_frame(&c, OP_FIN | OP_CLOSE,
	    "\x03\xe8"
	    "done",
	    6);
	is(web_close_code(&c), "1000 done", "a client's close frame is answered with its own code and reason");
	ok(web_ends(&c), "and then we close, and the supervisor is told");
	c = web_socket();
	web_frame(&c, OP_FIN | OP_CLOSE, "", 0);
	struct frame f = web_next(&c);
	ok(f.first == (OP_FIN | OP_CLOSE) && f.n == 0, "one without a code by one without");
	ok(web_ends(&c), "and the end");
	c = web_socket();
	web_text(&c, "last");
	web_frame(&c, OP_FIN | OP_CLOSE, "\x03\xe8", 2);
	web_text(&c, "too late");
	ok(web_hears(&c, "last"), "what came before it is answered");
	like(web_close_code(&c), "^1000", "what comes behind it is not");
	ok(web_ends(&c), "and the end");
}

static void
guest_says_goodbye(void)
{
	struct client c = web_socket();

	web_text(&c, "bye");
	web_text(&c, "not heard");
	is(web_close_code(&c), "1000 bye", "a guest's goodbye");
	web_frame(&c, OP_FIN | OP_PING, "p", 1);
	web_frame(&c, OP_FIN | OP_CLOSE, "\x03\xe8", 2);
	ok(web_ends(&c), "is over when the client has answered; nothing else is");
	c = web_socket();
	web_text(&c, "bye");
	web_close_code(&c);
	say(&c, "\x81\x02hi", 4);
	ok(web_ends(&c), "or when it answers with nonsense");
}

static void
client_just_leaves(void)
{
	struct client c = web_socket();

	shutdown(c.fd, SHUT_RDWR);
	client_close(&c);
	pass("a client that leaves without a word is gone");
	c = web_socket();
	say(&c, "\x81\x85\x01\x02", 4);
	client_close(&c);
	pass("also inside a frame");
}

static const char *
closed_for(const char *code, const char *reason)
{
	struct client      c = web_socket();
	struct msg_closing bye = { .code = code, .reason = reason };

	sup_notice(MSG_CLOSING, c.conn, &bye);
	const char *told = web_close_code(&c);
	web_frame(&c, OP_FIN | OP_CLOSE, "\x03\xe8", 2);
	return web_ends(&c) ? told : "no end";
}

static void
supervisor_says_goodbye(void)
{
	char many[300];

	is(closed_for("state", "stale generation"), "1000 stale generation",
	    "closing is a close frame with its reason");
	is(closed_for("shutting_down", "boxd is stopping"), "1001 Box runtime shutting down", "when boxd stops, 1001");
	is(closed_for("denied", "not any more"), "1008 not any more", "when it is not let in any more, 1008");
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	memcpy(many + 122, "\xc3\xa9", 2);
	const char *told = closed_for("state", many);
	cmp_ok(strlen(told), "==", strlen("1000 ") + 122, "a long reason is cut, between characters");
}

static void
does_not_answer(void)
{
	struct client c = web_socket();

	web_text(&c, "bye");
	is(web_close_code(&c), "1000 bye", "a client that does not answer a close frame");
	sup_until_gone(c.conn);
	pass("is dropped after a while");
	client_close(&c);
}

static void
come_and_go(int n)
{
	for (int i = 0; i < n; i++) {
		struct client c = web_socket();

		web_text(&c, i % 3 == 0 ? "hold" : "x");
		if (i % 2 == 0)
			web_text(&c, "bye");
		client_close(&c);
		web_ask("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
		gate_ngone = 0; /* there are more than it remembers */
	}
}

static void
nothing_stays(int fds)
{
	come_and_go(200);
	long before = proc_kib("VmRSS");

	come_and_go(1000);
	cmp_ok(proc_fds_settled(fds), "<=", fds, "a thousand WebSockets that came and went have left no descriptor");
	skip(SANITIZED, 1, "the sanitizer keeps what was freed");
	cmp_ok(proc_kib("VmRSS") - before, "<", 512, "and no memory");
	end_skip;
}

static void
boxd_stops(void)
{
	struct msg_http_go_away none;
	struct client           c = web_socket(), relay = web_socket_at("/v1/sessions/s/managed-process/p/ws");
	struct client           stranger = web_open(), native = client_open(), late = { 0 };

	web_next(&relay);
	sup_notice(MSG_HTTP_GO_AWAY, 0, &none);
	is(web_close_code(&c), "1001 Box runtime shutting down", "when boxd stops its WebSockets are told");
	is(web_close_code(&relay), "1001 Box runtime shutting down", "relays too");
	like(web_hear(&stranger), "^HTTP/1.1 503 .*shutting down", "and who has not asked yet");
	late.fd = web_dial();
	like(web_hear(&late), "^HTTP/1.1 503 .*shutting down", "and who comes now");
	ok(alive(&native), "the control socket stays, to see the end");
	web_frame(&c, OP_FIN | OP_CLOSE, "\x03\xe9", 2);
	ok(web_ends(&c), "the goodbye is answered in order");
	client_close(&relay);
	client_close(&stranger);
	client_close(&native);
	client_close(&late);
	cmp_ok(exit_of_gateway(), "==", 0, "the gateway ends");
}

static void
supervisor_dies(void)
{
	struct client c;
	struct msg    m;

	start_with(&(struct msg_gateway_start){ .http = -1,
	    .chroot = gate_jail,
	    .uid = GATEWAY_UID,
	    .max_connections = MAX_CONNECTIONS,
	    .max_unauthenticated = 4,
	    .max_rpc_file_bytes = 1,
	    .relay_line_bytes = 1024 });
	sup_until(MSG_GATEWAY_READY, &m);
	msg_clear(&m);
	c = client_open();
	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	sup_reply(MSG_DONE, m.id, m.conn, &(struct msg_done){});
	msg_clear(&m);
	web_upgraded(&c);
	cmp_ok(exit_of_gateway(), "==", 0, "when the supervisor is gone the gateway ends");
	is(web_close_code(&c), "1001 Box runtime shutting down", "and its WebSockets are told even then");
	ok(web_next(&c).first == -1, "and see the end");
	c.conn = 0;
	client_close(&c);
}

int
main(void)
{
	struct msg_gateway_start s;

	web_plan(&s);
	web_start(&s);
	int fds = proc_fds(); /* nobody is there yet */
	client_says_goodbye();
	guest_says_goodbye();
	client_just_leaves();
	supervisor_says_goodbye();
	does_not_answer();
	nothing_stays(fds);
	boxd_stops();
	supervisor_dies();
	gate_close();
	done_testing();
}
