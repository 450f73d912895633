/*
 * A channel carries one message and its descriptors per packet, whole or not at
 * all; and whatever a peer sends, no descriptor stays behind.
 */
#include "base/fd.h"
#include "base/memfd.h"
#include "check.h"
#include "tap.h"
#include "values.h"
#include "wire/chan.h"

enum { ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int            ends[2];
static struct chan_in in;
static struct msg     m;
static struct err     e;

static void
fresh_pair(void)
{
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	must(chan_pair(ends, &e) != -1, "%s", e.text);
}

static int
recv_from(unsigned from)
{
	e = (struct err){ 0 };
	return chan_recv(ends[1], &in, &m, from, &e);
}

static int
send_message(enum msg_type t, const void *body)
{
	struct packet p = { 0 };

	int r = msg_encode(&p, t, 1, 0, body, &e);
	if (r == 0)
		r = chan_send(ends[0], &p, &e);
	packet_clear(&p);
	return r;
}

static bool
close_on_exec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

TEST(packed)
{
	struct packet        p = { 0 };
	struct msg_conn_open c = { .peer = fcntl(0, F_DUPFD, 0) };

	ok(msg_encode(&p, MSG_CONN_OPEN, 0, 0, &c, &e) == 0 && p.nfds == 1 && p.fds[0] != c.peer &&
		close_on_exec(p.fds[0]),
	    "a packet has a descriptor of its own, close-on-exec");
	packet_clear(&p);
	ok(fcntl(c.peer, F_GETFD) != -1, "and leaves the owner's alone");
	close(c.peer);
}

TEST(with_descriptors)
{
	struct values            v = { 0 };
	struct msg_worker_start *w = fill_body(&v, MSG_WORKER_START, FILL_LEAST);
	int                      before = open_fds();

	ok(close_on_exec(ends[0]) && close_on_exec(ends[1]), "a channel's ends are close-on-exec");
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 1, "nothing is there at first");
	msg_clear(&m);
	cmp_ok(send_message(MSG_WORKER_START, w), "==", 0, "a message with descriptors is sent");
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 0, "and received");
	const struct msg_worker_start *got = m.body;
	is(body_differs(MSG_WORKER_START, w, got), NULL, "as it was, every descriptor at its place");
	bool all = got->dir != w->dir;
	for (size_t i = 0; i < m.nfds; i++)
		all &= close_on_exec(m.fds[i]);
	ok(all && m.nfds > 0, "they are new, and close-on-exec");
	msg_clear(&m);
	cmp_ok(open_fds(), "==", before, "none is left");
	values_clear(&v);
}

/* Around LIM_PACKET a message changes from packet to file. */
static void
spill_at(size_t text, bool with_fds)
{
	struct values    v = { 0 };
	struct msg_spawn s;
	int              before = open_fds();
	char            *arg = memset(calloc(1, text + 1), 'a', text);
	const char      *argv[] = { arg, "last", NULL };

	msg_defaults(MSG_SPAWN, &s);
	s.argv = (struct strs){ 2, argv };
	s.workdir = "/";
	if (with_fds)
		s.stdin = ends[0], s.cgroup = ends[1];
	cmp_ok(send_message(MSG_SPAWN, &s), "==", 0, "a message with %zu bytes of text%s is sent", text,
	    with_fds ? " and descriptors" : "");
	cmp_ok(recv_from(FROM_WORKER), "==", 0, "and received");
	ok(m.body != NULL && body_differs(MSG_SPAWN, &s, m.body) == NULL, "as it was");
	msg_clear(&m);
	cmp_ok(open_fds(), "==", before, "no descriptor is left");
	free(arg);
	values_clear(&v);
}

TEST(spilling)
{
	struct values v = { 0 };
	struct packet p = { 0 };

	/* to the byte: what else is in the packet */
	struct msg_spawn s;
	msg_defaults(MSG_SPAWN, &s);
	s.argv = (struct strs){ 2, (const char *[]){ "", "last", NULL } };
	s.workdir = "/";
	msg_encode(&p, MSG_SPAWN, 1, 0, &s, &e);
	size_t around = p.bytes.len + 2; /* a longer string has two length bytes more */
	packet_clear(&p);
	for (int i = -1; i <= 1; i++)
		spill_at(LIM_PACKET - around + (size_t)i, false);
	spill_at(1 * MIB, false);
	spill_at(1 * MIB, true);

	char *big = calloc(1, LIM_MESSAGE + 1);
	s.argv.v[0] = memset(big, 'b', LIM_MESSAGE);
	cmp_ok(send_message(MSG_SPAWN, &s), "==", -1, "a message over the maximum of all is not sent");
	like(e.text, "over the maximum", "and why is said");
	free(big);
	values_clear(&v);
}

