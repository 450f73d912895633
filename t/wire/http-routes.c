/*
 * Every HTTP route and every status it can have; what the supervisor is asked, and what becomes of its
 * answers.
 */
#include <netinet/in.h>

#include "base/fd.h"
#include "tap.h"
#include "webbox.h"

#define RELAY "/v1/sessions/ws-1%%2f-g1-s/managed-process/p%%20%%C3%%A9/ws" /* for printf */
#define HOST "Host: localhost:5410\r\n"

TEST(is_announced)
{
	AUTO_FD int        fd = web_dial();
	struct sockaddr_in a = { 0 };
	socklen_t          n = sizeof(a);
	struct msg         m;

	sup_until(MSG_CONN_OPEN, &m);
	const struct msg_conn_open *open = m.body;
	cmp_ok(
	    open->speaks, "==", SPEAKS_HTTP, "a client of LangBot's door is announced as one, before its first byte");
	getpeername(open->peer, (struct sockaddr *)&a, &n);
	cmp_ok(a.sin_family, "==", AF_INET, "with its socket, whose address the kernel tells");
	uint64_t conn = m.conn;
	msg_clear(&m);
	fd_close(&fd);
	sup_until_gone(conn);
	pass("and that it left");
}

TEST(health)
{
	struct client                c = web_open();
	struct msg_box_health_result r = { .sessions = 3,
		.managed_processes = 2,
		.completed_processes = 6,
		.starting = 1,
		.closing = 4,
		.running = 5 };
	struct msg                   m;

	web_say(&c, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
	sup_until(MSG_HTTP_HEALTH, &m);
	cmp_ok(m.conn, "==", c.conn, "/healthz asks the supervisor, without a word about who asks");
	sup_reply(MSG_BOX_HEALTH_RESULT, m.id, m.conn, &r);
	msg_clear(&m);
	const char *heard = web_hear(&c);
	like(heard, "^HTTP/1.1 200 OK\r\n", "200");
	like(heard, "Content-Type: application/json; charset=utf-8\r\n", "JSON");
	like(heard, "Connection: close\r\n", "and the end of the connection");
	like(heard,
	    "\r\n\r\n\\{\"live\":true,\"resources\":\\{\"event_loop\":\\{\\},\"blocking_executor\":\\{\\},\"sessions\":"
	    "3,"
	    "\"managed_processes\":2,\"completed_processes\":6,\"creating_session_tasks\":1,\"closing_session_tasks\":"
	    "4,\"background_tasks\":5"
	    "\\}\\}$",
	    "with the keys of the reference");
	client_close(&c);
}

TEST(health_fails)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c, "GET /healthz?x=1 HTTP/1.0\r\n\r\n");
	sup_until(MSG_HTTP_HEALTH, &m);
	pass("a query changes nothing, and a probe may speak HTTP/1.0 without Host");
	sup_fail(m.id, m.conn, E_STATE, "not \"now\"");
	msg_clear(&m);
	const char *heard = web_hear(&c);
	like(heard, "^HTTP/1.1 503 ", "503 when the supervisor cannot tell");
	like(heard, "\\{\"error\":\\{\"code\":\"BoxError\",\"message\":\"not \\\\\"now\\\\\"\"\\}\\}$", "and why");
	client_close(&c);
}

static const char *
ready(const char *method, const struct msg_readiness *r)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c, "%s /readyz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", method);
	sup_until(MSG_HTTP_READY, &m);
	sup_reply(MSG_READINESS, m.id, m.conn, r);
	msg_clear(&m);
	const char *heard = web_hear(&c);
	client_close(&c);
	return heard;
}

