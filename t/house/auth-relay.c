/* A relay is let in for one managed process of a workspace, checked in the order of LangBot's own runtime. */
#include "authbox.h"
#include "tap.h"

#define REFUSED "unauthorized: Unauthorized"
#define NAMESPACE "ws-9d14934957e7ea8dcfa33291"
#define SESSION NAMESPACE "-g1-s"

static const struct msg_context context = { .instance = "inst-1", .workspace = "ws-1", .generation = 1 };
static uint64_t                 host; /* a connection that is let in */

static struct msg_http_auth
relay_of(const char *session, const char *process)
{
	struct msg_http_auth a;

	msg_defaults(MSG_HTTP_AUTH, &a);
	a.use = HTTP_USE_RELAY;
	a.token = TEST_TOKEN;
	a.instance = "inst-1";
	a.workspace = "ws-1";
	a.generation = 1;
	a.session = session;
	a.process = process;
	return a;
}

static const char *
knock(const struct msg_http_auth *a)
{
	return request(by_http(), MSG_HTTP_AUTH, a);
}

TEST(too_early)
{
	struct msg_http_auth a = relay_of(SESSION, "echo");

	is(knock(&a), REFUSED, "while no instance is trusted there is no relay");
	is(status_text("trusted_instance"), "", "and a relay makes none trusted");
	host = by_http();
	is(try_rpc(host, TEST_TOKEN, "inst-1"), "", "an instance comes");
	is(knock(&a), REFUSED, "a workspace that was never heard of has no generation");
}

static bool
start_process(const char *name, const char *command)
{
	struct msg_box_process_start p;

	msg_defaults(MSG_BOX_PROCESS_START, &p);
	p.context = context;
	p.session_id = "s";
	p.process_id = name;
	p.command = command;
	p.cwd = "/tmp";
	return *request(host, MSG_BOX_PROCESS_START, &p) == '\0';
}

TEST(make_session)
{
	struct msg_box_create c;

	msg_defaults(MSG_BOX_CREATE, &c);
	c.context = context;
	c.spec.session_id = "s";
	c.spec.workdir = "/tmp";
	c.spec.mount_path = "/workspace";
	const char *why = request(host, MSG_BOX_CREATE, &c);
	must(*why == '\0', "no session: %s", why);
	ok(start_process("echo", "cat"), "a process runs");
	ok(start_process("brief", "true"), "and one that ends");
}

TEST(refuses_without_a_word)
{
	char                 workspace[300];
	struct msg_http_auth a = relay_of(SESSION, "echo");

	a.token = "wrong";
	is(knock(&a), REFUSED, "a wrong token");
	a = relay_of(SESSION, "echo");
	a.instance = "inst-2";
	is(knock(&a), REFUSED, "another instance");
	a = relay_of(SESSION, "echo");
	a.workspace = "";
	is(knock(&a), REFUSED, "no workspace");
	memset(workspace, 'w', sizeof(workspace));
	workspace[257] = '\0';
	a.workspace = workspace;
	is(knock(&a), REFUSED, "one of 257 characters");
	a = relay_of(SESSION, "echo");
	a.generation = 0;
	is(knock(&a), REFUSED, "no generation");
	a.generation = 2;
	is(knock(&a), REFUSED, "one that has not come");
	a = relay_of("s", "echo");
	is(knock(&a), REFUSED, "a logical name");
	a = relay_of(NAMESPACE "-g1-", "echo");
	is(knock(&a), REFUSED, "nothing behind the namespace");
	a = relay_of(NAMESPACE "-g2-s", "echo");
	is(knock(&a), REFUSED, "a session of another generation");
	a = relay_of("ws-000000000000000000000000-g1-s", "echo");
	is(knock(&a), REFUSED, "a session of another workspace");
}

TEST(tells_what_is_missing)
{
	struct msg_http_auth a = relay_of(NAMESPACE "-g1-none", "echo");

	is(knock(&a), "not_found: session " NAMESPACE "-g1-none not found", "no such session");
	a = relay_of(SESSION, "none");
	is(knock(&a), "no_process: session " SESSION " has no managed process with process_id=none", "no such process");
	a = relay_of(SESSION, "");
	is(knock(&a), "no_process: session " SESSION " has no managed process with process_id=default",
	    "without a name it is default");
	a = relay_of(SESSION, "brief");
	const char *why = knock(&a);
	while (*why == '\0') /* it has not ended yet */
		why = knock(&a);
	is(why, "not_running: managed process brief in session " SESSION " is not running", "one that has ended");
}

TEST(has_one_process)
{
	struct msg_http_auth      a = relay_of(SESSION, "echo");
	struct msg_process_write  w;
	struct msg_process_attach at;
	struct msg_box_ping       ping;
	struct msg_status         status;
	uint64_t                  conn = by_http();

	msg_defaults(MSG_PROCESS_WRITE, &w);
	msg_defaults(MSG_PROCESS_ATTACH, &at);
	msg_defaults(MSG_BOX_PING, &ping);
	w.session = at.session = SESSION;
	w.process = at.process = "echo";
	w.data = blob_of("hello\n", 6);
	at.window = 4096;
	like(
	    request(conn, MSG_PROCESS_WRITE, &w), "^denied: process_write is not for a stranger", "not before it asks");
	is(request(conn, MSG_HTTP_AUTH, &a), "", "a relay is let in");
	is(request(conn, MSG_PROCESS_WRITE, &w), "", "it may write to its process");
	uint64_t   attached = say_request(conn, MSG_PROCESS_ATTACH, &at);
	struct msg m;
	do {
		hear(&m);
		bool output = m.envelope == ENV_NOTICE && m.type == MSG_OUTPUT && m.conn == conn;
		msg_clear(&m);
		if (output)
			break;
	} while (true);
	pass("it may attach, and gets output");
	w.process = at.process = "brief";
	like(request(conn, MSG_PROCESS_WRITE, &w), "^denied: this relay is for process echo", "not to another process");
	like(request(conn, MSG_PROCESS_ATTACH, &at), "^denied: this relay", "nor attach to it");
	w.process = "echo";
	w.session = NAMESPACE "-g1-t";
	like(request(conn, MSG_PROCESS_WRITE, &w), "^denied: this relay", "nor in another session");
	like(request(conn, MSG_BOX_PING, &ping), "^denied: box_ping is not for a relay", "no action");
	like(request(conn, MSG_STATUS, &status), "^denied: status is not for a relay", "no native request");
	like(request(conn, MSG_HTTP_AUTH, &a), "^denied: http_auth is not for a relay", "it asks once");
	struct msg_cancel cancel = { .call = attached };
	is(request(conn, MSG_CANCEL, &cancel), "", "it may detach");
	like(request(host, MSG_PROCESS_WRITE, &w), "^denied: process_write is not for a client of /rpc/ws",
	    "what a relay may, /rpc/ws may not");
}

/* One that leaves while it is looked at is nobody's burden. */
TEST(leaves_early)
{
	struct msg_http_auth a = relay_of(SESSION, "echo");
	uint64_t             conn = by_http();

	say_request(conn, MSG_HTTP_AUTH, &a);
	say_gone(conn);
	is(knock(&a), "", "after one that left at once another is let in");
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
