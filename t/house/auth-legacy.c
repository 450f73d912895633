/* legacy_clients = yes: clients without instance and workspace are served, by raw names, in one workspace. */
#include "authbox.h"
#include "tap.h"

#define REFUSED "unauthorized: Unauthorized"

static struct msg_http_auth
relay_of(const char *session)
{
	struct msg_http_auth a;

	msg_defaults(MSG_HTTP_AUTH, &a);
	a.use = HTTP_USE_RELAY;
	a.session = session;
	return a;
}

static void
make_process(uint64_t conn)
{
	struct msg_box_create        c;
	struct msg_box_process_start p;

	msg_defaults(MSG_BOX_CREATE, &c);
	c.spec.session_id = "42";
	c.spec.workdir = "/tmp";
	c.spec.mount_path = "/workspace";
	const char *why = request(conn, MSG_BOX_CREATE, &c);
	must(*why == '\0', "no session: %s", why);
	msg_defaults(MSG_BOX_PROCESS_START, &p);
	p.session_id = "42";
	p.command = "cat";
	p.cwd = "/tmp";
	is(request(conn, MSG_BOX_PROCESS_START, &p), "", "a process without a name of its own");
}

TEST(served)
{
	struct msg_http_auth     a = relay_of("42"), absent = relay_of("43");
	struct msg_process_write w;

	authbox_open("legacy_clients = yes\nauth = none");
	uint64_t conn = by_http(), relay = by_http();
	is(try_rpc(conn, "", ""), "", "no instance is needed");
	is(status_text("trusted_instance"), "", "and none is trusted for that");
	make_process(conn);
	is(request(by_http(), MSG_HTTP_AUTH, &absent), "not_found: session 43 not found",
	    "a raw name that is none, told as it was said");
	is(request(relay, MSG_HTTP_AUTH, &a), "", "a relay by the raw name");
	msg_defaults(MSG_PROCESS_WRITE, &w);
	w.session = "42";
	w.data = blob_of("x\n", 2);
	is(request(relay, MSG_PROCESS_WRITE, &w), "", "which it goes on to use");
	w.process = "other";
	like(request(relay, MSG_PROCESS_WRITE, &w), "^denied: this relay", "for its one process");
	is(try_rpc(by_http(), "", "inst-1"), "", "clients of today are served beside it");
	authbox_close();
}

TEST(not_by_default)
{
	struct msg_http_auth a = relay_of("42");

	authbox_open("auth = none");
	is(try_rpc(by_http(), "", ""), REFUSED, "by default the instance is needed");
	is(request(by_http(), MSG_HTTP_AUTH, &a), REFUSED, "for a relay too");
	authbox_close();
	authbox_open("legacy_clients = yes");
	is(try_rpc(by_http(), "", ""), REFUSED, "with a token set, an old client needs it as well");
	is(try_rpc(by_http(), TEST_TOKEN, ""), "", "and may show it");
	authbox_close();
}

int
main(int argc, char **argv)
{
	authbox_main(argv);
	run_tests();
	done_testing();
}