TEST(readiness)
{
	struct msg_check     check = { .name = "backend_available", .passed = true };
	struct msg_check     detail = { .name = "inode_quota", .passed = false };
	struct msg_readiness r;

	msg_defaults(MSG_READINESS, &r);
	r.ready = r.available = true;
	r.backend = "native";
	r.checks.n = 1;
	r.checks.v = &check;
	const char *heard = ready("GET", &r);
	like(heard, "^HTTP/1.1 200 ", "/readyz: 200 when ready");
	like(heard,
	    "\r\n\r\n\\{\"ready\":true,\"mode\":\"standard\",\"backend\":\\{\"name\":\"native\",\"available\":true\\},"
	    "\"checks\":\\{\"backend_available\":true\\},\"resources\":\\{\\}\\}$",
	    "with the keys of the reference");
	heard = ready("HEAD", &r);
	like(heard, "^HTTP/1.1 200 .*Content-Length: 1[0-9][0-9]\r\n.*\r\n\r\n$", "HEAD has the same without the body");
	r.ready = r.available = false;
	r.enforced = true;
	r.backend = "";
	r.details.n = 1;
	r.details.v = &detail;
	r.error = "no quota";
	heard = ready("GET", &r);
	like(heard, "^HTTP/1.1 503 Service Unavailable\r\n", "503 when not");
	like(heard,
	    "\\{\"ready\":false,\"mode\":\"grant_enforced\",\"backend\":\\{\"name\":null,\"available\":false,"
	    "\"details\":\\{\"inode_quota\":false\\}\\},\"checks\":\\{\"backend_available\":true\\},"
	    "\"unsafe_soft_storage_limits\":false,\"error\":\"no quota\"\\}$",
	    "and what LangBot's enforced mode looks at");
}

