/*
 * The gateway stands between strangers and the supervisor.  This test is both: it
 * plays the supervisor on the channel and connects real clients to its socket.
 * BOX_GATEWAY names the program.
 */
#include "base/fd.h"
#include "base/memfd.h"
#include "gatebox.h"
#include "tap.h"

TEST(is_confined)
{
	struct msg m;
	char       link[64], root[128] = "";

	sup_until(MSG_GATEWAY_READY, &m);
	msg_clear(&m);
	pass("ready");
	is(proc_status("Seccomp"), "2", "a seccomp filter is in force");
	is(proc_status("NoNewPrivs"), "1", "no new privileges");
	is(proc_status("CapEff"), "0000000000000000", "no capability is effective");
	is(proc_status("CapPrm"), "0000000000000000", "none is permitted");
	skip(geteuid() != 0, 6, "needs root");
	is(proc_status("CapBnd"), "0000000000000000", "none can come back");
	like(proc_status("Uid"), "^64999\t64999\t64999\t64999", "it has the uid it was given");
	like(proc_status("Gid"), "^64999\t64999\t64999\t64999", "and the gid");
	is(proc_status("Groups"), "", "and no groups");
	snprintf(link, sizeof(link), "/proc/%d/root", gate_pid);
	if (readlink(link, root, sizeof(root) - 1) == -1)
		diag("%s: %s", link, strerror(errno));
	is(root, gate_jail, "its root is the empty directory");
	cmp_ok(proc_fds(), "<=", 6, "it holds stdio, link, listener and epoll, and nothing else");
	end_skip;
}

TEST(knows_the_peer)
{
	AUTO_FD int   fd = dial();
	struct ucred  who = { 0 };
	socklen_t     size = sizeof(who);
	struct client c = { .fd = fd };
	struct msg    m;

	sup_until(MSG_CONN_OPEN, &m);
	const struct msg_conn_open *open = m.body;
	cmp_ok(m.conn, "==", FIRST_CONN, "the first connection has the first id");
	getsockopt(open->peer, SOL_SOCKET, SO_PEERCRED, &who, &size);
	cmp_ok(who.pid, "==", getpid(), "the kernel tells the supervisor who it is");
	struct msg_closing bye = { .code = "denied", .reason = "not you" };
	sup_notice(MSG_CLOSING, m.conn, &bye);
	is(last_words(&c, "denied"), "not you", "a refused peer learns why, and its end though we still hold a copy");
	uint64_t conn = m.conn;
	msg_clear(&m);
	sup_until_gone(conn);
	pass("and the supervisor is told that it is gone");
	buf_clear(&c.in);
}

TEST(ping_walks_there_and_back)
{
	struct client   c = client_open();
	struct msg_ping none;
	struct packet   p = { .stream = true };
	struct err      e;
	struct msg      m;

	ok(alive(&c), "ping is answered");

	msg_encode(&p, MSG_PING, ++c.id, 0, &none, &e);
	for (size_t i = 0; i < p.bytes.len; i++)
		say(&c, p.bytes.data + i, 1);
	packet_clear(&p);
	answer_ping();
	ok(hear(&c, &m) && m.id == c.id, "a frame may come byte by byte");
	msg_clear(&m);

	p = (struct packet){ .stream = true };
	for (int i = 0; i < 3; i++)
		msg_encode(&p, MSG_PING, ++c.id, 0, &none, &e);
	say_buf(&c, &p.bytes);
	for (int i = 0; i < 3; i++)
		answer_ping();
	for (uint64_t id = c.id - 2; id <= c.id; id++) {
		ok(hear(&c, &m) && m.id == id, "three frames in one piece: %lu is answered", id);
		msg_clear(&m);
	}
	client_close(&c);
	pass("a client that leaves is gone");
}

TEST(id_zero_is_an_id)
{
	struct client c = client_open();

	c.id = (uint64_t)-1;
	ok(alive(&c), "the first request may have id 0");
	client_close(&c);
	c = client_open();
	say(&c, "\x94\x00\x00\xa4what\x80", 9);
	like(refusal(&c, "protocol"), "no action 'what'", "and is refused by that id");
	client_close(&c);
}