static void
payload_of(size_t n)
{
	struct msg_output o;
	struct buf        got = { 0 };
	char             *bytes = malloc(n);
	int               before = open_fds();

	rnd_bytes(bytes, n);
	msg_defaults(MSG_OUTPUT, &o);
	o.data = blob_of(bytes, n);
	cmp_ok(send_message(MSG_OUTPUT, &o), "==", 0, "a payload of %zu bytes is sent", n);
	cmp_ok(recv_from(FROM_INIT), "==", 0, "and received");
	const struct msg_output *r = m.body;
	ok((r->data.data == NULL) == (n > LIM_BLOB_INLINE), "%s the message",
	    n > LIM_BLOB_INLINE ? "beside" : "inside");
	ok(blob_read(&r->data, &got, &e) == 0 && got.len == n && memcmp(got.data, bytes, n) == 0, "identical");
	msg_clear(&m);
	buf_clear(&got);
	free(bytes);
	cmp_ok(open_fds(), "==", before, "no descriptor is left");
}

TEST(payloads)
{
	payload_of(1);
	payload_of(LIM_BLOB_INLINE);
	payload_of(LIM_BLOB_INLINE + 1);
	payload_of(LIM_WINDOW);
}

/* What a router does: the payload goes on without being copied. */
TEST(passed_on)
{
	struct msg_output o, copy;
	struct buf        got = { 0 };
	char             *bytes = malloc(100 * KIB);
	int               before = open_fds();

	rnd_bytes(bytes, 100 * KIB);
	msg_defaults(MSG_OUTPUT, &o);
	o.data = blob_of(bytes, 100 * KIB);
	send_message(MSG_OUTPUT, &o);
	recv_from(FROM_INIT);
	copy = *(const struct msg_output *)m.body;
	copy.data.offset += 1000;
	copy.data.len -= 2000;
	cmp_ok(send_message(MSG_OUTPUT, &copy), "==", 0, "a part of a received payload is passed on");
	msg_clear(&m);
	cmp_ok(recv_from(FROM_INIT), "==", 0, "and received");
	const struct msg_output *r = m.body;
	ok(blob_read(&r->data, &got, &e) == 0 && got.len == 98 * KIB + 48 &&
		memcmp(got.data, bytes + 1000, got.len) == 0,
	    "identical");
	msg_clear(&m);
	buf_clear(&got);
	free(bytes);
	cmp_ok(open_fds(), "==", before, "no descriptor is left");
}

/* ---- what a peer may do wrong ---- */

/* One raw packet with copies of one descriptor; the verdict must be `want`, and nothing may stay. */
static void
hostile(const char *what, const void *bytes, size_t n, int first, size_t nfds, int want)
{
	int fds[253];
	int before = open_fds();

	for (size_t i = 0; i < nfds; i++)
		fds[i] = i == 0 && first != -1 ? first : STDIN_FILENO;
	must(raw_send(ends[0], bytes, n, fds, nfds) != -1, "send %s", what);
	cmp_ok(recv_from(FROM_CLIENT | FROM_SUPERVISOR), "==", want, "%s, %zu descriptors: %s", what, nfds,
	    want == 2   ? "the end"
	    : want == 0 ? "taken"
			: "refused");
	ok(want != -1 || (e.code != E_NONE && e.text[0] != '\0'), "with a reason: %s", e.text);
	ok(want == 0 || m.body == NULL, "and no message");
	msg_clear(&m);
	cmp_ok(open_fds(), "==", before, "no descriptor stays");
	if (want == 2)
		fresh_pair();
}

#define PING "\x94\x00\x01\xa4ping\x80"

TEST(hostile_packets)
{
	static char too_long[LIM_PACKET + 1] = PING;

	for (size_t nfds = 0; nfds <= 8; nfds += 4) {
		hostile("a packet that is too long", too_long, sizeof(too_long), -1, nfds, -1);
		hostile("garbage", "\xc1garbage", 8, -1, nfds, -1);
		hostile("half a message", PING, sizeof(PING) - 2, -1, nfds, -1);
		hostile("no such action", "\x94\x00\x01\xa4pong\x80", 9, -1, nfds, -1);
		hostile("a message with unasked", PING, sizeof(PING) - 1, -1, nfds, 0);
		hostile("an empty packet", "", 0, -1, nfds, 2);
	}
	hostile("a message", PING, sizeof(PING) - 1, -1, LIM_PACKET_FDS + 1, -1);
	hostile("a message", PING, sizeof(PING) - 1, -1, LIM_PACKET_FDS + 2, -1);
	hostile("a message", PING, sizeof(PING) - 1, -1, LIM_PACKET_FDS + 3, -1);
	hostile("a message", PING, sizeof(PING) - 1, -1, 253, -1);
	hostile("a lone nil", "\xc0", 1, -1, 0, -1);
}

