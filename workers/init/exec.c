/*
 *	RUNNING ---------------> DRAINING -> ENDED -> RELEASED -> GONE -> freed by execs.c
 *	   \--> (LEAVING) -> KILLING --^
 *
 * DRAINING ends when the bytes that were in the pipes at the exit have been taken
 * out, not at the end of the pipes: a background child may hold those for ever.
 * For a streamed command that can take as long as the master leaves the window
 * shut; nothing is lost for being in a hurry.
 *
 * KILLING ends when the foreground process is reaped and no live process of the
 * tree is left.  A managed process goes through it however it ended: what it leaves
 * behind would stand in the way of the next one, and be nobody's.  Only where it was told to
 * end, and its group with it, the others have the rest of the time (LEAVING).
 *
 * From ENDED on the result does not change and is sent to each master that comes,
 * until one says that it has been passed on.
 */
#include "exec.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"

#define MS_NS 1000000LL
#define KILL_TICK_NS (5 * MS_NS)

/* ---- its messages ---------------------------------------------------------------- */

void
exec_touch(struct exec *x)
{
	if (x->queued)
		return;
	TAILQ_INSERT_TAIL(&x->lists->todo, x, todo);
	x->queued = true;
}

static int
encode_output(struct exec *x, enum stream which, struct packet *out, struct err *e)
{
	struct pump      *p = &x->streams[which];
	const void       *bytes;
	size_t            n = pump_peek(p, &bytes);
	struct msg_output body = { .call = x->id, .stream = which, .offset = p->sent, .data = blob_of(bytes, n) };

	if (msg_encode(out, MSG_OUTPUT, 0, 0, &body, e) == -1)
		return -1;
	pump_advance(p, n);
	return 1;
}

void
exec_result(const struct exec *x, struct msg_exec_result *r)
{
	const struct buf *out = &x->streams[STREAM_STDOUT].kept, *err = &x->streams[STREAM_STDERR].kept;

	msg_defaults(MSG_EXEC_RESULT, r);
	r->cause = x->cause;
	r->exit_code = x->exit_code;
	r->signal = WIFSIGNALED(x->status) ? (uint64_t)WTERMSIG(x->status) : 0;
	r->killed = x->tree.killed;
	r->duration_us = x->duration_us;
	r->stdout = blob_of(out->data, out->len);
	r->stderr = blob_of(err->data, err->len);
	r->stdout_bytes = x->bytes[STREAM_STDOUT];
	r->stderr_bytes = x->bytes[STREAM_STDERR];
	r->error = x->error != NULL ? x->error : "";
}

/* If the output cannot be put beside the message, its end is still told, and what happened to the output. */
static int
encode_result(struct exec *x, struct packet *out, struct err *e)
{
	struct msg_exec_result r;

	exec_result(x, &r);
	if (msg_encode_reply(out, MSG_EXEC_RESULT, x->id, 0, &r, e) == -1) {
		packet_clear(out);
		r.stdout = r.stderr = blob_of(NULL, 0);
		r.error = e->text;
		struct err again;
		if (msg_encode_reply(out, MSG_EXEC_RESULT, x->id, 0, &r, &again) == -1)
			return -1;
	}
	x->reply_due = false;
	return 1;
}

int
exec_next(struct exec *x, struct packet *out, struct err *e)
{
	const void *bytes;

	if (x->in.settled)
		return managed_next(x, out, e);
	for (int i = 0; i < 2; i++)
		if (pump_peek(&x->streams[i], &bytes) > 0)
			return encode_output(x, (enum stream)i, out, e);
	if (x->state == EXEC_ENDED && x->reply_due)
		return encode_result(x, out, e);
	return 0;
}

/* ---- its end -------------------------------------------------------------------------- */

static void
end(struct exec *x)
{
	x->state = EXEC_ENDED;
	x->wake_ns = NEVER;
	x->reply_due = true;
	tree_clear(&x->tree);
	if (x->managed)
		feed_close(&x->in, "it has ended");
	for (int i = 0; i < 2; i++) {
		x->bytes[i] = x->streams[i].total;
		pump_stop(&x->streams[i]);
	}
	exec_touch(x);
}

static void
end_when_settled(struct exec *x)
{
	if (x->state == EXEC_DRAINING && pump_settled(&x->streams[0]) && pump_settled(&x->streams[1]))
		end(x);
}

static void
drain(struct exec *x)
{
	x->state = EXEC_DRAINING;
	x->wake_ns = NEVER;
	pump_settle(&x->streams[0]);
	pump_settle(&x->streams[1]);
	exec_touch(x);
	end_when_settled(x);
}

