/*
 * On a slow machine this takes longer, but it ends.  Each attack has a deadline; the suite has none as long as rows
 * come.  The neighbour is used now and then, so that it does not end as idle.  A connection is opened when it is used,
 * because boxd closes one that says nothing for some seconds.
 *
 * Three sessions: one is attacked from inside, one is a neighbour that must not notice, and one is recreated for each
 * bomb.  We choose their names, so that they can be deleted whatever happens, and they end by themselves soon if we
 * are killed before that.
 */
#include "attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cmd.h"
#include "text.h"

/* Small, so that a bomb is over soon; large enough for every attack. */
enum { MEMORY_MB = 128, PIDS = 128, WORKSPACE_MB = 16, IDLE_SEC = 120 };

enum {
	PUT_MS = 60 * 1000,
	SUITE_MS = 60 * 60 * 1000, /* all attacks but bombs; what is left then is not tried */
	ALONE_MS = 60 * 1000,
	DEADLINE_MS = 30 * 1000, /* of one attack, by box-attack; it is idle otherwise, so the slowest takes a second */
	TOUCH_MS = IDLE_SEC * 1000 / 4,
};

/* How long until box-attack itself, which watches the attacks, is held to hang: with one attack, and with many. */
enum { ONE_DEADLINES = 2, SILENT_DEADLINES = 3 };

/* ---- the program ---- */

/* Beside boxctl itself in a build tree; in ../libexec/boxd when installed. */
static int
find_program(char *path, size_t size, struct err *e)
{
	char    self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n == -1)
		return err_sys(e, "where am I");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (int i = 0; i < 2; i++)
		if (snprintf(path, size, i == 0 ? "%s/box-attack" : "%s/../libexec/boxd/box-attack", self) <
			(int)size &&
		    access(path, R_OK) == 0)
			return 0;
	return err_set(e, E_SYS,
	    "box-attack is neither in %s nor in %s/../libexec/boxd: build it, or 'make install-attack'", self, self);
}

static int
read_program(struct buf *out, struct err *e)
{
	char path[PATH_MAX + 64];

	if (find_program(path, sizeof(path), e) == -1)
		return -1;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return err_sys(e, "open %s", path);
	for (;;) {
		if (buf_reserve(out, 256 * KIB) == -1)
			return err_set(e, E_SYS, "no memory for %s", path);
		ssize_t n = read(fd, out->data + out->len, 256 * KIB);
		if (n == -1 && errno != EINTR)
			return err_sys(e, "read %s", path);
		if (n == 0)
			return 0;
		out->len += n > 0 ? (size_t)n : 0;
		if (out->len > LIM_STDIN)
			return err_set(e, E_INVALID, "%s is over %s", path, text_size(LIM_STDIN));
	}
}

/* ---- sessions ---- */

/* Its exit code, or -1 when it did not end by itself. */
static int
attack_command_run(struct client *c, const struct attack_command *what, struct attack_exec *x, struct err *e)
{
	int code = -1;

	if (attack_exec_start(x, c, what, e) == -1 || attack_exec_wait(x, e) == -1)
		code = -1;
	else if (x->result == NULL)
		*e = x->why;
	else if (x->result->cause != CAUSE_EXIT)
		err_set(e, E_STATE, "a command in %s ended by %s", what->session,
		    x->result->error[0] != '\0' ? x->result->error
						: msg_enum_name(MSG_EXEC_RESULT, "cause", (int)x->result->cause));
	else
		code = (int)x->result->exit_code;
	return code;
}

static int
put_program(struct attack *a, struct client *c, const char *session, struct err *e)
{
	struct attack_exec          x = { 0 };
	const struct attack_command put = {
		.session = session,
		.command = "cat >" ATTACK_INSIDE " && chmod 755 " ATTACK_INSIDE,
		.input = a->program.data,
		.input_n = a->program.len,
		.timeout_ms = PUT_MS,
	};
	int code = attack_command_run(c, &put, &x, e);

	attack_exec_clear(&x);
	if (code > 0)
		err_set(
		    e, E_SYS, "box-attack could not be written to " ATTACK_INSIDE ": cat or chmod ended with %d", code);
	return code == 0 ? 0 : -1;
}

