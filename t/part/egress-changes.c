/* Rules that change under open connections, sessions that come again, numbers that go on, and what is told of them. */
#include "egressbox.h"
#include "tap.h"

static struct egressbox box;
static struct sandbox   inside;
static int              web;

static int
open_one(const char *address, int *server)
{
	int client = inside_connect(&inside, address, 80);

	*server = net_accept(web, NULL);
	return client;
}

TEST(rules)
{
	int one, two, stays = open_one("1.1.1.1", &one), goes = open_one("2.2.2.2", &two);

	egressbox_rules(&box, "deny 2.2.2.0/24\n");
	is(outcome(goes), "reset", "what other rules do not allow is cut");
	is(outcome(two), "reset", "on both sides");
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	is(denial_text(i, 0), "tcp - 2.2.2.2 80 deny 2.2.2.0/24 1", "and told as a denial");
	cmp_ok(i->open, "==", 1, "one is left");
	put(stays, "still");
	ok(got(one, "still"), "what they allow goes on");
	close(goes);
	close(two);
	goes = inside_connect(&inside, "2.2.2.2", 80);
	is(outcome(goes), "reset", "new connections are judged by them");
	close(goes);
	egressbox_rules(&box, "");
	goes = open_one("2.2.2.2", &two);
	put(goes, "again");
	ok(got(two, "again"), "until there are others again");
	close(goes);
	close(two);
	close(stays);
	close(one);
}

/* A connection that nobody looked at counts for no name. */
TEST(name_comes_late)
{
	int one, two;

	is(inside_resolve(&inside, "good.example"), "3.3.3.3", "a name is resolved");
	int spoke = open_one("3.3.3.3", &one), silent = open_one("3.3.3.3", &two);
	put(spoke, "anything");
	ok(got(one, "anything"), "a connection that has spoken, under rules without names");
	egressbox_rules(&box, "allow good.example\ndeny all\n");
	is(outcome(spoke), "reset", "is cut by rules that allow a name only");
	close(spoke);
	close(one);
	put(silent, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	is(outcome(silent), "reset", "one that was silent has to say whom it is for");
	close(silent);
	close(two);
	silent = open_one("3.3.3.3", &two);
	put(silent, "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n");
	ok(got(two, "GET / HTTP/1.1\r\n"), "and the right name passes");
	egressbox_rules(&box, "allow good.example port 80\ndeny all\n");
	put(two, "answer");
	ok(got(silent, "answer"), "it stays under rules that allow its name");
	egressbox_rules(&box, "allow other.example\ndeny all\n");
	is(outcome(silent), "reset", "and goes under those that do not");
	close(silent);
	close(two);
	egressbox_rules(&box, "");
}

TEST(again)
{
	struct msg_net_info before;
	int                 server, client = open_one("1.1.1.1", &server);

	msg_defaults(MSG_NET_INFO, &before);
	before.total = 1000;
	before.denied = 2;
	before.open = 55;
	before.sent_bytes = 1 << 20;
	struct msg_net_denial old[2];
	for (int i = 0; i < 2; i++)
		msg_defaults(MSG_NET_DENIAL, &old[i]);
	old[0].address = "9.1.1.1";
	old[0].rule = "deny 9.1.1.1";
	old[1].address = "9.2.2.2";
	old[1].rule = "deny 9.2.2.2";
	old[1].count = 7;
	before.denials.v = old;
	before.denials.n = 2;
	egressbox_open(&box, &inside, "deny 8.8.8.8", &before);
	is(outcome(client), "reset", "a session that is told again begins again");
	close(client);
	close(server);
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	cmp_ok(i->total, "==", 1000, "with the numbers of before");
	cmp_ok(i->open, "==", 0, "but nothing open");
	cmp_ok(i->sent_bytes, "==", 1 << 20, "and bytes");
	is(denial_text(i, 0), "tcp - 9.1.1.1 0 deny 9.1.1.1 1", "and denials");
	is(denial_text(i, 1), "tcp - 9.2.2.2 0 deny 9.2.2.2 7", "in their order");
	client = inside_connect(&inside, "8.8.8.8", 80);
	is(outcome(client), "reset", "its own rules narrow");
	close(client);
	is(denial_text(egressbox_look(&box, &inside, false), 0), "tcp - 8.8.8.8 80 deny 8.8.8.8 1", "and are told");
	client = open_one("1.1.1.1", &server);
	put(client, "x");
	ok(got(server, "x"), "and no more than that");
	close(client);
	close(server);
}

TEST(counts)
{
	int server, client = open_one("1.1.1.1", &server);

	put(client, "12345");
	ok(got(server, "12345"), "bytes go out");
	uint64_t sent = egressbox_look(&box, &inside, false)->sent_bytes;
	while (box.counts.sent_bytes != sent)
		egressbox_await(&box, box.n_counts + 1, 0);
	cmp_ok(box.counts.open, "==", 1, "numbers are told by themselves");
	close(client);
	close(server);
	while (box.counts.open != 0)
		egressbox_await(&box, box.n_counts + 1, 0);
	pass("also that it has ended");
}

/* Many different ones at once: a few are told to the log, all are counted. */
TEST(log)
{
	enum { MANY = 200 };
	char address[32];

	uint64_t before = egressbox_look(&box, &inside, false)->denied;
	box.n_denied = 0;
	for (int i = 0; i < MANY; i++) {
		snprintf(address, sizeof(address), "10.9.9.%d", i);
		int client = inside_connect(&inside, address, 80);
		outcome(client);
		close(client);
	}
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	cmp_ok(i->denied - before, "==", MANY, "all denials are counted");
	cmp_ok(i->denials.n, "==", LIM_NET_DENIALS, "the last are kept");
	is(denial_text(i, 0), "tcp - 10.9.9.199 80 built-in: private 10.0.0.0/8 1", "the newest in front");
	cmp_ok(box.n_denied, "<", MANY, "not all are logged");
	cmp_ok(box.n_denied, ">", 0, "some are");
}

TEST(unknown)
{
	struct sandbox nobody = { .id = 999 };
	struct err     e = { 0 };

	uint64_t id = workbox_send(&box.work, MSG_EGRESS_LOOK, &(struct msg_egress_look){ .id = nobody.id });
	do
		must(workbox_receive(&box.work, &e) == 0, "gone: %s", e.text);
	while (box.work.reply.envelope == ENV_NOTICE);
	cmp_ok(box.work.reply.id, "==", id, "a question about nobody");
	is(box.work.reply.error.text, "session 999 has no network", "is refused");
	egressbox_close(&box, &nobody);
	cmp_ok(egressbox_look(&box, &inside, false)->mode, "==", NET_MODE_EGRESS, "and the end of nobody ends nothing");
}

int
main(void)
{
	world_begin();
	net_names("good.example 3.3.3.3\nother.example 3.3.3.3\n");
	egressbox_start(&box, "", NULL);
	sandbox_make(&inside, 51);
	egressbox_open(&box, &inside, NULL, NULL);
	web = net_listen(80);
	run_tests();
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends");
	sandbox_free(&inside);
	done_testing();
}