/* Gone for good once nobody will ask for the result and nobody can write any more. */
static void
gone_when_closed(struct exec *x)
{
	if (x->state != EXEC_RELEASED || x->streams[0].source.fd != -1 || x->streams[1].source.fd != -1)
		return;
	x->state = EXEC_GONE;
	TAILQ_REMOVE(&x->lists->released, x, link);
	TAILQ_INSERT_TAIL(&x->lists->gone, x, link);
}

static void
on_moved(struct exec *x)
{
	if (x->state < EXEC_ENDED)
		exec_touch(x);
	end_when_settled(x);
	gone_when_closed(x);
}

static void
on_stdout_moved(struct pump *p)
{
	on_moved((struct exec *)((char *)p - offsetof(struct exec, streams[STREAM_STDOUT])));
}

static void
on_stderr_moved(struct pump *p)
{
	on_moved((struct exec *)((char *)p - offsetof(struct exec, streams[STREAM_STDERR])));
}

static void finish_off(struct exec *);

void
exec_exited(struct exec *x, int status)
{
	x->pid = 0;
	x->status = status;
	x->ended_ms = epoch_ms();
	x->duration_us = (uint64_t)(now_ns() - x->started_ns) / 1000;
	if (x->state == EXEC_KILLING) {
		exec_tick(x);
		return;
	}
	x->cause = WIFSIGNALED(status) ? CAUSE_SIGNAL : CAUSE_EXIT;
	x->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (!x->managed)
		drain(x);
	else if (x->terminated && managed_group_lives(x))
		x->state = EXEC_LEAVING;
	else
		finish_off(x);
}

static void
kill_on(struct exec *x)
{
	switch (tree_kill(&x->tree)) {
	case TREE_GONE:
		if (x->pid == 0) {
			drain(x);
			break;
		}
		assert(x->pid > 0);    /* of -1 pid 1 kills all */
		kill(x->pid, SIGKILL); /* dying already, unless its cgroup was taken away under it */
		x->wake_ns = now_ns() + KILL_TICK_NS;
		break;
	case TREE_BUSY:
		x->wake_ns = now_ns();
		break;
	case TREE_WAIT:
		x->wake_ns = now_ns() + KILL_TICK_NS;
		break;
	}
}

bool
exec_kill(struct exec *x, enum cause why)
{
	int status;

	if (x->state == EXEC_KILLING)
		return true;
	if (x->state != EXEC_RUNNING)
		return false;
	/* what it did by itself before we came is its own end */
	if (waitpid(x->pid, &status, WNOHANG) == x->pid) {
		exec_exited(x, status);
		return false;
	}
	x->state = EXEC_KILLING;
	x->cause = why;
	kill_on(x);
	return true;
}

/* What is left of a managed process that has ended; how it ended stands. */
static void
finish_off(struct exec *x)
{
	x->state = EXEC_KILLING;
	kill_on(x);
}

void
exec_tick(struct exec *x)
{
	if (x->state == EXEC_RUNNING)
		exec_kill(x, x->terminated ? CAUSE_CANCELLED : CAUSE_TIMEOUT);
	else if (x->state == EXEC_LEAVING && (now_ns() >= x->wake_ns || !managed_group_lives(x)))
		finish_off(x);
	else if (x->state == EXEC_KILLING)
		kill_on(x);
}

/* ---- its start ------------------------------------------------------------------------ */

/* Of standard output, while it runs. */
static uint64_t
ring_of(const struct msg_spawn *m)
{
	uint64_t line = m->line_bytes > 0 ? m->line_bytes + LIM_RING_SPARE : 0;

	return line > m->ring_bytes ? line : m->ring_bytes;
}

static int
open_streams(struct exec *x, struct loop *l, const struct msg_spawn *m, int theirs[2], struct err *e)
{
	enum pump_mode mode = m->managed ? PUMP_RING : m->window > 0 ? PUMP_STREAM : PUMP_KEEP;
	uint64_t       limit = m->window > 0 ? m->window : m->keep_bytes;
	uint64_t       limits[2] = { m->managed ? ring_of(m) : limit, m->managed ? LIM_PREVIEW : limit };

	for (int i = 0; i < 2; i++)
		if (pump_open(&x->streams[i], l, mode, limits[i], &theirs[i], e) == -1)
			return -1;
	x->streams[STREAM_STDOUT].rest = m->managed ? m->ring_bytes : 0;
	x->streams[STREAM_STDOUT].moved = on_stdout_moved;
	x->streams[STREAM_STDERR].moved = on_stderr_moved;
	if (m->managed && m->window > 0) /* before its first byte: a follow that comes later may come too late */
		pump_follow(&x->streams[STREAM_STDOUT], UINT64_MAX, 0, m->window);
	return 0;
}

