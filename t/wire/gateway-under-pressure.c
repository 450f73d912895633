/*
 * What the gateway does when there is too much of something: requests, bytes, clients,
 * silence.  BOX_SLOW=1 adds what takes half a minute.
 */
#include "base/fd.h"
#include "base/memfd.h"
#include "gatebox.h"
#include "tap.h"

static void
requests_in_flight_are_bounded(void)
{
	struct client            c = client_open();
	struct msg_status        none;
	struct msg_status_result r;
	struct msg               m;

	for (int i = 0; i < LIM_CONN_INFLIGHT; i++)
		call(&c, MSG_STATUS, &none);
	for (int i = 0; i < LIM_CONN_INFLIGHT; i++) {
		sup_until(MSG_STATUS, &m);
		msg_clear(&m);
	}
	call(&c, MSG_STATUS, &none);
	like(refusal(&c, "busy"), "max 128 requests in flight", "the 129th request in flight is refused");
	ok(alive(&c), "ping is exempt");
	msg_defaults(MSG_STATUS_RESULT, &r);
	r.version = "test";
	sup_reply(MSG_STATUS_RESULT, 77, c.conn, &r);
	ok(hear(&c, &m) && m.id == 77, "replies come in the supervisor's order");
	msg_clear(&m);
	call(&c, MSG_STATUS, &none);
	sup_until(MSG_STATUS, &m);
	ok(m.id == c.id && m.conn == c.conn, "and make room for another request");
	msg_clear(&m);
	sup_reply(MSG_STATUS_RESULT, 77, c.conn, &r);
	sup_reply(MSG_STATUS_RESULT, 78, c.conn + 5000, &r);
	ok(alive(&c), "replies nobody waits for are dropped");
	sup_reply(MSG_DONE, 78, c.conn, &(struct msg_done){});
	c.id = 78;
	like(refusal(&c, "crashed"), "status_result.version: missing", "a reply of the wrong kind becomes an error");
	client_close(&c);
}

/* More pings than the gateway keeps track of at once: it reads on when some are answered. */
static void
pings_are_not_lost(void)
{
	enum { MANY = 5000 };
	struct client   c = client_open();
	struct msg_ping none;
	struct packet   p = { .stream = true };
	struct err      e;
	struct msg      m;
	int             right = 0;

	for (int i = 0; i < MANY; i++)
		msg_encode(&p, MSG_PING, ++c.id, 0, &none, &e);
	say_buf(&c, &p.bytes);
	for (int i = 0; i < MANY; i++)
		answer_ping();
	for (uint64_t i = 1; i <= MANY && hear(&c, &m); i++) {
		right += m.id == i && !m.failed;
		msg_clear(&m);
	}
	cmp_ok(right, "==", MANY, "%d pings at once are all answered", MANY);
	client_close(&c);
}

static void
send_output(uint64_t conn, const char *bytes, size_t n, uint64_t offset)
{
	struct msg_output o = { .call = 1, .stream = STREAM_STDOUT, .offset = offset, .data = blob_of(bytes, n) };

	sup_notice(MSG_OUTPUT, conn, &o);
}

static void
who_does_not_read_is_not_read(void)
{
	struct client c = client_open(), other = client_open();
	char         *bytes = calloc(1, LIM_WINDOW);
	struct msg    m;
	int           heard = 0;

	ok(alive(&c) && alive(&other), "two clients");
	for (uint64_t i = 0; i < 3; i++)
		send_output(c.conn, bytes, LIM_WINDOW, i * LIM_WINDOW);
	ok(alive(&other), "the gateway has handled 12 MiB for one that does not read");
	call_ping(&c);
	call_ping(&other);
	sup_until(MSG_PING, &m);
	ok(m.conn == other.conn, "its next request waits, another client's does not");
	msg_clear(&m);
	for (int i = 0; i < 3 && hear(&c, &m); i++) {
		heard += m.type == MSG_OUTPUT;
		msg_clear(&m);
	}
	cmp_ok(heard, "==", 3, "it reads at last");
	sup_until(MSG_PING, &m);
	ok(m.conn == c.conn, "and is read again");
	msg_clear(&m);
	free(bytes);
	client_close(&c);
	client_close(&other);
}