static int
file_with(const char *bytes, size_t n, int seals)
{
	int fd = memfd_plain(0, 0);

	if (write(fd, bytes, n) != (ssize_t)n || (seals && fcntl(fd, F_ADD_SEALS, seals) == -1))
		BAIL_OUT("write a file");
	return fd;
}

static void
hostile_file(const char *what, int file, size_t nfds, int want)
{
	hostile(what, "\xc0", 1, file, nfds, want);
	close(file);
}

TEST(hostile_files)
{
	for (size_t nfds = 1; nfds <= LIM_PACKET_FDS + 1; nfds += 4) {
		hostile_file("a file with a message", file_with(PING, 9, ALL_SEALS), nfds, 0);
		hostile_file("an unsealed file", file_with(PING, 9, 0), nfds, -1);
		hostile_file("a file that can shrink", file_with(PING, 9, F_SEAL_WRITE | F_SEAL_GROW), nfds, -1);
		hostile_file("a file that can be written", file_with(PING, 9, F_SEAL_SHRINK | F_SEAL_GROW), nfds, -1);
		hostile_file("an empty file", memfd_plain(0, ALL_SEALS), nfds, -1);
		hostile_file("a file of zeros", memfd_plain(100, ALL_SEALS), nfds, -1);
		hostile_file("a file that is too long", memfd_plain(LIM_MESSAGE + 1, ALL_SEALS), nfds, -1);
		is(e.text, "a message of 25165825 bytes", "before it is looked into");
		hostile_file("a file of garbage", file_with("\xc1", 1, ALL_SEALS), nfds, -1);
		hostile_file("a file with a nil", file_with("\xc0", 1, ALL_SEALS), nfds, -1);
		hostile_file("a directory", open("/", O_RDONLY | O_CLOEXEC), nfds, -1);
	}
	hostile_file("a file with a message", file_with(PING, 9, ALL_SEALS), LIM_PACKET_FDS + 2, -1);
	hostile_file("a file with a message", file_with(PING, 9, ALL_SEALS), LIM_PACKET_FDS + 3, -1);
	hostile_file("a file with a message", file_with(PING, 9, ALL_SEALS), 253, -1);
}

/* ---- ends ---- */

TEST(fill_up)
{
	struct packet p = { 0 };
	int           sent = 0, got = 0, r;

	fresh_pair();
	msg_encode(&p, MSG_DETACH, 0, 0, &(struct msg_detach){ .call = 1 }, &e);
	while ((r = chan_send(ends[0], &p, &e)) == 0)
		sent++;
	cmp_ok(r, "==", 1, "a peer that does not read makes it block after %d packets", sent);
	while (recv_from(FROM_SUPERVISOR) == 0) {
		got++;
		msg_clear(&m);
	}
	msg_clear(&m);
	cmp_ok(got, "==", sent, "all that were sent arrive");
	cmp_ok(chan_send(ends[0], &p, &e), "==", 0, "and there is room again");
	packet_clear(&p);
	recv_from(FROM_SUPERVISOR);
	msg_clear(&m);
}

TEST(peer_gone)
{
	struct msg_detach d = { .call = 5 };

	fresh_pair();
	send_message(MSG_DETACH, &d);
	fd_close(&ends[0]);
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 0, "the last words of a peer arrive");
	msg_clear(&m);
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 2, "then it is gone");
	msg_clear(&m);

	fresh_pair();
	send_message(MSG_DETACH, &d);
	raw_send(ends[1], "unread", 6, NULL, 0);
	fd_close(&ends[0]);
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 0, "they arrive too when it left what we sent unread");
	msg_clear(&m);
	cmp_ok(recv_from(FROM_SUPERVISOR), "==", 2, "then it is gone");
	msg_clear(&m);

	fresh_pair();
	fd_close(&ends[1]);
	cmp_ok(send_message(MSG_DETACH, &d), "==", -1, "sending to nobody fails, without a signal");
	cmp_ok(e.code, "==", E_SYS, "as the kernel says");
}

/* A killed process leaves whole messages only. */
TEST(killed_peer)
{
	int got = 0, r;

	fresh_pair();
	pid_t pid = fork();
	if (pid == 0) {
		for (;;)
			send_message(MSG_DETACH, &(struct msg_detach){ .call = 5 });
	}
	fd_close(&ends[0]);
	while (got < 1000)
		if (recv_from(FROM_SUPERVISOR) == 0) {
			got++;
			msg_clear(&m);
		}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((r = recv_from(FROM_SUPERVISOR)) == 0)
		msg_clear(&m);
	msg_clear(&m);
	cmp_ok(r, "==", 2, "a peer killed while sending is just gone");
}

int
main(void)
{
	ends[0] = ends[1] = -1;
	int before = open_fds();
	fresh_pair();
	run_tests();
	chan_in_clear(&in);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	cmp_ok(open_fds(), "==", before, "no descriptor was left open");
	done_testing();
}
