/* A gateway that a stranger has taken over can say anything on its channel.  boxd asks the kernel, and its own books. */
#include "base/fd.h"
#include "base/memfd.h"
#include "authbox.h"
#include "tap.h"

static struct msg_status none;

/* A connection that it makes up of a socket it has. */
static const char *
pretend(int peer, enum speaks speaks)
{
	say_open(authbox_next, peer, speaks);
	return request(authbox_next++, MSG_STATUS, &none);
}

TEST(no_socket_makes_it_a_client)
{
	int pair[2];

	like(pretend(authbox_control, SPEAKS_NATIVE), "^denied: connection .* is not admitted",
	    "the listening socket is no client");
	like(pretend(authbox_chan, SPEAKS_NATIVE), "^denied: connection .* is not admitted",
	    "nor its own channel, whose other end is boxd");
	like(pretend(authbox_http, SPEAKS_NATIVE), "^denied: connection .* is not admitted",
	    "nor the listening socket of LangBot's door");
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != -1, "socketpair: %s", strerror(errno));
	like(pretend(pair[0], SPEAKS_NATIVE), "^denied: connection .* is not admitted", "nor a pair of its own");
	like(pretend(pair[0], SPEAKS_HTTP), "^denied: connection .* is not admitted", "not even as a stranger");
	close(pair[0]);
	close(pair[1]);
}

TEST(strangers_stay_strangers)
{
	struct msg_create     create;
	struct msg_box_exec   exec;
	struct msg_skill_list skills;
	uint64_t              conn = by_http();

	msg_defaults(MSG_CREATE, &create);
	msg_defaults(MSG_BOX_EXEC, &exec);
	msg_defaults(MSG_SKILL_LIST, &skills);
	exec.spec.session_id = "s";
	like(request(conn, MSG_STATUS, &none), "^denied: status is not for a stranger", "a stranger: no status");
	like(request(conn, MSG_CREATE, &create), "^denied: create is not for a stranger", "a stranger: no session");
	like(request(conn, MSG_BOX_EXEC, &exec), "^denied: box_exec is not for a stranger", "a stranger: no action");
	like(request(conn, MSG_SKILL_LIST, &skills), "^denied: skill_list is not for a stranger",
	    "a stranger: no skill");
	is(try_rpc(conn, TEST_TOKEN, "inst-1"), "", "one that is let in");
	like(request(conn, MSG_STATUS, &none), "^denied: status is not for a client of /rpc/ws",
	    "/rpc/ws: no native request");
	like(request(conn, MSG_CREATE, &create), "^denied: create is not for a client of /rpc/ws",
	    "/rpc/ws: no native session");
	struct msg_http_auth auth;
	msg_defaults(MSG_HTTP_AUTH, &auth);
	like(request(by_control(SPEAKS_NATIVE), MSG_HTTP_AUTH, &auth), "^denied: http_auth is not for a client",
	    "a native client asks for nothing");
}

TEST(ids_are_its_own)
{
	uint64_t real = authbox_next;

	like(request(real + 1000, MSG_STATUS, &none), "^denied: connection .* is not admitted",
	    "a connection that never came");
	authbox_next = UINT64_MAX; /* what boxd asks itself comes from there */
	say_request(by_control(SPEAKS_NATIVE), MSG_STATUS, &none);
	authbox_next = real + (2UL << 40); /* that is one of a gateway to come */
	say_request(by_control(SPEAKS_NATIVE), MSG_STATUS, &none);
	authbox_next = real;
	uint64_t client = by_control(SPEAKS_NATIVE);
	is(request(client, MSG_STATUS, &none), "", "a real client is served all the time");
	cmp_ok(log_lines("which is not one of its own"), "==", 4, "what came by ids of others was not heard");
	say_open(client, authbox_control, SPEAKS_HTTP);
	is(request(client, MSG_STATUS, &none), "", "and stays who it is, whatever is said of it later");
}

/* A stranger asks one thing at a time, or boxd would have to remember as many as it likes. */
TEST(one_question_at_a_time)
{
	struct msg_http_ready ready;
	struct msg_http_auth  auth;
	uint64_t              conn = by_http();

	msg_defaults(MSG_HTTP_AUTH, &auth);
	auth.token = "wrong";
	uint64_t first = say_request(conn, MSG_HTTP_AUTH, &auth);
	like(request(conn, MSG_HTTP_READY, &ready), "^protocol: connection .* has asked already", "a second question");
	like(
	    request(conn, MSG_HTTP_AUTH, &auth), "^protocol: connection .* has asked already", "or the same once more");
	like(answer(first), "^unauthorized: ", "the first is answered");
	auth.token = TEST_TOKEN;
	auth.instance = "inst-1";
	is(request(conn, MSG_HTTP_AUTH, &auth), "", "then it may ask again, and is let in");
	like(request(conn, MSG_HTTP_AUTH, &auth), "^denied: http_auth is not for a client of /rpc/ws", "but once");
}