/* It waits while the others are attacked, and would end as idle.  Nobody waits for the answer. */
static int
touch_neighbour(struct attack *a, struct err *e)
{
	const char     *argv[] = { "true" };
	struct msg_exec ask;

	if (a->touched_ms == 0 || span_ms() < a->touched_ms + TOUCH_MS)
		return 0;
	a->touched_ms = span_ms();
	msg_defaults(MSG_EXEC, &ask);
	ask.session = a->neighbour;
	ask.argv = (struct strs){ 1, argv };
	ask.timeout_ms = ALONE_MS;
	ask.keep_bytes = 0;
	return client_send(&a->client, MSG_EXEC, &ask, NULL, e);
}

int
attack_session(struct attack *a, struct client *c, const char *name, struct msg *info, struct err *e)
{
	struct msg_create ask;
	struct msg        reply;

	if (touch_neighbour(a, e) == -1)
		return -1;
	msg_defaults(MSG_CREATE, &ask);
	ask.session = name;
	ask.spec.memory_mb = MEMORY_MB;
	ask.spec.pids_limit = PIDS;
	ask.spec.workspace_mb = WORKSPACE_MB;
	ask.spec.idle_sec = IDLE_SEC;
	if (client_call(c, MSG_CREATE, &ask, info != NULL ? info : &reply, e) == -1)
		return err_prefix(e, "a session for the attacks");
	if (info == NULL)
		msg_clear(&reply);
	return put_program(a, c, name, e);
}

int
attack_session_end(struct attack *a, struct client *c, const char *name, struct err *e)
{
	struct msg_delete ask = { .session = name };
	struct msg        reply;

	if (client_call(c, MSG_DELETE, &ask, &reply, e) == 0) {
		msg_clear(&reply);
		return 0;
	}
	return e->code == E_NOTFOUND ? 0 : -1;
}

int
attack_answers(struct attack *a, struct client *c, const char *session, struct err *e)
{
	const char                 *argv[] = { "true", NULL };
	const struct attack_command ask = { .session = session, .argv = argv, .timeout_ms = ALONE_MS };
	struct attack_exec          x = { 0 };
	int                         code = attack_command_run(c, &ask, &x, e);

	attack_exec_clear(&x);
	if (code > 0)
		err_set(e, E_STATE, "'true' ends with %d", code);
	return code == 0 ? 0 : -1;
}

/* ---- from inside ---- */

struct listing {
	struct attack *attack;
	long           end; /* what the last line told; -1: there was none */
	size_t         lines;
};

static void
on_row(void *arg, const char *line)
{
	struct listing *l = arg;
	struct err      ignored; /* a connection that fails here fails the exec, too */

	if (rows_take_line(&l->attack->rows, line, &l->end) && l->end == -1)
		l->lines++;
	(void)touch_neighbour(l->attack, &ignored);
}

static void
on_entry(void *arg, const char *line)
{
	struct listing *l = arg;

	l->lines += rows_take_entry(&l->attack->rows, line);
}

static int
list_attacks(struct attack *a, struct err *e)
{
	const char                 *argv[] = { ATTACK_INSIDE, "--list", NULL };
	const struct attack_command list = { .session = a->session, .argv = argv, .timeout_ms = PUT_MS };
	struct listing              l = { .attack = a };
	struct attack_exec          x = { .on_line = on_entry, .on_line_arg = &l };
	int                         code = attack_command_run(&a->client, &list, &x, e);

	attack_exec_clear(&x);
	if (code > 0 || (code == 0 && l.lines == 0))
		return err_set(e, E_SYS, "box-attack --list exited with %d and listed %zu attacks", code, l.lines);
	return code;
}

/*
 * What is wrong with how box-attack itself ended; false: nothing.  Too few rows would pass for a success, so the count
 * that it reports at its end must be the count that came.
 */
static bool
is_cut(const struct listing *l, int code, const struct err *e, char *why, size_t size)
{
	if (code == -1)
		snprintf(why, size, "box-attack did not end by itself: %s", e->text);
	else if (code > 1 || l->end < 0 || (size_t)l->end != l->lines)
		snprintf(
		    why, size, "box-attack exited with %d and reported %zu of %ld attacks", code, l->lines, l->end);
	else
		return false;
	return true;
}

/*
 * All attacks of the suite, or the one that is named, with our half's arguments.  What goes wrong gets a row, except
 * for a suite that is cut short by silence: what has no row then is tried again by name.
 */
