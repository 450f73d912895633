/* What may go out goes out, with every end it can have; what may not is reset; and all of it is counted. */
#include "egressbox.h"
#include "tap.h"

static struct egressbox box;
static struct sandbox   inside;
static int              web; /* a listener of the internet */

/* A connection from inside to there; the two ends. */
static int
pair(const char *address, int *server)
{
	int client = inside_connect(&inside, address, 80);

	*server = net_accept(web, NULL);
	return client;
}

TEST(allowed)
{
	char to[NETADDR_TEXT] = "";
	int  client = inside_connect(&inside, SERVER, 80), server = net_accept(web, to);

	is(to, SERVER, "a connection comes to where it was made to");
	put(client, "question");
	ok(got(server, "question"), "what the sandbox says arrives");
	put(server, "answer");
	ok(got(client, "answer"), "and so does the answer");
	const struct msg_net_info *i = egressbox_look(&box, &inside, true);
	cmp_ok(i->mode, "==", NET_MODE_EGRESS, "it has a way out");
	cmp_ok(i->open, "==", 1, "one connection");
	cmp_ok(i->total, "==", 1, "the first");
	cmp_ok(i->sent_bytes, "==", 8, "bytes out");
	cmp_ok(i->received_bytes, "==", 6, "bytes in");
	cmp_ok(i->flows.n, "==", 1, "it is told");
	is(i->flows.v[0].address, SERVER, "with its address");
	cmp_ok(i->flows.v[0].port, "==", 80, "its port");
	cmp_ok(i->flows.v[0].sent_bytes, "==", 8, "and its bytes");
	cmp_ok(i->flows.v[0].connecting, "==", 0, "it is connected");
	cmp_ok(egressbox_look(&box, &inside, false)->flows.n, "==", 0, "only if asked for");
	close(client);
	is(outcome(server), "end", "the end of the client is an end");
	close(server);
	while (egressbox_look(&box, &inside, false)->open > 0)
		;
	pass("and then it is gone");
}

TEST(ipv6)
{
	char to[NETADDR_TEXT] = "";
	int  client = inside_connect(&inside, SERVER6, 80), server = net_accept(web, to);

	is(to, SERVER6, "IPv6 goes out as well");
	put(server, "six");
	ok(got(client, "six"), "both ways");
	close(client);
	close(server);
}

TEST(half_close)
{
	int server, client = pair(SERVER, &server);

	put(client, "all");
	shutdown(client, SHUT_WR);
	ok(got(server, "all"), "a client that has said all");
	is(outcome(server), "end", "ends its direction");
	put(server, "more");
	ok(got(client, "more"), "and hears more");
	close(server);
	is(outcome(client), "end", "until the server ends too");
	close(client);
	client = pair(SERVER, &server);
	shutdown(server, SHUT_WR);
	is(outcome(client), "end", "a server that has said all");
	put(client, "late");
	ok(got(server, "late"), "hears more");
	close(client);
	is(outcome(server), "end", "until the client ends");
	close(server);
}

static void
reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

TEST(reset)
{
	int server, client = pair(SERVER, &server);

	reset(server);
	is(outcome(client), "reset", "a reset of the server reaches the client");
	close(client);
	client = pair(SERVER, &server);
	reset(client);
	is(outcome(server), "reset", "and one of the client the server");
	close(server);
	client = pair(SERVER, &server);
	put(server, "last words");
	reset(server);
	ok(got(client, "last words"), "what was said before it");
	is(outcome(client), "reset", "comes first");
	close(client);
}

/* Bytes wait in front of a client that does not read; then one side goes. */
TEST(reset_under_pressure)
{
	static char some[65536];
	int         server, client = pair(SERVER, &server);

	while (send(client, some, sizeof(some), MSG_DONTWAIT) > 0)
		;
	while (egressbox_look(&box, &inside, true)->flows.v[0].sent_bytes == 0)
		;
	reset(client);
	ssize_t n;
	while ((n = recv(server, some, sizeof(some), 0)) > 0)
		;
	cmp_ok(n, "==", -1, "a reset behind bytes that nobody took is still one");
	close(server);
	while (egressbox_look(&box, &inside, false)->open > 0)
		;
	pass("and nothing stays");
}

TEST(denied)
{
	int client = inside_connect(&inside, "6.6.6.6", 80);

	is(outcome(client), "reset", "a denied one is reset");
	close(client);
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	is(denial_text(i, 0), "tcp - 6.6.6.6 80 deny 6.6.6.6 1", "and told");
	cmp_ok(i->denied, "==", 1, "counted");
	egressbox_await(&box, 0, 1);
	is(box.denied, "tcp - 6.6.6.6 80 deny 6.6.6.6 1", "logged");
	cmp_ok(box.denied_id, "==", inside.id, "of this session");
	for (int k = 0; k < 5; k++) {
		client = inside_connect(&inside, "6.6.6.6", 80);
		outcome(client);
		close(client);
	}
	i = egressbox_look(&box, &inside, false);
	is(denial_text(i, 0), "tcp - 6.6.6.6 80 deny 6.6.6.6 6", "the same again is counted");
	is(denial_text(i, 1), "", "and no other one");
}

