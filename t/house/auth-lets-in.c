/* Who shows the token and the trusted instance may use /rpc/ws, and nobody else. */
#include "authbox.h"
#include "tap.h"

#define REFUSED "unauthorized: Unauthorized"

static const char *
knock(const char *token, const char *instance)
{
	return try_rpc(by_http(), token, instance);
}

TEST(refuses)
{
	char longest[200];

	memset(longest, 'a', sizeof(longest));
	longest[129] = '\0';
	is(knock("", "inst-1"), REFUSED, "no token");
	is(knock("wrong", "inst-1"), REFUSED, "a wrong token");
	is(knock(TEST_TOKEN "x", "inst-1"), REFUSED, "one that is longer");
	is(knock(TEST_TOKEN, ""), REFUSED, "no instance");
	is(knock(TEST_TOKEN, "-inst"), REFUSED, "an instance that begins with a dash");
	is(knock(TEST_TOKEN, "in st"), REFUSED, "one with a blank");
	is(knock(TEST_TOKEN, longest), REFUSED, "one of 129 characters");
	is(status_text("trusted_instance"), "", "nobody of these is trusted");
	cmp_ok(status_number("http_refused"), "==", 7, "all are counted");
	ok(log_lines("from=127.0.0.1:[0-9]+ refused reason=\"wrong token\""), "the log has the address and the reason");
	ok(log_lines("wrong\"") == 0, "but not what was presented");
}

TEST(lets_in)
{
	struct msg_box_ping ping;
	uint64_t            conn = by_http();

	msg_defaults(MSG_BOX_PING, &ping);
	like(request(conn, MSG_BOX_PING, &ping), "^denied: box_ping is not for a stranger",
	    "before it asks it may do nothing");
	is(try_rpc(conn, TEST_TOKEN, "inst-1"), "", "the token and an instance are let in");
	is(request(conn, MSG_BOX_PING, &ping), "", "and may act");
	like(try_rpc(conn, TEST_TOKEN, "inst-1"), "^denied: http_auth", "it cannot ask twice");
	is(status_text("trusted_instance"), "inst-1", "the first instance is trusted");
	is(knock(TEST_TOKEN, "inst-1"), "", "again, on another connection");
	is(knock(TEST_TOKEN, "inst-2"), REFUSED, "another instance is refused");
	say_gone(conn);
	is(knock(TEST_TOKEN, "inst-2"), REFUSED, "also when the first is gone");
	ok(log_lines(TEST_TOKEN) == 0, "the log never has the token");
}

TEST(survives_a_gateway)
{
	authbox_gateway_dies();
	is(knock(TEST_TOKEN, "inst-2"), REFUSED, "a new gateway: the instance is still trusted");
	is(knock(TEST_TOKEN, "inst-1"), "", "and the socket is the same");
}

/* The kernel vouches for whoever may use the control socket. */
TEST(control_socket)
{
	is(try_rpc(by_control(SPEAKS_HTTP), "", "inst-1"), "", "HTTP on the control socket: no token is needed");
	is(try_rpc(by_control(SPEAKS_HTTP), "", ""), REFUSED, "but the instance is");
	is(try_rpc(by_control(SPEAKS_HTTP), "", "inst-2"), REFUSED, "the trusted one");
}

TEST(anybody_may_look)
{
	struct msg_http_health none;
	struct msg_http_ready  none_either;

	is(request(by_http(), MSG_HTTP_HEALTH, &none), "", "a stranger may ask for health");
	is(request(by_http(), MSG_HTTP_READY, &none_either), "", "and for readiness");
}

int
main(int argc, char **argv)
{
	authbox_main(argv);
	authbox_open("");
	run_tests();
	authbox_close();
	done_testing();
}
