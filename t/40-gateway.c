/*
 * The gateway stands between strangers and the supervisor.  This test is both: it
 * plays the supervisor on the channel and connects real clients to the door.
 * BOX_GATEWAY names the program; BOX_SLOW=1 adds what takes half a minute.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chan.h"
#include "fd.h"
#include "memfd.h"
#include "mp.h"
#include "tap.h"

enum {
	GATEWAY_UID = 64999,
	MAX_CONNECTIONS = 12,
	FIRST_CONN = 1000,
	HANG_SEC = 300, /* no measure of speed: a test that hangs should end one day */
};

/* ---- the supervisor's part -------------------------------------------------------- */

static char           dir[] = "/tmp/boxd-t-gateway-XXXXXX";
static char           door[64], jail[64];
static pid_t          gateway;
static int            sup = -1; /* our end of the channel */
static struct chan_in in;
static uint64_t       gone[1024];
static size_t         ngone;
static bool           quiet; /* the gateway's log is not wanted */

static int
listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	if (fd == -1 || bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1 || listen(fd, 64) == -1)
		BAIL_OUT("listen at %s: %s", path, strerror(errno));
	return fd;
}

static void
sup_send(struct packet *p)
{
	struct err e;
	int        r;

	while ((r = chan_send(sup, p, &e)) == 1)
		poll(&(struct pollfd){ .fd = sup, .events = POLLOUT }, 1, -1);
	if (r == -1)
		BAIL_OUT("send to the gateway: %s", e.text);
	packet_clear(p);
}

static void
sup_notice(enum msg_type t, uint64_t conn, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	if (msg_encode(&p, t, 0, conn, body, &e) == -1)
		BAIL_OUT("encode %s: %s", msg_name(t), e.text);
	sup_send(&p);
}

static void
sup_reply(enum msg_type t, uint64_t id, uint64_t conn, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	if (msg_encode_reply(&p, t, id, conn, body, &e) == -1)
		BAIL_OUT("encode %s: %s", msg_name(t), e.text);
	sup_send(&p);
}

static void
sup_recv(struct msg *m)
{
	struct err e;
	int        r;

	while ((r = chan_recv(sup, &in, m, FROM_GATEWAY | FROM_CLIENT, &e)) == 1)
		poll(&(struct pollfd){ .fd = sup, .events = POLLIN }, 1, -1);
	if (r == 2)
		BAIL_OUT("the gateway is gone");
	if (r == -1)
		BAIL_OUT("from the gateway: %s", e.text);
	if (m->type == MSG_CONN_GONE && ngone < sizeof(gone) / sizeof(gone[0]))
		gone[ngone++] = m->conn;
}

/* The next message of that type; those before it are dropped. */
static void
sup_until(enum msg_type t, struct msg *m)
{
	for (;;) {
		sup_recv(m);
		if (m->type == t)
			return;
		msg_clear(m);
	}
}

static bool
is_gone(uint64_t conn)
{
	for (size_t i = 0; i < ngone; i++)
		if (gone[i] == conn)
			return true;
	return false;
}

static void
sup_until_gone(uint64_t conn)
{
	struct msg m;

	while (!is_gone(conn)) {
		sup_recv(&m);
		msg_clear(&m);
	}
}