static void
expect_denial(const char *address, uint16_t port, const char *denial, const char *what)
{
	char text[256];
	int  client = inside_connect(&inside, address, port);

	snprintf(text, sizeof(text), "%s: %s", what, client == -1 ? "reset" : outcome(client));
	like(text, ": reset$", "%s", what);
	close(client);
	is(denial_text(egressbox_look(&box, &inside, false), 0), denial, "and told");
}

TEST(guarded)
{
	int listener = host_listen(5410);

	expect_denial("10.1.2.3", 22, "tcp - 10.1.2.3 22 built-in: private 10.0.0.0/8 1", "a private address");
	expect_denial("172.16.5.5", 22, "tcp - 172.16.5.5 22 built-in: private 172.16.0.0/12 1",
	    "one that the namespace refuses");
	expect_denial(HOST, 8080, "tcp - " HOST " 8080 built-in: this host's own address 1", "the host's own address");
	expect_denial(
	    "2a00:1450::10", 8080, "tcp - 2a00:1450::10 8080 built-in: this host's own address 1", "its other one");
	expect_denial("185.199.108.255", 8080, "tcp - 185.199.108.255 8080 built-in: this host's own address 1",
	    "the broadcast address of its network");
	expect_denial(
	    "240.0.0.1", 80, "tcp - 240.0.0.1 80 built-in: reserved and broadcast 240.0.0.0/4 1", "a reserved one");
	expect_denial(
	    HOST, 5410, "tcp - " HOST " 5410 built-in: a port of boxd 1", "a port of boxd, that a rule opens");
	expect_denial("127.0.0.1", NET_PORT, "tcp - 127.0.0.1 1021 built-in: loopback leads to the sandbox itself 1",
	    "the listener itself");
	expect_denial("192.0.2.1", NET_PORT, "tcp - 192.0.2.1 1021 built-in: loopback leads to the sandbox itself 1",
	    "by its other address");
	close(listener);
}

/* An address of the host can be opened by an address. */
TEST(opened)
{
	int listener = host_listen(8088), client = inside_connect(&inside, HOST, 8088),
	    server = net_accept(listener, NULL);

	put(client, "hello");
	ok(got(server, "hello"), "an operator's rule opens an address of the host");
	close(client);
	close(server);
	close(listener);
}

TEST(failed)
{
	uint64_t failed = egressbox_look(&box, &inside, false)->failed;
	int      client = inside_connect(&inside, SERVER, 81);

	is(outcome(client), "reset", "a connection that nobody takes is reset");
	close(client);
	client = inside_connect(&inside, "203.0.114.1", 80);
	is(outcome(client), "reset", "and so is one without a route");
	close(client);
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	cmp_ok(i->failed - failed, "==", 2, "both have failed");
	unlike(denial_text(i, 0), "203.0.114.1", "and were not denied");
}

TEST(connecting)
{
	int client = inside_connect(&inside, "93.184.216.99", 80);

	while (egressbox_look(&box, &inside, true)->flows.n == 0)
		;
	cmp_ok(
	    egressbox_look(&box, &inside, true)->flows.v[0].connecting, "==", 1, "one without an answer is connecting");
	reset(client);
	while (egressbox_look(&box, &inside, false)->open > 0)
		;
	pass("and goes with its client");
}

TEST(limit)
{
	enum { MOST = 8 };
	int clients[MOST], servers[MOST];

	uint64_t over = egressbox_look(&box, &inside, false)->over_limit;
	for (int i = 0; i < MOST; i++)
		clients[i] = pair(SERVER, &servers[i]);
	int client = inside_connect(&inside, SERVER, 80);
	is(outcome(client), "reset", "one too many is reset");
	close(client);
	cmp_ok(egressbox_look(&box, &inside, false)->over_limit - over, "==", 1, "and counted");
	close(clients[0]);
	close(servers[0]);
	while (egressbox_look(&box, &inside, false)->open == MOST)
		;
	client = pair(SERVER, &servers[0]);
	put(client, "next");
	ok(got(servers[0], "next"), "when one has gone there is room");
	clients[0] = client;
	egressbox_close(&box, &inside);
	for (int i = 0; i < MOST; i++) {
		is(outcome(clients[i]), "reset", "the end of the session resets what it has");
		is(outcome(servers[i]), "reset", "on both sides");
		close(clients[i]);
		close(servers[i]);
	}
}

int
main(void)
{
	struct msg_egress_start m;
	const char             *own = "0.0.0.0:5410";

	world_begin();
	msg_defaults(MSG_EGRESS_START, &m);
	m.connections = 8;
	m.dns_bytes = 1 << 20;
	m.own = (struct strs){ 1, &own };
	egressbox_start(&box,
	    "deny 6.6.6.6\n"
	    "allow " HOST " port 5410\n"
	    "allow " HOST " port 8088\n",
	    &m);
	sandbox_make(&inside, 41);
	egressbox_open(&box, &inside, NULL, NULL);
	web = net_listen(80);
	run_tests();
	sandbox_free(&inside);
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends with its channel");
	done_testing();
}
