/*
 * Commands are few enough (LIM_EXECS) to be found by walking the list.  Those that
 * have something to say stand in a queue and take turns, one message each, so that
 * a loud one does not drown the others.
 *
 * Reaping comes before the clock: a command that ended in time is not called late
 * because we were.
 */
#include "execs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "exec.h"

enum { REAP_SLICE = 512 }; /* deaths per turn; an orphaned fork bomb leaves tens of thousands */

struct execs {
	struct loop          *loop;
	const struct spawner *spawner;
	bool                  marks;
	struct exec_lists     lists;
	size_t                known;
	bool                  reap_due;
	struct sockets_limit  sockets;
	int64_t               wake_ns; /* not later than the earliest of theirs */
};

struct execs *
execs_open(struct loop *l, const struct spawner *by, bool marks, struct err *e)
{
	struct execs *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*s = (struct execs){ .loop = l, .spawner = by, .marks = marks, .wake_ns = NEVER };
	TAILQ_INIT(&s->lists.known);
	TAILQ_INIT(&s->lists.released);
	TAILQ_INIT(&s->lists.gone);
	TAILQ_INIT(&s->lists.todo);
	return s;
}

static struct exec *
execs_find(const struct execs *s, uint64_t id, struct err *e)
{
	struct exec *x;

	TAILQ_FOREACH (x, &s->lists.known, link)
		if (x->id == id)
			return x;
	err_set(e, E_NOTFOUND, "there is no command %lu", id);
	return NULL;
}

static struct exec *
find_managed(const struct execs *s, uint64_t id, struct err *e)
{
	struct exec *x = execs_find(s, id, e);

	if (x != NULL && !x->managed) {
		err_set(e, E_STATE, "command %lu is not a managed process", id);
		return NULL;
	}
	return x;
}

/* ---- what a master asks ------------------------------------------------------------ */

int
execs_spawn(struct execs *s, struct msg *m, struct err *e)
{
	const struct msg_spawn *body = m->body;

	if (execs_find(s, m->id, e) != NULL)
		return err_set(e, E_STATE, "command %lu exists already", m->id);
	if (s->known >= LIM_SPAWNS)
		return err_set(e, E_CAPACITY, "%zu commands are running or not released", s->known);
	if (body->cgroup == -1 && !s->marks)
		return err_set(e, E_INVALID, "a command needs its cgroup here");
	s->sockets = (struct sockets_limit){ body->sockets_bytes, body->sockets_counted };
	struct exec *before = NULL;
	if (body->continues != 0 && (before = find_managed(s, body->continues, e)) == NULL)
		return -1;
	if (before != NULL && before->state != EXEC_ENDED)
		return err_set(e, E_STATE, "command %lu has not ended", before->id);
	struct exec *x = exec_open(m->id, s->loop, s->spawner, m, &s->lists, before, e);
	if (x == NULL)
		return -1;
	if (before != NULL)
		exec_release(before);
	else
		s->known++;
	if (x->wake_ns < s->wake_ns)
		s->wake_ns = x->wake_ns;
	return 0;
}

int
execs_cancel(struct execs *s, uint64_t id, struct err *e)
{
	struct exec *x = execs_find(s, id, e);

	if (x == NULL)
		return -1;
	if (!exec_kill(x, CAUSE_CANCELLED))
		return err_set(e, E_NOTFOUND, "command %lu has ended", id);
	if (x->wake_ns < s->wake_ns)
		s->wake_ns = x->wake_ns;
	return 0;
}

const struct sockets_limit *
execs_sockets(const struct execs *s)
{
	return &s->sockets;
}

void
execs_kill_all(struct execs *s, enum cause cause, const char *why)
{
	struct exec *x;

	TAILQ_FOREACH (x, &s->lists.known, link) {
		if (x->state != EXEC_RUNNING || !exec_kill(x, cause))
			continue;
		if (x->error == NULL)
			x->error = strdup(why);
		if (x->wake_ns < s->wake_ns)
			s->wake_ns = x->wake_ns;
	}
}

int
execs_ack(struct execs *s, const struct msg_output_ack *m, struct err *e)
{
	struct exec *x = execs_find(s, m->call, e);

	if (x == NULL)
		return -1;
	pump_ack(&x->streams[m->stream], m->offset);
	if (x->managed && !m->unread)
		pump_read(&x->streams[m->stream], m->offset);
	if (x->managed)
		exec_touch(x); /* a ring may hold more than the window let out */
	return 0;
}

int
execs_detach(struct execs *s, uint64_t id, struct err *e)
{
	struct exec *x = execs_find(s, id, e);

	if (x == NULL)
		return -1;
	if (x->managed)
		pump_unfollow(&x->streams[STREAM_STDOUT]);
	else
		exec_detach(x);
	return 0;
}

int
execs_look(const struct execs *s, const struct msg_look *m, struct msg_managed *out, struct buf bytes[2], struct err *e)
{
	struct exec *x = find_managed(s, m->exec, e);

	if (x == NULL)
		return -1;
	managed_look(x, m, out, bytes);
	return 0;
}

int
execs_remember(struct execs *s, const struct msg_remember *m, struct err *e)
{
	struct exec *x = find_managed(s, m->exec, e);

	return x == NULL ? -1 : managed_remember(x, &m->about, e);
}