static void
signal_store(int sig)
{
	char line[64] = "", find[96];

	snprintf(find, sizeof(find), "pgrep -x box-store -P \"$(pgrep -x boxd -P %d)\"", getpid());
	FILE *f = popen(find, "r");

	must(
	    f != NULL && fgets(line, sizeof(line), f) != NULL && kill(atoi(line), sig) != -1, "no box-store: %s", find);
	pclose(f);
}

/* Of 100 MiB, and none of it written: what counts is what it may become. */
static int
large_archive(void)
{
	struct err e;
	int        fd = memfd_new("archive", &e);

	must(
	    fd != -1 && ftruncate(fd, LIM_UPLOAD) != -1 && memfd_seal(fd, &e) != -1, "an archive: %s", strerror(errno));
	return fd;
}

/* Archives in front of box-store are memory, whoever still waits for them. */
TEST(archives_do_not_pile_up)
{
	struct msg_skill_preview m;
	struct msg_skill_list    list;
	uint64_t                 conn = by_http();
	AUTO_FD int              fd = large_archive();

	msg_defaults(MSG_SKILL_PREVIEW, &m);
	msg_defaults(MSG_SKILL_LIST, &list);
	is(try_rpc(conn, TEST_TOKEN, "inst-1"), "", "a client of /rpc/ws");
	m.context = list.context = (struct msg_context){ "inst-1", "ws-1", 1 };
	is(request(conn, MSG_SKILL_LIST, &list), "", "that is served by box-store");
	signal_store(SIGSTOP);
	m.archive = (struct blob){ .len = LIM_UPLOAD, .fd = fd };
	say_request(conn, MSG_SKILL_PREVIEW, &m);
	m.context.workspace = "ws-2"; /* one workspace alone may not fill it */
	say_request(conn, MSG_SKILL_PREVIEW, &m);
	m.context.workspace = "ws-1";
	like(request(conn, MSG_SKILL_PREVIEW, &m), "^busy: 200 MiB of archives wait for box-store already",
	    "300 MiB at one time are too much");
	say_gone(conn);
	conn = by_http();
	is(try_rpc(conn, TEST_TOKEN, "inst-1"), "", "another client, when the first has left");
	like(request(conn, MSG_SKILL_PREVIEW, &m), "^busy: 200 MiB of archives", "its archives are still there");
	signal_store(SIGCONT);
	is(request(conn, MSG_SKILL_LIST, &list), "", "box-store goes on");
	like(request(conn, MSG_SKILL_PREVIEW, &m), "^invalid: Uploaded archive exceeds the compressed size limit",
	    "and there is room again");
}

/* A field that is wrong fails its own request.  Many of them do not fill the log, and it is not restarted for it. */
TEST(wrong_fields_fail_alone)
{
	enum { MANY = 1000 };
	char           name[LIM_NAME + 2];
	struct msg_get get = { .session = memset(name, 'x', sizeof(name)) };
	uint64_t       conn = by_control(SPEAKS_NATIVE);
	int            refused = 0;

	name[LIM_NAME + 1] = '\0';
	like(request(conn, MSG_GET, &get), "^invalid: get.session: 256 bytes, over the maximum 255", "a name too long");
	for (int i = 0; i < MANY; i++)
		refused += strncmp(request(conn, MSG_GET, &get), "invalid: ", 9) == 0;
	cmp_ok(refused, "==", MANY, "each of many is answered");
	is(request(conn, MSG_STATUS, &none), "", "the connection is served all the time");
	cmp_ok(log_lines("bad request"), "<=", 10, "the log has not a line for each");
	cmp_ok(log_lines("gateway=.* gone"), "==", 0, "and the gateway is not ended for them");
}

TEST(not_without_end)
{
	enum { MANY = 200 };
	uint64_t last = 0;

	for (int i = 0; i < MANY; i++)
		last = by_control(SPEAKS_NATIVE);
	like(request(last, MSG_STATUS, &none), "^denied: connection",
	    "not more connections than boxd would ever let in");
}

int
main(int argc, char **argv)
{
	authbox_main(argv);
	authbox_open("max_connections = 64");
	run_tests();
	authbox_close();
	done_testing();
}