TEST(large_payloads_pass)
{
	enum { BIG = 2 * 1024 * 1024 };
	struct client          c = client_open();
	char                  *big = malloc(BIG);
	struct msg_exec        x;
	struct msg_exec_result r;
	struct msg             m;
	struct buf             got = { 0 };
	struct err             e;

	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)(i * 2654435761u >> 13);
	msg_defaults(MSG_EXEC, &x);
	x.session = "s";
	x.command = "cat";
	x.stdin = blob_of(big, BIG);
	struct packet p = { .stream = true };
	msg_encode(&p, MSG_EXEC, ++c.id, 0, &x, &e);
	/* larger than any socket buffer: the gateway reads while we write */
	say_buf(&c, &p.bytes);
	sup_until(MSG_EXEC, &m);
	const struct msg_exec *asked = m.body;
	ok(asked->stdin.data == NULL && asked->stdin.len == BIG, "2 MiB of stdin reach the supervisor in a memfd");
	blob_read(&asked->stdin, &got, &e);
	ok(got.len == BIG && memcmp(got.data, big, BIG) == 0, "unchanged");
	buf_clear(&got);

	msg_defaults(MSG_EXEC_RESULT, &r);
	r.session = "s";
	r.stdout = blob_of(big, BIG);
	sup_reply(MSG_EXEC_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	ok(hear(&c, &m) && m.id == c.id && msg_expect(&m, MSG_EXEC_RESULT, &e) == 0, "a 2 MiB reply arrives");
	const struct msg_exec_result *back = m.body;
	ok(back != NULL && back->stdout.data != NULL && back->stdout.len == BIG &&
		memcmp(back->stdout.data, big, BIG) == 0,
	    "inline and unchanged");
	msg_clear(&m);
	free(big);
	ok(alive(&c), "the connection goes on");
	client_close(&c);
}

TEST(broken_framing_closes)
{
	CLOSES("hello\r\n", "not a MessagePack-RPC message", "text that is not HTTP either");
	CLOSES("\xc1", "not MessagePack", "a byte MessagePack never uses");
	CLOSES("\x90", "not a MessagePack-RPC message", "an empty array");
	CLOSES("\x94\x07\x01\xa4ping\x80", "expected 0, 1 or 2", "an envelope of no known type");
	CLOSES("\x94\x00\xa1x\xa4ping\x80", "request id: expected a whole number", "a request without a usable id");
	CLOSES("\x95\x00\x01\xa4ping\x80\x07", "5 elements, expected 4", "a request that names a connection");
	CLOSES("\x94\x02\xaaoutput_ack\x80\x07", "4 elements, expected 3", "a notice that names one");
	CLOSES("\x94\x01\x01\xc0\x80", "reply", "a reply");
	CLOSES("\x94\x01\x01\x80\x80", "reply", "a bad reply");
	CLOSES("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0", "nested deeper",
	    "a value nested too deep");
}

TEST(claims_cost_nothing)
{
	struct client c = client_open();
	long          before = proc_kib("VmHWM");

	CLOSES("\x94\x00\x01\xa4ping\xc6\xff\xff\xff\xff", "frame too large", "a claim of 4 GiB");
	CLOSES("\x94\x00\x01\xa4ping\xdd\x01\x00\x00\x00", "frame too large", "a claim of 16 million values");
	CLOSES("\xdf\xff\xff\xff\xff", "frame too large", "a claim of 4 billion pairs");
	say(&c, "\x94\x00\x01\xa4ping\xc6\x01\x40\x00\x00....", 16);
	struct client other = client_open();
	ok(alive(&other), "a frame of 20 MiB that has only begun is read by now");
	client_close(&other);
	cmp_ok(proc_kib("VmHWM") - before, "<", 4096, "no claim took memory");
	client_close(&c);
}

TEST(bad_ids_are_refused)
{
	struct client c = client_open();

	c.id = 40;
	ok(alive(&c), "ids may start anywhere");
	c.id = 40;
	call_ping(&c);
	like(refusal(&c, "protocol"), "41 is not greater than 41", "an id cannot be used twice");
	c.id = 6;
	call_ping(&c);
	like(refusal(&c, "protocol"), "7 is not greater than 41", "nor a smaller one");
	c.id = 41;
	say(&c, "\x94\x00\x2a\xa4what\x80", 9);
	c.id = 42;
	like(refusal(&c, "protocol"), "no action 'what'", "an unknown action");
	c.id = 41;
	call_ping(&c);
	like(refusal(&c, "protocol"), "42 is not greater than 42", "has used its id too");
	ok(alive(&c), "the connection goes on");
	client_close(&c);
}

TEST(bad_params_are_named)
{
	struct client  c = client_open();
	struct buf     b;
	msgpack_packer pk;

	begin(&c, &b, &pk, "get");
	msgpack_pack_map(&pk, 2);
	mp_cstr(&pk, "session");
	mp_cstr(&pk, "s");
	mp_cstr(&pk, "colour");
	msgpack_pack_nil(&pk);
	say_buf(&c, &b);
	like(refusal(&c, "invalid"), "get: no field 'colour'", "an unknown field");

	begin(&c, &b, &pk, "get");
	msgpack_pack_map(&pk, 1);
	mp_cstr(&pk, "session");
	msgpack_pack_int(&pk, 3);
	say_buf(&c, &b);
	like(refusal(&c, "invalid"), "get.session: expected a string, got a number", "a wrong kind");

	begin(&c, &b, &pk, "get");
	msgpack_pack_map(&pk, 0);
	say_buf(&c, &b);
	like(refusal(&c, "invalid"), "get.session: missing", "a missing field");

	begin(&c, &b, &pk, "get");
	msgpack_pack_nil(&pk);
	say_buf(&c, &b);
	like(refusal(&c, "invalid"), "expected a map, got nil", "no params at all");

	begin(&c, &b, &pk, "output_ack");
	msgpack_pack_map(&pk, 0);
	say_buf(&c, &b);
	like(refusal(&c, "protocol"), "output_ack is a notice", "a notice sent as a request");

	say(&c, "\x93\x02\xaaoutput_ack\x80", 14); /* answered by nothing */
	say(&c, "\x93\x02\xa4what\x80", 8);
	ok(alive(&c), "bad notices and all, the connection goes on");
	client_close(&c);
}