/* Fork and execute the gateway; say nothing to it yet. */
static void
spawn(void)
{
	const char *program = getenv("BOX_GATEWAY");
	int         ends[2];
	struct err  e;

	if (program == NULL)
		program = "build/box-gateway";
	if (chan_pair(ends, &e) == -1)
		BAIL_OUT("%s", e.text);
	gateway = fork();
	if (gateway == 0) {
		setenv("BOX_LOG", "error", 0);
		if (quiet && freopen("/dev/null", "w", stderr) == NULL)
			_exit(126);
		dup2(ends[1], 9); /* 3 itself may be one of them, and would stay close-on-exec */
		dup2(9, 3);
		execl(program, "box-gateway", (char *)NULL);
		fprintf(stderr, "# %s: %s\n", program, strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	sup = ends[0];
}

static void
start(const char *root, uint64_t uid, uint64_t most)
{
	AUTO_FD int              listener = listen_at(door);
	struct msg_gateway_start s = {
		.listener = listener,
		.max_connections = most,
		.uid = uid,
		.chroot = root,
		.next_conn = FIRST_CONN,
	};

	spawn();
	sup_notice(MSG_GATEWAY_START, 0, &s);
}

/* Its exit status, or 1000 and the signal. */
static int
exit_of_gateway(void)
{
	int status;

	fd_close(&sup);
	if (waitpid(gateway, &status, 0) == -1)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- a client's part ---------------------------------------------------------------- */

struct client {
	int        fd;
	uint64_t   conn; /* as the supervisor knows it */
	uint64_t   id;   /* of the last request */
	struct buf in;
	size_t     used; /* of in, by the last frame */
};

static int
dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", door);
	if (fd == -1 || connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1)
		BAIL_OUT("connect to %s: %s", door, strerror(errno));
	return fd;
}

static struct client
client_open(void)
{
	struct client c = { .fd = dial() };
	struct msg    m;

	sup_until(MSG_CONN_OPEN, &m);
	c.conn = m.conn;
	msg_clear(&m);
	return c;
}

/* And wait until the gateway has seen it: the next test counts connections. */
static void
client_close(struct client *c)
{
	fd_close(&c->fd);
	buf_clear(&c->in);
	c->used = 0;
	if (c->conn != 0 && sup != -1)
		sup_until_gone(c->conn);
}

static void
say(struct client *c, const void *bytes, size_t n)
{
	if (send(c->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		diag("conn=%lu send: %s", c->conn, strerror(errno));
}

static void
say_buf(struct client *c, struct buf *b)
{
	say(c, b->data, b->len);
	buf_clear(b);
}

/* False at the end of the stream. */
static bool
client_read(struct client *c)
{
	static char bytes[256 * 1024];
	ssize_t     n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n <= 0)
		return false;
	buf_append(&c->in, bytes, (size_t)n);
	return true;
}

/* The next message from the gateway; false at the end of the stream. */
static bool
hear(struct client *c, struct msg *m)
{
	struct mp_scan  s = { 0 };
	struct err      e;
	enum mp_verdict v;

	*m = (struct msg){ 0 };
	buf_drop(&c->in, c->used);
	c->used = 0;
	while ((v = mp_scan(&s, c->in.data, c->in.len, SIZE_MAX)) == MP_MORE)
		if (!client_read(c))
			return false;
	c->used = s.pos;
	if (v != MP_WHOLE || msg_decode(m, c->in.data, s.pos, &(int){ -1 }, 0, FROM_SUPERVISOR, &e) == -1)
		BAIL_OUT("a frame from the gateway is broken (%d): %s", v, e.text);
	return true;
}

static bool
at_end(struct client *c)
{
	struct msg m;
	bool       more = hear(c, &m);

	msg_clear(&m);
	return !more;
}

/* [0, id, method, and room for the params] */
static void
begin(struct client *c, struct buf *b, msgpack_packer *pk, const char *method)
{
	*b = (struct buf){ 0 };
	mp_writer(pk, b);
	msgpack_pack_array(pk, 4);
	msgpack_pack_int(pk, 0);
	msgpack_pack_uint64(pk, ++c->id);
	mp_cstr(pk, method);
}

static void
call(struct client *c, enum msg_type t, const void *body)
{
	struct packet p = { .stream = true };
	struct err    e;

	if (msg_encode(&p, t, ++c->id, 0, body, &e) == -1)
		BAIL_OUT("%s", e.text);
	say_buf(c, &p.bytes);
}

static void
call_ping(struct client *c)
{
	struct msg_ping none;

	call(c, MSG_PING, &none);
}

static void
answer_ping(void)
{
	struct msg_pong pong = { .version = "test", .uptime_ms = 7 };
	struct msg      m;

	sup_until(MSG_PING, &m);
	sup_reply(MSG_PONG, m.id, m.conn, &pong);
	msg_clear(&m);
}

/* A whole round trip. */
static bool
alive(struct client *c)
{
	struct msg m;

	call_ping(c);
	answer_ping();
	bool ok = hear(c, &m) && m.envelope == ENV_REPLY && m.id == c->id && !m.failed;
	msg_clear(&m);
	return ok;
}

/* The error reply to the last request; its text lives until the next call. */
static const char *
refusal(struct client *c, const char *code)
{
	static char text[ERR_TEXT];
	struct msg  m;

	if (!hear(c, &m))
		snprintf(text, sizeof(text), "the stream ended");
	else if (m.envelope != ENV_REPLY || !m.failed || m.id != c->id)
		snprintf(text, sizeof(text), "no error reply to %lu", c->id);
	else if (strcmp(err_wire_name(m.error.code), code) != 0)
		snprintf(text, sizeof(text), "code %s", err_wire_name(m.error.code));
	else
		snprintf(text, sizeof(text), "%s", m.error.text);
	msg_clear(&m);
	return text;
}

/* The reason of a CLOSING notice that is the last thing on the stream. */
static const char *
last_words(struct client *c, const char *code)
{
	static char text[LIM_TEXT];
	struct msg  m;

	if (!hear(c, &m))
		snprintf(text, sizeof(text), "the stream ended without a word");
	else if (m.type != MSG_CLOSING)
		snprintf(text, sizeof(text), "a %s", msg_name(m.type));
	else {
		const struct msg_closing *bye = m.body;
		bool                      right = strcmp(bye->code, code) == 0;
		snprintf(text, sizeof(text), "%s", right ? bye->reason : bye->code);
	}
	msg_clear(&m);
	if (!at_end(c))
		snprintf(text, sizeof(text), "the stream goes on");
	return text;
}

/* A new client that says these bytes and nothing more. */
static void
closes(const void *bytes, size_t n, const char *regex, const char *name)
{
	struct client c = client_open();

	say(&c, bytes, n);
	like(last_words(&c, "protocol"), regex, "%s", name);
	client_close(&c);
}

#define CLOSES(bytes, regex, name) closes(bytes, sizeof(bytes) - 1, regex, name)

/* ---- what /proc says of the gateway -------------------------------------------------- */

static const char *
proc_status(const char *key)
{
	static char line[256];
	char        path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", gateway);
	FILE *f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, strlen(key)) != 0 || line[strlen(key)] != ':')
			continue;
		fclose(f);
		line[strcspn(line, "\n")] = '\0';
		return line + strlen(key) + 1 + strspn(line + strlen(key) + 1, "\t ");
	}
	if (f != NULL)
		fclose(f);
	return "";
}

