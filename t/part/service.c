/* A helper process is started when it is asked, started again when it dies, and never waited for without an end. */
#include <ev.h>

#include "base/log.h"
#include "host/startup.h"
#include "supervisor/children/service.h"
#include "supervisor/core/dirs.h"
#include "tap.h"

enum { MOST_MS = 10000 };

/* ---- the helper: this program by another name ---------------------------------------------- */

static struct link *up;
static char mode[32]; /* good, mute: it says nothing; deaf: it answers nothing; bad, frail: it dies of a request */

static void
fake_on_msg(void *arg, struct msg *m)
{
	struct msg_store_ready  ready;
	struct msg_store_failed failed = { .code = "invalid", .reason = "not like that" };
	struct err              e;

	if (m->type == MSG_STORE_START) {
		snprintf(mode, sizeof(mode), "%s", ((const struct msg_store_start *)m->body)->base);
		msg_defaults(MSG_STORE_READY, &ready);
		if (strcmp(mode, "bad") == 0)
			link_send(up, MSG_STORE_FAILED, 0, 0, &failed, &e);
		else if (strcmp(mode, "mute") != 0)
			link_send(up, MSG_STORE_READY, 0, 0, &ready, &e);
	} else if (strcmp(mode, "frail") == 0) {
		_exit(3);
	} else if (strcmp(mode, "deaf") != 0) {
		link_reply(up, MSG_STORE_DISK, m->id, 0, &(struct msg_store_disk){ .why = mode }, &e);
	}
}

static void
fake_on_gone(void *arg, const struct err *why)
{
	_exit(0);
}

static int
fake_main(void)
{
	static const struct link_ops ops = { .on_msg = fake_on_msg, .on_gone = fake_on_gone };
	struct ev_loop              *loop = ev_default_loop(EVFLAG_AUTO);
	struct err                   e;

	up = link_open(loop, CHANNEL_FD, FROM_SUPERVISOR, &ops, NULL, &e);
	return up == NULL ? 1 : ev_run(loop, 0);
}

/* ---- its owner ----------------------------------------------------------------------------- */

static char            dir[] = "/tmp/boxd-t-service-XXXXXX";
static struct config   config;
static struct dirs     dirs;
static struct boxd     boxd;
static struct service *service;
static const char     *next_mode; /* of the next process that is started */
static int             starts, deaths, refusals;
static bool            admits;

static int
on_start(void *arg, struct link *l, struct err *e)
{
	struct msg_store_start m;

	msg_defaults(MSG_STORE_START, &m);
	m.base = next_mode;
	starts++;
	return link_send(l, MSG_STORE_START, 0, 0, &m, e);
}

static int
judge(void *arg, const struct msg *m, struct err *e)
{
	return m->type == MSG_STORE_FAILED
		   ? err_set(e, E_INVALID, "%s", ((const struct msg_store_failed *)m->body)->reason)
		   : 0;
}

static void
on_refused(void *arg, const struct err *why)
{
	refusals++;
}

static int
admit(void *arg, void *tag, const struct packet *p, struct err *e)
{
	return admits && p->bytes.len > 0 ? 0 : err_set(e, E_BUSY, "no room");
}

static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	deaths++;
	err_set(why, E_CRASH, "it died (%s)", how);
}

#define PLAN                                                                                                      \
	.program = "box-fake", .from = FROM_STORE, .ready = MSG_STORE_READY, .start_sec = 0.3, .start = on_start, \
	.judge = judge, .on_refused = on_refused, .admit = admit, .on_gone = on_gone

static const struct service_plan lasting = { PLAN, .answer_sec = 0.3, .restart = { .first_sec = .01, .most_sec = .1 } };
static const struct service_plan hurried = { PLAN, .wait_sec = 0.3, .restart = { .first_sec = .01, .most_sec = .1 } };
static const struct service_plan lazy = { PLAN, .answer_sec = 0.3 };

static void
use(const struct service_plan *plan, const char *first_mode)
{
	struct err e;

	next_mode = first_mode;
	starts = deaths = refusals = 0;
	admits = true;
	must((service = service_open(&boxd, plan, NULL, &e)) != NULL, "service_open: %s", e.text);
}

/* What answers said, in their order: "good ", or "code: message ". */
static char said[4 * ERR_TEXT];
static int  heard;

static void
hear(void *arg, const struct msg *m)
{
	size_t n = strlen(said);

	heard++;
	if (m->failed)
		snprintf(said + n, sizeof(said) - n, "%s: %.1000s ", err_wire_name(m->error.code), m->error.text);
	else
		snprintf(said + n, sizeof(said) - n, "%s ", ((const struct msg_store_disk *)m->body)->why);
}

static uint64_t
ask_it(struct err *e)
{
	struct asker who = { CONN_OWN, ask_open(&boxd, MSG_STORE_PROBE, hear, NULL, e), NULL };

	if (service_ask(service, &who, MSG_STORE_PROBE, &(struct msg_store_probe){}, e) == 0)
		return who.id;
	ask_drop(&boxd, who.id);
	return 0;
}

static void
on_stop(struct ev_loop *loop, ev_timer *t, int revents)
{
	ev_break(loop, EVBREAK_ONE);
}

static void
turn(double sec)
{
	ev_timer stop;

	ev_timer_init(&stop, on_stop, sec, 0.);
	ev_timer_start(boxd.loop, &stop);
	ev_run(boxd.loop, 0);
	ev_timer_stop(boxd.loop, &stop);
}