int
execs_feed(struct execs *s, uint64_t request, const struct msg_feed *m, struct err *e)
{
	struct exec *x = find_managed(s, m->exec, e);

	return x == NULL ? -1 : managed_feed(x, request, m, e);
}

int
execs_follow(struct execs *s, const struct msg_follow *m, struct msg_followed *out, struct err *e)
{
	struct exec *x = find_managed(s, m->exec, e);

	return x == NULL ? -1 : managed_follow(x, m, out, e);
}

int
execs_terminate(struct execs *s, const struct msg_terminate *m, struct err *e)
{
	struct exec *x = find_managed(s, m->exec, e);

	if (x == NULL || managed_terminate(x, m->grace_ms, e) == -1)
		return -1;
	if (x->wake_ns < s->wake_ns)
		s->wake_ns = x->wake_ns;
	return 0;
}

int
execs_release(struct execs *s, uint64_t id, struct err *e)
{
	struct exec *x = execs_find(s, id, e);

	if (x == NULL)
		return -1;
	if (x->state != EXEC_ENDED)
		return err_set(e, E_STATE, "command %lu has not ended", id);
	assert(s->known > 0);
	exec_release(x);
	s->known--;
	return 0;
}

static const struct msg_resume *
resume_of(const struct msg_attach *m, uint64_t id)
{
	for (size_t i = 0; i < m->execs.n; i++)
		if (m->execs.v[i].exec == id)
			return &m->execs.v[i];
	return NULL;
}

/*
 * A managed process is left as it is: what its follower had not acknowledged is held until the
 * new master has looked, and follows or detaches.
 */
static void
resume(struct exec *x, const struct msg_resume *from)
{
	if (x->streamed && !x->detached && (from == NULL || !from->wanted))
		exec_detach(x);
	if (from != NULL && !x->managed) {
		pump_rewind(&x->streams[STREAM_STDOUT], from->stdout_offset);
		pump_rewind(&x->streams[STREAM_STDERR], from->stderr_offset);
	}
	feed_forget_request(&x->in);
	x->reply_due = true;
	exec_touch(x);
}

int
execs_attach(struct execs *s, const struct msg_attach *m, struct msg_attached *out, struct err *e)
{
	struct msg_resume *v = calloc(s->known + 1, sizeof(*v));
	struct exec       *x;
	size_t             n = 0;

	if (v == NULL)
		return err_set(e, E_SYS, "no memory for a list of %zu commands", s->known);
	TAILQ_FOREACH (x, &s->lists.known, link) {
		resume(x, resume_of(m, x->id));
		v[n++] = (struct msg_resume){
			.exec = x->id,
			.stdout_offset = x->streams[STREAM_STDOUT].total,
			.stderr_offset = x->streams[STREAM_STDERR].total,
			.wanted = !x->detached,
			.managed = x->managed,
			.slot = x->slot,
		};
	}
	out->execs.n = n;
	out->execs.v = v;
	return 0;
}

/* ---- its messages ---------------------------------------------------------------------- */

int
execs_next(struct execs *s, struct packet *out, struct err *e)
{
	struct exec *x;

	while ((x = TAILQ_FIRST(&s->lists.todo)) != NULL) {
		TAILQ_REMOVE(&s->lists.todo, x, todo);
		x->queued = false;
		int r = exec_next(x, out, e);
		if (r != 0)
			exec_touch(x); /* there may be more, after the others' turns */
		if (r != 0)
			return r;
	}
	return 0;
}

/* ---- time and death ------------------------------------------------------------------- */

void
execs_child_signal(struct execs *s)
{
	s->reap_due = true;
}

static void
reaped(struct execs *s, pid_t pid, int status)
{
	struct exec *x;

	TAILQ_FOREACH (x, &s->lists.known, link)
		if (x->pid == pid) {
			exec_exited(x, status);
			return;
		}
}

/* Orphans are reaped too, and forgotten. */
static void
reap(struct execs *s)
{
	int status;

	for (int i = 0; i < REAP_SLICE; i++) {
		pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (pid <= 0) {
			s->reap_due = false;
			return;
		}
		reaped(s, pid, status);
	}
}

/* Those whose time has come; and, after a death, those that are being killed. */
static void
tick(struct execs *s, bool after_death)
{
	int64_t      now = now_ns();
	struct exec *x;

	if (now < s->wake_ns && !after_death)
		return;
	s->wake_ns = NEVER;
	TAILQ_FOREACH (x, &s->lists.known, link) {
		if (x->wake_ns <= now || (after_death && (x->state == EXEC_KILLING || x->state == EXEC_LEAVING)))
			exec_tick(x);
		if (x->wake_ns < s->wake_ns)
			s->wake_ns = x->wake_ns;
	}
}

void
execs_turn(struct execs *s)
{
	struct exec *x;
	bool         deaths = s->reap_due;

	if (deaths)
		reap(s);
	tick(s, deaths);
	while ((x = TAILQ_FIRST(&s->lists.gone)) != NULL) {
		TAILQ_REMOVE(&s->lists.gone, x, link);
		exec_free(x);
	}
}

int64_t
execs_wake(const struct execs *s)
{
	return s->reap_due ? 0 : s->wake_ns;
}

size_t
execs_known(const struct execs *s)
{
	return s->known;
}