static int
run_attacks(struct attack *a, const char *only, uint64_t timeout_ms, struct err *e)
{
	char        deadline[40], why[ERR_TEXT + 64];
	const char *argv[HOST_ARGS + 6] = { ATTACK_INSIDE, "--inside", deadline };
	size_t      n = 3;

	snprintf(deadline, sizeof(deadline), "deadline_ms=%lu", a->deadline_ms);
	if (only != NULL) {
		argv[n++] = "--only";
		argv[n++] = only;
	}
	for (size_t i = 0; i < a->host.args_n; i++)
		argv[n++] = a->host.args[i];
	const struct attack_command what = { .session = a->session, .argv = argv, .timeout_ms = timeout_ms };
	struct listing              l = { .attack = a, .end = -1 };
	struct attack_exec          x = { .on_line = on_row, .on_line_arg = &l };
	x.silence_ms = a->deadline_ms * (only != NULL ? ONE_DEADLINES : SILENT_DEADLINES);
	int  code = attack_command_run(&a->client, &what, &x, e);
	bool is_lost = a->client.broken || a->interrupt.count > 0, is_silent = x.is_silent;
	attack_exec_clear(&x);
	if (is_lost)
		return -1;
	if (is_silent && only != NULL)
		rows_add(&a->rows, only, ATTACK_OPEN, "no answer within %g s",
		    (double)(a->deadline_ms * ONE_DEADLINES) / 1000);
	else if (!is_silent && is_cut(&l, code, e, why, sizeof(why)))
		rows_add(&a->rows, only != NULL ? only : "suite", ATTACK_OPEN, "%s", why);
	return 0;
}

/* All at once, which is fast, and then one by one what did not answer, and what would have come after it. */
static int
run_suite(struct attack *a, struct err *e)
{
	uint64_t until_ms = span_ms() + SUITE_MS;
	size_t   left = 0;

	if (run_attacks(a, NULL, SUITE_MS, e) == -1)
		return -1;
	for (size_t i = 0; i < a->rows.listed_n; i++) {
		const struct attack_entry *x = &a->rows.listed[i];

		if ((strcmp(x->kind, "inside") != 0 && strcmp(x->kind, "anywhere") != 0) || rows_has(&a->rows, x->name))
			continue;
		if (span_ms() > until_ms)
			left++;
		else if (run_attacks(a, x->name, SUITE_MS, e) == -1)
			return -1;
	}
	if (left > 0)
		rows_add(&a->rows, "suite", ATTACK_OPEN, "%zu attacks were not tried: %d minutes are over", left,
		    SUITE_MS / 60000);
	return 0;
}

/* One exec each, since it may take its own company down; the sandbox must go on. */
static int
run_alone(struct attack *a, struct err *e)
{
	for (size_t i = 0; i < a->rows.listed_n; i++) {
		const struct attack_entry *x = &a->rows.listed[i];
		struct err                 why;

		if (strcmp(x->kind, "alone") != 0)
			continue;
		if (run_attacks(a, x->name, SUITE_MS, e) == -1)
			return -1;
		if (attack_answers(a, &a->client, a->session, &why) == -1) {
			if (a->client.broken || a->interrupt.count > 0) {
				*e = why;
				return -1;
			}
			rows_add(&a->rows, x->name, ATTACK_OPEN, "after it the session does not answer: %s", why.text);
		}
	}
	return 0;
}

/* ---- the whole ---- */

static int
connect_to(struct attack *a, struct client *c, struct err *e)
{
	if (client_open(c, a->args->socket, e) == -1)
		return -1;
	c->interrupt = &a->interrupt;
	c->patience = 1;
	return 0;
}

static int
ask_daemon(struct attack *a, uint64_t *daemon_pid, struct err *e)
{
	struct msg_status ask;
	struct msg        reply;

	msg_defaults(MSG_STATUS, &ask);
	if (client_call(&a->client, MSG_STATUS, &ask, &reply, e) == -1)
		return -1;
	const struct msg_status_result *s = reply.body;
	*daemon_pid = s->pid;
	host_arg(&a->host, "pid=%lu", s->pid);
	host_arg(&a->host, "state=%s", s->state_dir);
	host_arg(&a->host, "runtime=%s", s->runtime_dir);
	msg_clear(&reply);
	return 0;
}