TEST(internal_messages_are_refused)
{
	static const char *const names[] = {
		"gateway_start",
		"gateway_ready",
		"conn_open",
		"conn_gone",
		"worker_start",
		"worker_ready",
		"spawn",
		"attach",
		"close",
		"detach",
		"closing",
		"output",
		"session_state",
		"session_info",
	};
	struct client  c = client_open();
	struct buf     b;
	msgpack_packer pk;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		begin(&c, &b, &pk, names[i]);
		msgpack_pack_map(&pk, 0);
		say_buf(&c, &b);
		like(refusal(&c, "protocol"), "there is no action", "%s", names[i]);
	}
	ok(alive(&c), "the connection goes on");
	client_close(&c);
}

TEST(descriptor_tricks_fail)
{
	struct client   c = client_open();
	struct buf      b;
	msgpack_packer  pk;
	char            control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct cmsghdr *h = (struct cmsghdr *)control;

	begin(&c, &b, &pk, "exec");
	msgpack_pack_map(&pk, 2);
	mp_cstr(&pk, "session");
	mp_cstr(&pk, "s");
	mp_cstr(&pk, "stdin");
	msgpack_pack_ext_with_body(&pk, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 17, 1);
	say_buf(&c, &b);
	like(refusal(&c, "protocol"), "exec.stdin: descriptor 0 did not come", "a payload that claims to ride beside");

	begin(&c, &b, &pk, "exec");
	msgpack_pack_map(&pk, 1);
	mp_cstr(&pk, "session");
	msgpack_pack_ext_with_body(&pk, "\0", 1, 2);
	say_buf(&c, &b);
	like(refusal(&c, "invalid"), "exec.session: expected a string, got an extension", "a descriptor for a string");

	ok(alive(&c), "before");
	int before = proc_fds();
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &c.fd, sizeof(int));
	c.id++;
	char          ping[] = { (char)0x94, 0, (char)c.id, (char)0xa4, 'p', 'i', 'n', 'g', (char)0x80 };
	struct iovec  iov = { ping, sizeof(ping) };
	struct msghdr out = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	cmp_ok(sendmsg(c.fd, &out, 0), "==", sizeof(ping), "a descriptor sent along");
	answer_ping();
	struct msg m;
	ok(hear(&c, &m) && m.id == c.id, "changes nothing for the message");
	msg_clear(&m);
	cmp_ok(proc_fds(), "==", before, "and does not stay in the gateway");
	client_close(&c);
}

TEST(ends_with_the_supervisor)
{
	struct client c = client_open();

	ok(alive(&c), "a client is there");
	cmp_ok(exit_of_gateway(), "==", 0, "the gateway ends when the supervisor does");
	ok(at_end(&c), "and its client is told");
	client_close(&c);
}

TEST(never_runs_unconfined)
{
	struct msg_closing bye = { .code = "denied", .reason = "no" };
	struct msg         m;
	struct err         e = { 0 };

	gate_quiet = true; /* it says why on stderr, which is no news here */
	spawn();
	sup_notice(MSG_CLOSING, 0, &bye);
	cmp_ok(exit_of_gateway(), "==", 1, "it takes no other message first");
	skip(geteuid() != 0, 4, "needs root");
	start("/nonexistent/jail", GATEWAY_UID, 1);
	poll(&(struct pollfd){ .fd = gate_chan, .events = POLLIN }, 1, -1);
	cmp_ok(chan_recv(gate_chan, &gate_in, &m, FROM_GATEWAY, &e), "==", 2, "without its jail it is never ready");
	cmp_ok(exit_of_gateway(), "==", 1, "and ends");
	start(gate_jail, 0, 1);
	cmp_ok(exit_of_gateway(), "==", 1, "it does not stay root");
	start(gate_jail, UINT32_MAX, 1);
	cmp_ok(exit_of_gateway(), "==", 1, "nor is -1 a uid");
	end_skip;
}

int
main(void)
{
	gate_open();
	run_tests();
	gate_close();
	done_testing();
}