static void
slow_reader_is_dropped(void)
{
	struct client slow = client_open(), other = client_open();
	char         *bytes = calloc(1, LIM_WINDOW);
	bool          answered = true;

	ok(alive(&slow), "a client that will not read");
	for (uint64_t i = 0; !is_gone(slow.conn); i++) {
		send_output(slow.conn, bytes, LIM_WINDOW, i * LIM_WINDOW);
		answered = answered && alive(&other);
	}
	pass("is dropped when too much waits for it");
	ok(answered, "another one was answered all the time");
	while (client_read(&slow))
		buf_clear(&slow.in);
	pass("it sees the end");
	free(bytes);
	client_close(&slow);
	client_close(&other);
}

static void
connections_are_bounded(void)
{
	struct client c[MAX_CONNECTIONS], more = { 0 };

	for (int i = 0; i < MAX_CONNECTIONS; i++)
		if (c[i] = client_open(), !alive(&c[i]))
			fail("connection %d", i);
	more.fd = dial();
	like(last_words(&more, "busy"), "too many connections", "one client too many is told so");
	client_close(&more);
	ok(alive(&c[0]) && alive(&c[MAX_CONNECTIONS - 1]), "the others stay");
	client_close(&c[0]);
	c[0] = client_open();
	pass("when one has left another may come");
	cmp_ok(c[0].conn, ">", c[MAX_CONNECTIONS - 1].conn, "with an id of its own");
	more = client_open();
	ok(alive(&more), "and also when all have come and one has not asked anything");
	like(last_words(&c[0], "busy"), "another client needed this place", "which makes room for it");
	client_close(&more);
	for (int i = 0; i < MAX_CONNECTIONS; i++)
		client_close(&c[i]);
}

/* The supervisor's copy of a socket keeps it alive; closed ones must not cost the loop its peace. */
static void
held_copies_do_no_harm(void)
{
	int           kept[8];
	struct client c;
	struct msg    m;

	for (int i = 0; i < 8; i++) {
		int fd = dial();
		sup_until(MSG_CONN_OPEN, &m);
		kept[i] = msg_take_fd(&m, ((const struct msg_conn_open *)m.body)->peer);
		uint64_t conn = m.conn;
		msg_clear(&m);
		close(fd);
		sup_until_gone(conn);
	}
	c = client_open();
	ok(alive(&c), "clients come and go while the supervisor holds copies of closed sockets");
	for (int i = 0; i < 8; i++)
		close(kept[i]);
	ok(alive(&c), "and when it lets them go");
	client_close(&c);
}

/* The supervisor looks away; nothing is lost, and nobody is refused. */
static void
congestion_passes(void)
{
	enum { CLIENTS = 8, EACH = 1500 };
	struct client         c[CLIENTS];
	struct msg_output_ack ack = { .call = 1, .stream = STREAM_STDOUT };
	struct packet         p = { .stream = true };
	struct err            e;
	struct msg            m;
	uint64_t              next[CLIENTS] = { 0 };
	int                   in_order = 0;

	for (int i = 0; i < EACH; i++) {
		ack.offset = (uint64_t)i;
		msg_encode(&p, MSG_OUTPUT_ACK, 0, 0, &ack, &e);
	}
	for (int i = 0; i < CLIENTS; i++)
		c[i] = client_open();
	for (int i = 0; i < CLIENTS; i++)
		say(&c[i], p.bytes.data, p.bytes.len);
	packet_clear(&p);
	for (int n = 0; n < CLIENTS * EACH; n++) {
		sup_until(MSG_OUTPUT_ACK, &m);
		const struct msg_output_ack *got = m.body;
		for (int i = 0; i < CLIENTS; i++)
			if (c[i].conn == m.conn)
				in_order += got->offset == next[i]++;
		msg_clear(&m);
	}
	cmp_ok(in_order, "==", CLIENTS * EACH, "%d notices reach a slow supervisor whole and in order", CLIENTS * EACH);
	for (int i = 0; i < CLIENTS; i++) {
		ok(alive(&c[i]), "client %d goes on", i);
		client_close(&c[i]);
	}
}