TEST(unknown_paths)
{
	like(web_ask("GET / HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 .*\r\n\r\n404: Not Found$", "404 for /");
	like(web_ask("GET /rpc/ws/ HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ", "and for a path that goes on");
	like(web_ask("POST /nothing HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ", "by any method");
	like(web_ask("GET /v1/sessions//managed-process/p/ws HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ",
	    "an empty session is none");
	like(web_ask("GET /v1/sessions/s/managed-process//ws HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ",
	    "nor is an empty process");
	like(web_ask("GET /v1/sessions/s/managed-process/p/q/ws HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ",
	    "nor one of two segments");
	like(web_ask("GET /v1/sessions/s/managed-process HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 404 ",
	    "nor half a path");
	const char *heard = web_ask("POST /rpc/ws HTTP/1.1\r\n" HOST "\r\n");
	like(heard, "^HTTP/1.1 405 .*\r\n\r\n405: Method Not Allowed$", "405 for another method");
	like(heard, "\r\nAllow: GET, HEAD\r\n", "which says what there is");
	like(web_ask("DELETE /healthz HTTP/1.1\r\n" HOST "\r\n"), "^HTTP/1.1 405 ", "probes too");
}

TEST(asks_who_it_is)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c, "GET " RELAY " HTTP/1.1\r\n" WEB_UPGRADE "x-langbot-box-control-token: \t a secret  \r\n"
		    "X-LangBot-Workspace-Id:ws-1\r\nX-LangBot-Placement-Generation: 12\r\n\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	const struct msg_http_auth *a = m.body;
	cmp_ok(a->use, "==", HTTP_USE_RELAY, "a relay asks for itself");
	is(a->token, "a secret", "with the token, stripped");
	is(a->instance, "inst-1", "the instance");
	is(a->workspace, "ws-1", "the workspace");
	cmp_ok(a->generation, "==", 12, "the generation");
	is(a->session, "ws-1/-g1-s", "the session, decoded");
	is(a->process, "p \xc3\xa9", "and the process");
	sup_fail(m.id, m.conn, E_UNAUTHORIZED, "no token of ours");
	msg_clear(&m);
	const char *heard = web_hear(&c);
	like(heard, "^HTTP/1.1 401 Unauthorized\r\n", "401");
	like(heard, "Content-Type: text/plain; charset=utf-8\r\n", "as text");
	like(heard, "\r\n\r\nUnauthorized$", "that tells nothing more");
	client_close(&c);
}

static uint64_t
generation(const char *text)
{
	struct client c = web_open();
	struct msg    m;

	web_say(&c,
	    "GET /v1/sessions/s/managed-process/ws HTTP/1.1\r\n" WEB_UPGRADE
	    "X-LangBot-Placement-Generation: %s\r\n\r\n",
	    text);
	sup_until(MSG_HTTP_AUTH, &m);
	const struct msg_http_auth *a = m.body;
	uint64_t                    n = strcmp(a->process, "default") == 0 ? a->generation : 77;
	msg_clear(&m);
	client_close(&c);
	return n;
}

TEST(generations)
{
	cmp_ok(generation("7"), "==", 7, "the short path is that of process default");
	cmp_ok(generation("07"), "==", 0, "a generation has no leading zero");
	cmp_ok(generation("+7"), "==", 0, "nor a sign");
	cmp_ok(generation("7 7"), "==", 0, "nor a space");
	cmp_ok(generation("0"), "==", 0, "and is not 0");
	cmp_ok(generation("18446744073709551615") == UINT64_MAX, "==", 1, "the greatest");
	cmp_ok(generation("18446744073709551616"), "==", 0, "and one more");
}

TEST(errors_of_a_relay)
{
	const char *request = "GET /v1/sessions/s/managed-process/p/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n";
	const char *heard = web_ask_refused(request, E_NOTFOUND, "session s not found");

	like(heard, "^HTTP/1.1 400 Bad Request\r\n", "400 for a session that is not there");
	like(heard, "Content-Type: application/json; charset=utf-8\r\n", "as JSON");
	like(heard, "\\{\"error\":\\{\"code\":\"BoxSessionNotFoundError\",\"message\":\"session s not found\"\\}\\}$",
	    "with LangBot's class");
	like(web_ask_refused(request, E_NOPROCESS, "x"), "BoxManagedProcessNotFoundError", "a process that is not");
	like(web_ask_refused(request, E_NOTRUNNING, "x"), "BoxManagedProcessConflictError", "or has ended");
	like(web_ask_refused(request, E_ADMISSION, "x"), "BoxAdmissionError", "no grant");
	like(web_ask_refused("HEAD /rpc/ws HTTP/1.1\r\n" HOST "\r\n", E_ADMISSION, "x"), "\r\n\r\n$",
	    "HEAD has no body here either");
}

TEST(only_websockets)
{
	struct client   c = web_open();
	struct msg_done done;
	struct msg      m;

	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" HOST "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	const struct msg_http_auth *a = m.body;
	ok(*a->token == '\0' && *a->instance == '\0', "without an upgrade, too, it is asked who it is");
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	like(web_hear(&c), "^HTTP/1.1 400 .*400: this path is a WebSocket", "then it is told what is missing");
	client_close(&c);
}

TEST(too_long_to_be_good)
{
	struct client c = web_open();
	struct msg    m;
	char          many[LIM_TOKEN + 2];

	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	web_say(&c, "GET /rpc/ws HTTP/1.1\r\n" HOST "X-LangBot-Box-Control-Token: %s\r\n\r\n", many);
	sup_until(MSG_HTTP_AUTH, &m);
	is(((const struct msg_http_auth *)m.body)->token, "", "a token that is too long is none");
	sup_fail(m.id, m.conn, E_UNAUTHORIZED, "");
	msg_clear(&m);
	like(web_hear(&c), "^HTTP/1.1 401 ", "and refused like one");
	client_close(&c);
}

TEST(strange_answers)
{
	struct client   c = web_open();
	struct msg_pong pong = { .version = "1" };
	struct msg_done done;
	struct msg      m;

	sup_reply(MSG_DONE, 1, c.conn, &done);
	web_ask("GET /x HTTP/1.1\r\n" HOST "\r\n"); /* by now it has arrived */
	web_say(&c, "GET /readyz HTTP/1.1\r\n" HOST "\r\n");
	sup_until(MSG_HTTP_READY, &m);
	sup_reply(MSG_DONE, m.id + 1, m.conn, &done);
	sup_reply(MSG_PONG, m.id, m.conn, &pong);
	msg_clear(&m);
	like(web_hear(&c), "^HTTP/1.1 503 .*BoxError",
	    "answers that nobody waits for are dropped, a wrong one is an error");
	client_close(&c);
}

TEST(closed_by_the_supervisor)
{
	struct msg_closing bye = { .code = "denied", .reason = "slow down" };
	struct client      c = web_open();

	sup_notice(MSG_CLOSING, c.conn, &bye);
	like(web_hear(&c), "^HTTP/1.1 403 .*403: slow down$", "who is denied before its first byte hears why");
	client_close(&c);
	c = web_open();
	bye.code = "busy";
	sup_notice(MSG_CLOSING, c.conn, &bye);
	like(web_hear(&c), "^HTTP/1.1 503 ", "and who comes at a bad time");
	client_close(&c);
}

int
main(void)
{
	struct msg_gateway_start s;

	gate_quiet = true; /* of strange answers it tells */
	web_plan(&s);
	web_start(&s);
	run_tests();
	web_stop();
	done_testing();
}