/* Asks so often, and waits for as many answers. */
static const char *
answers(int times)
{
	static struct err e;

	*said = '\0';
	heard = 0;
	for (int i = 0; i < times; i++)
		if (ask_it(&e) == 0)
			return e.text;
	for (int ms = 0; heard < times && ms < MOST_MS; ms += 10)
		turn(.01);
	return said;
}

/* ---- what it does ---------------------------------------------------------------------------- */

TEST(started)
{
	use(&lasting, "good");
	cmp_ok(starts, "==", 0, "nobody asked: nothing is started");
	is(answers(3), "good good good ", "what is asked waits until it serves, and is answered in order");
	cmp_ok(starts, "==", 1, "by one process");
	kill(child_pid(service_child(service)), SIGKILL);
	while (deaths == 0)
		turn(.01);
	is(answers(1), "good ", "another answers after its death");
	cmp_ok(starts, "==", 2, "which was started again by itself");
	service_close(&service);
}

TEST(failures)
{
	use(&lazy, "frail");
	is(answers(1), "crashed: it died (exit=3) ", "a request fails with its process");
	next_mode = "deaf";
	is(answers(1), "crashed: it died (signal=9) ", "one that does not answer is killed");
	next_mode = "mute";
	is(answers(1), "crashed: it died (signal=9) ", "and one that does not start");
	next_mode = "bad";
	is(answers(1), "invalid: not like that ", "one that its owner refuses fails what waited for it");
	next_mode = "good";
	is(answers(1), "good ", "what is asked then starts the next");
	cmp_ok(starts, "==", 5, "one at a time");
	service_close(&service);
}

TEST(waiting)
{
	pid_t pid;

	use(&hurried, "deaf");
	is(answers(2), "busy: box-fake does not answer busy: box-fake does not answer ", "a request waits so long");
	cmp_ok(deaths, "==", 0, "and its process lives on");
	pid = child_pid(service_child(service));
	*said = '\0';
	service_fail_all(service, &(struct err){ .code = E_SHUTDOWN, .text = "over" });
	is(said, "", "what was answered is answered once");
	kill(pid, SIGKILL);
	next_mode = "good";
	while (deaths == 0)
		turn(.01);
	is(answers(1), "good ", "the next one answers");
	service_close(&service);
}

TEST(candidate)
{
	struct err e;
	pid_t      old;

	use(&lasting, "good");
	answers(1);
	old = child_pid(service_child(service));
	next_mode = "bad";
	cmp_ok(service_try(service, &e), "==", 0, "a candidate is tried");
	is(answers(1), "good ", "beside the one that serves");
	while (refusals == 0)
		turn(.01);
	next_mode = "mute";
	service_try(service, &e);
	while (refusals == 1)
		turn(.01);
	pass("it can be refused, or too late");
	cmp_ok(child_pid(service_child(service)), "==", old, "and nothing has changed");
	next_mode = "other";
	service_try(service, &e);
	while (child_pid(service_child(service)) == old)
		turn(.01);
	is(answers(1), "other ", "one that is ready takes its place");
	service_close(&service);
}

TEST(refusing)
{
	struct err e;
	uint64_t   id;

	use(&lazy, "good");
	admits = false;
	cmp_ok(ask_it(&e), "==", 0, "the owner refuses a request");
	is(e.text, "no room", "for its own reason");
	*said = '\0';
	service_ask_own(service, MSG_STORE_PROBE, &(struct msg_store_probe){}, NULL, hear, NULL);
	is(said, "busy: no room ", "which is an answer to a request of boxd's own");
	admits = true;
	*said = '\0';
	id = ask_it(&e);
	ask_drop(&boxd, id);
	is(answers(1), "good ", "an answer that is not wanted any more is not given");
	kill(child_pid(service_child(service)), SIGKILL);
	while (deaths == 0)
		turn(.01);
	turn(.2);
	cmp_ok(starts, "==", 1, "without a policy nothing is started after a death");
	is(answers(1), "good ", "until it is needed again");
	service_close(&service);
	snprintf(dirs.libexec, sizeof(dirs.libexec), "%s/nowhere", dir);
	use(&lazy, "good");
	like(answers(1), "^start .*/nowhere/box-fake: No such file", "a program that is not there is told to who asks");
	service_close(&service);
}

int
main(int argc, char **argv)
{
	char       self[PATH_MAX] = "", link[PATH_MAX];
	struct err e = { 0 };

	if (argc == 1 && strstr(argv[0], "/box-fake") != NULL)
		return fake_main();
	must(mkdtemp(dir) != NULL && readlink("/proc/self/exe", self, sizeof(self) - 1) != -1, "mkdtemp");
	snprintf(link, sizeof(link), "%s/box-fake", dir);
	snprintf(dirs.libexec, sizeof(dirs.libexec), "%s", dir);
	must(symlink(self, link) != -1, "symlink");
	log_init("t", LOG_ERROR);
	boxd = (struct boxd){ .loop = ev_default_loop(EVFLAG_AUTO), .config = &config, .dirs = &dirs, .next_id = 1 };
	boxd.asks = asks_open(&e);
	run_tests();
	asks_close(&boxd.asks);
	while (wait(NULL) != -1)
		;
	unlink(link);
	rmdir(dir);
	done_testing();
}