/* A request the gateway refuses by itself: that it has read so far is seen without the supervisor. */
static void
ask_nonsense(struct client *c)
{
	struct buf     b;
	msgpack_packer pk;

	begin(c, &b, &pk, "what");
	msgpack_pack_nil(&pk);
	say_buf(c, &b);
}

/* A gateway of its own: so many leave behind a deaf supervisor's back that telling it makes the link congested. */
static void
leaving_is_told_through_congestion(void)
{
	enum { CLIENTS = 600, ACKS = LIM_LINK_QUEUE / 4 - 100 };
	struct client         talker;
	int                   fds[CLIENTS];
	uint64_t              conns[CLIENTS];
	struct msg_output_ack ack = { .call = 1, .stream = STREAM_STDOUT };
	struct packet         p = { .stream = true };
	struct err            e;
	struct msg            m;

	start(gate_jail, GATEWAY_UID, CLIENTS + 1);
	talker = client_open();
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = dial();
		sup_until(MSG_CONN_OPEN, &m);
		conns[i] = m.conn;
		msg_clear(&m);
	}
	for (int i = 0; i < ACKS; i++)
		msg_encode(&p, MSG_OUTPUT_ACK, 0, 0, &ack, &e);
	say_buf(&talker, &p.bytes);
	ask_nonsense(&talker);
	like(refusal(&talker, "protocol"), "no action", "the link is almost congested");
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	do { /* until it does not read any more */
		ask_nonsense(&talker);
		if (poll(&(struct pollfd){ .fd = talker.fd, .events = POLLIN }, 1, 500) == 0)
			break;
		refusal(&talker, "protocol");
	} while (talker.id < 50);
	gate_ngone = 0;
	for (int i = 0; i < CLIENTS; i++)
		sup_until_gone(conns[i]);
	cmp_ok(gate_ngone, "==", CLIENTS, "%d clients that leave then are each told once", CLIENTS);
	if (talker.id < 50)
		like(refusal(&talker, "protocol"), "no action", "who was not read is read again");
	else
		pass("this kernel's sockets hold too much for it to get congested");
	ok(alive(&talker), "and who stayed goes on");
	client_close(&talker);
	cmp_ok(exit_of_gateway(), "==", 0, "to the end");
}

static void
silence_is_closed(void)
{
	struct client mute = client_open(), half = client_open(), idle = client_open();

	ok(alive(&idle), "a client that is idle after a whole frame");
	ok(alive(&half), "and one that");
	say(&half, "\x94\x00\x05\xa4pi", 6);
	like(last_words(&mute, "protocol"), "no whole frame within 10 s", "a client that says nothing is closed");
	like(last_words(&half, "protocol"), "not whole after 10 s", "breaks off inside a frame is closed");
	ok(alive(&idle), "the idle one is not");
	client_close(&mute);
	client_close(&half);
	client_close(&idle);
}

static void
stalled_reader_is_dropped(void)
{
	struct client c = client_open();
	char         *bytes = calloc(1, LIM_WINDOW);

	ok(alive(&c), "a client that reads nothing more");
	send_output(c.conn, bytes, LIM_WINDOW, 0);
	sup_until_gone(c.conn);
	pass("is dropped, however little waits for it");
	free(bytes);
	client_close(&c);
}

int
main(void)
{
	gate_open();
	requests_in_flight_are_bounded();
	pings_are_not_lost();
	who_does_not_read_is_not_read();
	slow_reader_is_dropped();
	connections_are_bounded();
	held_copies_do_no_harm();
	congestion_passes();
	silence_is_closed();
	if (getenv("BOX_SLOW") != NULL)
		stalled_reader_is_dropped();
	cmp_ok(exit_of_gateway(), "==", 0, "after all that it ends with the supervisor");
	leaving_is_told_through_congestion();
	gate_close();
	done_testing();
}