static int
make_sessions(struct attack *a, struct err *e)
{
	struct msg neighbour;

	if (attack_session(a, &a->client, a->session, &a->created, e) == -1)
		return -1;
	const struct msg_session_info *mine = a->created.body;
	a->isolation = &mine->isolation;
	a->has_memory_limit = strstr(a->isolation->limits, "memory") != NULL;
	a->has_uids = strcmp(a->isolation->uids, "single") != 0;
	host_arg(&a->host, "pid=%lu", mine->worker_pid);
	if (attack_session(a, &a->client, a->neighbour, &neighbour, e) == -1)
		return -1;
	const struct msg_session_info *theirs = neighbour.body;
	host_arg(&a->host, "neighbour=%lu", theirs->init_pid);
	host_arg(&a->host, "neighbour=%lu", theirs->worker_pid);
	msg_clear(&neighbour);
	a->touched_ms = span_ms();
	return 0;
}

static int
attack_all(struct attack *a, struct err *e)
{
	uint64_t daemon_pid = 0;

	if (ask_daemon(a, &daemon_pid, e) == -1 || make_sessions(a, e) == -1 || list_attacks(a, e) == -1)
		return -1;
	rows_begin(&a->rows, a->args->json, &a->interrupt);
	if (run_suite(a, e) == -1 || run_alone(a, e) == -1 || attack_environment(a, daemon_pid, e) == -1 ||
	    attack_streams(a, e) == -1)
		return -1;
	if (host_victim_lives(&a->host))
		rows_add(&a->rows, "outside.victim", ATTACK_HELD, "the process that was to be killed lives");
	else
		rows_add(&a->rows, "outside.victim", ATTACK_OPEN, "the process that was to be killed is gone");
	return connect_to(a, &a->second, e) == -1 ? -1 : attack_bombs(a, e);
}

/* Signals that ended the attacks do not end this; one more does.  A new connection, whatever became of the old. */
static void
delete_sessions(struct attack *a)
{
	const char *const names[] = { a->session, a->neighbour, a->bomb };
	struct client     c;
	struct err        e;

	if (client_open(&c, a->args->socket, &e) == -1) {
		complain("sessions %s* may be left behind for %d s: %s", a->session, IDLE_SEC, e.text);
		return;
	}
	c.interrupt = &a->interrupt;
	c.patience = a->interrupt.count + 1;
	for (size_t i = 0; i < 3; i++)
		if (attack_session_end(a, &c, names[i], &e) == -1)
			complain("session %s may be left behind for %d s: %s", names[i], IDLE_SEC, e.text);
	client_close(&c);
}

static void
make_names(struct attack *a)
{
	uint64_t random = (uint64_t)getpid();

	(void)!getrandom(&random, sizeof(random), 0);
	snprintf(a->session, sizeof(a->session), "attack-%016lx", random);
	snprintf(a->neighbour, sizeof(a->neighbour), "attack-%016lx-neighbour", random);
	snprintf(a->bomb, sizeof(a->bomb), "attack-%016lx-bomb", random);
}

static int
attack_with_host(struct attack *a, struct err *e)
{
	int code = EXIT_BOXD;

	make_names(a);
	host_open(&a->host, a->session);
	int r = connect_to(a, &a->client, e);
	if (r == 0) {
		r = attack_all(a, e);
		rows_end_progress(&a->rows);
		delete_sessions(a);
	}
	host_close(&a->host);
	if (a->rows.lost != 0 && a->rows.lost != EPIPE) {
		complain("write standard output: %s", strerror(a->rows.lost));
		clearerr(stdout); /* main would complain again, and no longer knows why */
		code = EXIT_REFUSED;
	} else if (a->interrupt.count > 0)
		code = 128 + a->interrupt.signal;
	else if (r == -1)
		complain("%s", e->text);
	else
		code = rows_end(&a->rows, a->args->json, a->isolation);
	return code;
}

int
attack_main(const struct args *args)
{
	struct attack a = { .args = args, .interrupt = { .fd = -1 }, .client = { .fd = -1 }, .second = { .fd = -1 } };
	struct err    e;
	int           code = EXIT_BOXD;

	a.deadline_ms = args->exec.timeout_ms > 0 ? args->exec.timeout_ms : DEADLINE_MS;
	if (read_program(&a.program, &e) == -1 || interrupt_open(&a.interrupt, &e) == -1)
		complain("%s", e.text);
	else
		code = attack_with_host(&a, &e);
	if (a.isolation != NULL)
		msg_clear(&a.created);
	interrupt_close(&a.interrupt);
	client_close(&a.client);
	client_close(&a.second);
	rows_clear(&a.rows);
	buf_clear(&a.program);
	return code;
}