static long
proc_kib(const char *key)
{
	return atol(proc_status(key));
}

static int
proc_fds(void)
{
	char path[64];
	int  n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", gateway);
	DIR *d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n - 2;
}

/* ---- the tests ------------------------------------------------------------------------ */

static void
is_confined(void)
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
	snprintf(link, sizeof(link), "/proc/%d/root", gateway);
	if (readlink(link, root, sizeof(root) - 1) == -1)
		diag("%s: %s", link, strerror(errno));
	is(root, jail, "its root is the empty directory");
	cmp_ok(proc_fds(), "<=", 6, "it holds stdio, link, listener and epoll, and nothing else");
	end_skip;
}

static void
knows_the_peer(void)
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

static void
ping_walks_there_and_back(void)
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

static void
id_zero_is_an_id(void)
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

static void
large_payloads_pass(void)
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

static void
broken_framing_closes(void)
{
	CLOSES("GET / HTTP/1.1\r\n\r\n", "not a MessagePack-RPC message", "HTTP");
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

static void
claims_cost_nothing(void)
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

static void
bad_ids_are_refused(void)
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

static void
bad_params_are_named(void)
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

static void
internal_messages_are_refused(void)
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

static void
descriptor_tricks_fail(void)
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
		c[i] = client_open();
	more.fd = dial();
	like(last_words(&more, "busy"), "too many connections", "one client too many is told so");
	client_close(&more);
	ok(alive(&c[0]) && alive(&c[MAX_CONNECTIONS - 1]), "the others stay");
	client_close(&c[0]);
	c[0] = client_open();
	ok(alive(&c[0]), "when one has left another may come");
	cmp_ok(c[0].conn, ">", c[MAX_CONNECTIONS - 1].conn, "with an id of its own");
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

	start(jail, GATEWAY_UID, CLIENTS + 1);
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
	ngone = 0;
	for (int i = 0; i < CLIENTS; i++)
		sup_until_gone(conns[i]);
	cmp_ok(ngone, "==", CLIENTS, "%d clients that leave then are each told once", CLIENTS);
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

static void
ends_with_the_supervisor(void)
{
	struct client c = client_open();

	ok(alive(&c), "a client is there");
	cmp_ok(exit_of_gateway(), "==", 0, "the gateway ends when the supervisor does");
	ok(at_end(&c), "and its client is told");
	client_close(&c);
}

static void
never_runs_unconfined(void)
{
	struct msg_closing bye = { .code = "denied", .reason = "no" };
	struct msg         m;
	struct err         e = { 0 };

	quiet = true; /* it says why on stderr, which is no news here */
	spawn();
	sup_notice(MSG_CLOSING, 0, &bye);
	cmp_ok(exit_of_gateway(), "==", 1, "it takes no other message first");
	skip(geteuid() != 0, 4, "needs root");
	start("/nonexistent/jail", GATEWAY_UID, 1);
	poll(&(struct pollfd){ .fd = sup, .events = POLLIN }, 1, -1);
	cmp_ok(chan_recv(sup, &in, &m, FROM_GATEWAY, &e), "==", 2, "without its jail it is never ready");
	cmp_ok(exit_of_gateway(), "==", 1, "and ends");
	start(jail, 0, 1);
	cmp_ok(exit_of_gateway(), "==", 1, "it does not stay root");
	start(jail, UINT32_MAX, 1);
	cmp_ok(exit_of_gateway(), "==", 1, "nor is -1 a uid");
	end_skip;
}

static void (*const tests[])(void) = {
	is_confined,
	knows_the_peer,
	ping_walks_there_and_back,
	id_zero_is_an_id,
	large_payloads_pass,
	broken_framing_closes,
	claims_cost_nothing,
	bad_ids_are_refused,
	bad_params_are_named,
	internal_messages_are_refused,
	descriptor_tricks_fail,
	requests_in_flight_are_bounded,
	pings_are_not_lost,
	who_does_not_read_is_not_read,
	slow_reader_is_dropped,
	connections_are_bounded,
	held_copies_do_no_harm,
	congestion_passes,
	silence_is_closed,
};

int
main(void)
{
	alarm(HANG_SEC);
	if (mkdtemp(dir) == NULL)
		BAIL_OUT("%s: %s", dir, strerror(errno));
	snprintf(door, sizeof(door), "%s/sock", dir);
	snprintf(jail, sizeof(jail), "%s/jail", dir);
	if (mkdir(jail, 0755) == -1)
		BAIL_OUT("%s: %s", jail, strerror(errno));

	start(jail, GATEWAY_UID, MAX_CONNECTIONS);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tests[i]();
	if (getenv("BOX_SLOW") != NULL)
		stalled_reader_is_dropped();
	ends_with_the_supervisor();
	leaving_is_told_through_congestion();
	never_runs_unconfined();

	chan_in_clear(&in);
	unlink(door);
	rmdir(jail);
	rmdir(dir);
	done_testing();
}