static int
exec_begin(struct exec *x, struct loop *l, const struct spawner *by, const struct msg_spawn *m, struct spawn_failure *f)
{
	static const char *const no_env[] = { NULL };
	AUTO_FD int              in = -1, out = -1, err = -1;
	int                      theirs[2] = { -1, -1 };

	if (m->managed && managed_start(x, l, m, &in, &f->why) == -1)
		return -1;
	int r = open_streams(x, l, m, theirs, &f->why);
	out = theirs[0];
	err = theirs[1];
	if (r == -1 || (x->tree.cgroup == -1 && tree_tag(&x->tree, &f->why) == -1))
		return -1;
	struct spawn s = {
		.argv = m->argv.v,
		.env = m->env.n > 0 ? m->env.v : no_env,
		.workdir = m->workdir,
		.in = m->managed ? in : m->stdin,
		.out = out,
		.err = err,
		.program = m->program,
		.script = m->script,
		.cgroup = x->tree.cgroup,
		.join = { m->join_memory, m->join_pids, m->join_freezer },
		.mounts = m->mounts,
	};
	x->pid = x->group = spawn(by, &s, f);
	return x->pid == -1 ? -1 : 0;
}

/* Clients that only know an exit code and standard error look for the reason there, where a shell would write it. */
static void
say_why(struct exec *x, const struct spawn_failure *f, const char *program)
{
	char line[ERR_TEXT + 32];

	if (f->missing)
		snprintf(line, sizeof(line), "boxd: %.*s: not found\n", ERR_TEXT, program);
	else
		snprintf(line, sizeof(line), "boxd: %s\n", f->why.text);
	if (x->streams[STREAM_STDERR].mode == PUMP_RING) /* else it was not even opened */
		pump_say(&x->streams[STREAM_STDERR], line);
}

static void
end_unstarted(struct exec *x, const struct spawn_failure *f, const char *program)
{
	if (x->managed)
		say_why(x, f, program);
	x->pid = 0;
	x->cause = f->cause;
	x->exit_code = f->exit_code;
	x->error = strdup(f->why.text);
	x->ended_ms = epoch_ms();
	for (int i = 0; i < 2; i++)
		loop_close(x->streams[i].loop, &x->streams[i].source); /* a ring may hold what was before */
	end(x);
}

struct exec *
exec_open(uint64_t id, struct loop *l, const struct spawner *by, struct msg *msg, struct exec_lists *lists,
    struct exec *before, struct err *e)
{
	const struct msg_spawn *m = msg->body;
	struct spawn_failure    f = { .cause = CAUSE_SPAWN, .exit_code = 126 };
	struct exec            *x = calloc(1, sizeof(*x));

	if (x == NULL) {
		err_set(e, E_SYS, "no memory for a command");
		return NULL;
	}
	x->id = id;
	x->lists = lists;
	x->managed = m->managed;
	x->streamed = m->window > 0 && !m->managed;
	x->slot = m->slot;
	TAILQ_INSERT_TAIL(&lists->known, x, link);
	x->exit_code = -1;
	x->streams[0].source.fd = x->streams[1].source.fd = x->in.source.fd = -1;
	tree_init(&x->tree);
	if (before != NULL)
		managed_inherit(x, before);
	x->tree.cgroup = msg_take_fd(msg, m->cgroup);
	x->started_ns = now_ns();
	x->wake_ns = m->timeout_ms > 0 ? x->started_ns + (int64_t)m->timeout_ms * MS_NS : NEVER;
	if (exec_begin(x, l, by, m, &f) == -1)
		end_unstarted(x, &f, m->argv.v[0]);
	return x;
}

/* ---- the rest --------------------------------------------------------------------------- */

void
exec_detach(struct exec *x)
{
	if (!x->streamed || x->detached)
		return;
	x->detached = true;
	pump_detach(&x->streams[0]);
	pump_detach(&x->streams[1]);
	exec_touch(x);
	end_when_settled(x);
}

void
exec_release(struct exec *x)
{
	x->state = EXEC_RELEASED;
	TAILQ_REMOVE(&x->lists->known, x, link);
	TAILQ_INSERT_TAIL(&x->lists->released, x, link);
	if (x->queued)
		TAILQ_REMOVE(&x->lists->todo, x, todo);
	x->queued = false;
	pump_forget(&x->streams[0]);
	pump_forget(&x->streams[1]);
	buf_clear(&x->about);
	free(x->error);
	x->error = NULL;
	gone_when_closed(x);
}

void
exec_free(struct exec *x)
{
	tree_clear(&x->tree);
	pump_clear(&x->streams[0]);
	pump_clear(&x->streams[1]);
	feed_clear(&x->in);
	buf_clear(&x->about);
	free(x->error);
	free(x);
}
