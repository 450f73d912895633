#include "jobs.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "confine.h"
#include "fs/probe.h"
#include "serve.h"
#include "zip/staging.h"

struct job {
	TAILQ_ENTRY(job) next;
	struct jobs  *jobs;
	enum msg_type type;
	uint64_t      id;
	char          lane[LIM_NAME + 1];
	struct packet request; /* owned; descriptors of payloads are in it */

	/* while it runs */
	pid_t    pid;
	int      fd;      /* owned; one answer comes here */
	ev_io    reading; /* runs */
	ev_timer late;    /* runs */
};

TAILQ_HEAD(job_list, job);

/*
 * Removes what dead processes left behind, in a process of its own.  It may take long: a workspace may have put
 * millions of files into a package before it was removed.  No request waits for it.
 */
struct sweeper {
	pid_t pid;     /* 0: none runs */
	int   fd;      /* owned; its end is the process's */
	ev_io reading; /* runs */
	bool  again;   /* more was left meanwhile */
};

struct jobs {
	struct ev_loop     *loop;
	struct link        *link; /* borrowed */
	int                 link_fd;
	pid_t               pid; /* our own */
	const struct store *store;
	struct job_list     waiting; /* owned, in the order they came */
	struct job_list     running; /* owned */
	size_t              n_waiting, n_running;
	struct chan_in      in; /* owned; where answers are received */
	struct sweeper      sweeper;

	/* a proof holds as long as the file system is the same: it is not filled again and again */
	uint64_t              proved; /* probe_mark, or 0 */
	struct msg_store_disk proof;
};

static void start_more(struct jobs *);

/* ---- the process of one request ---------------------------------------------------------- */

static int
push(int fd, struct packet *p, struct err *e)
{
	int r;

	while ((r = chan_send(fd, p, e)) > 0)
		if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, r == 2 ? 10 : -1) == -1 && errno != EINTR)
			return err_sys(e, "poll");
	return r;
}

/* What belongs to others: the supervisor's channel, the loop, other requests. */
static void
let_go(struct jobs *js, const struct job *own)
{
	struct job *j;

	close(js->link_fd);
	if (js->sweeper.pid != 0)
		close(js->sweeper.fd);
	TAILQ_FOREACH (j, &js->running, next)
		if (j != own)
			close(j->fd);
	TAILQ_FOREACH (j, &js->waiting, next)
		packet_clear(&j->request);
	ev_loop_destroy(js->loop);
}

static void __attribute__((noreturn)) work(struct jobs *js, struct job *j, int fd)
{
	struct packet out = { 0 };
	struct msg    m;
	struct err    e = { 0 };
	int           fds[LIM_PACKET_FDS];
	size_t        n = j->request.nfds;

	assert(n <= LIM_PACKET_FDS);
	let_go(js, j);
	memcpy(fds, j->request.fds, n * sizeof(*fds));
	j->request.nfds = 0; /* the message has them now */
	if (confine_job(js->pid, serve_alone(j->type), &e) == -1 ||
	    msg_decode(&m, j->request.bytes.data, j->request.bytes.len, fds, n, FROM_SUPERVISOR, &e) == -1 ||
	    serve(js->store, &m, &out, &e) == -1 || push(fd, &out, &e) == -1) {
		log_error("%s: %s", msg_name(j->type), e.text);
		_exit(1);
	}
	_exit(0);
}

/* ---- sweeping ---------------------------------------------------------------------------- */

static void __attribute__((noreturn)) sweep(struct jobs *js)
{
	struct err e = { 0 };

	let_go(js, NULL);
	prctl(PR_SET_NAME, "box-sweep", 0, 0, 0);
	if (confine_job(js->pid, false, &e) == -1) {
		log_error("sweep: %s", e.text);
		_exit(1);
	}
	staging_sweep(js->store->skills);
	_exit(0);
}

static void
end_sweep(struct jobs *js)
{
	struct sweeper *s = &js->sweeper;

	if (s->pid == 0)
		return;
	ev_io_stop(js->loop, &s->reading);
	fd_close(&s->fd);
	assert(s->pid > 0); /* 0 and -1 are many */
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) == -1 && errno == EINTR)
		;
	s->pid = 0;
}

static void
on_swept(struct ev_loop *loop, ev_io *w, int revents)
{
	struct jobs *js = w->data;

	end_sweep(js);
	if (js->sweeper.again)
		jobs_sweep(js);
}

static int
start_sweep(struct jobs *js, struct err *e)
{
	struct sweeper *s = &js->sweeper;
	int             ends[2];

	assert(s->pid == 0);
	if (chan_pair(ends, e) == -1)
		return -1;
	AUTO_FD int ours = ends[0], theirs = ends[1];
	pid_t       pid = fork();
	if (pid == -1)
		return err_sys(e, "start a process");
	if (pid == 0) {
		close(ours);
		sweep(js);
	}
	fd_close(&theirs); /* the process's alone, so that its end is seen */
	s->pid = pid;
	s->fd = fd_take(&ours);
	ev_io_init(&s->reading, on_swept, s->fd, EV_READ);
	s->reading.data = js;
	ev_io_start(js->loop, &s->reading);
	return 0;
}

void
jobs_sweep(struct jobs *js)
{
	struct err e = { 0 };

	js->sweeper.again = js->sweeper.pid != 0;
	if (!js->sweeper.again && start_sweep(js, &e) == -1)
		log_warn("sweep: %s", e.text);
}

/* ---- its answer -------------------------------------------------------------------------- */

static void
job_fail(struct jobs *js, uint64_t id, const struct err *why)
{
	struct err e = { 0 };

	if (link_fail(js->link, id, 0, why, &e) == -1)
		log_error("answer: %s", e.text);
}

static void
free_job(struct job *j)
{
	packet_clear(&j->request);
	free(j);
}

/* It has answered, or its channel has ended: either way it has nothing more to do. */
static void
end(struct job *j)
{
	struct jobs *js = j->jobs;
	int          status;

	assert(j->pid > 0 && j->fd >= 0 && js->n_running > 0);
	ev_io_stop(js->loop, &j->reading);
	ev_timer_stop(js->loop, &j->late);
	fd_close(&j->fd);
	kill(j->pid, SIGKILL);
	while (waitpid(j->pid, &status, 0) == -1 && errno == EINTR)
		;
	TAILQ_REMOVE(&js->running, j, next);
	js->n_running--;
	free_job(j);
}

static void
remember_proof(struct jobs *js, const struct msg *m)
{
	js->proof = *(const struct msg_store_disk *)m->body;
	js->proof.why = "";
	if (js->proof.hard_bytes && js->proof.hard_inodes)
		js->proved = probe_mark(js->store);
}

/* Whoever made the archive may control this process: it may answer its own request only, and in the right form. */
static void
pass_on(struct job *j, struct msg *m)
{
	struct jobs *js = j->jobs;
	struct err   e = { 0 };

	if (m->envelope != ENV_REPLY || m->id != j->id)
		err_set(&e, E_CRASH, "box-store: %s was answered with something else", msg_name(j->type));
	else if (m->failed)
		e = m->error;
	else if (msg_expect(m, msg_def(j->type)->result, &e) == 0) {
		if (j->type == MSG_STORE_PROBE)
			remember_proof(js, m);
		if (link_reply(js->link, msg_def(j->type)->result, j->id, 0, m->body, &e) == 0)
			return;
	}
	job_fail(js, j->id, &e);
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct job  *j = w->data;
	struct jobs *js = j->jobs;
	struct msg   m;
	struct err   e = { 0 };

	int r = chan_recv(j->fd, &js->in, &m, FROM_STORE, &e);
	if (r == 1)
		return;
	if (r == 0)
		pass_on(j, &m);
	else
		job_fail(js, j->id,
		    &(struct err){ .code = E_CRASH, .text = "box-store: the process that worked on it died" });
	msg_clear(&m);
	if (r != 0)
		log_error("job=%d %s died: %s", j->pid, msg_name(j->type), e.text);
	/* a process of the box-store before us may have held its directory when we started: look again now and then */
	bool left = r != 0 || j->type == MSG_SKILL_INSTALL;
	end(j);
	if (left)
		jobs_sweep(js);
	start_more(js);
}

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct job  *j = t->data;
	struct jobs *js = j->jobs;
	struct err   why;

	log_error("job=%d %s takes longer than %.0f s", j->pid, msg_name(j->type), LIM_STORE_JOB_SEC);
	err_set(&why, E_BUSY, "box-store: it took longer than %.0f seconds", LIM_STORE_JOB_SEC);
	job_fail(js, j->id, &why);
	end(j);
	jobs_sweep(js);
	start_more(js);
}

/* ---- starting ---------------------------------------------------------------------------- */

static int
job_start(struct jobs *js, struct job *j, struct err *e)
{
	int ends[2];

	if (chan_pair(ends, e) == -1)
		return -1;
	AUTO_FD int ours = ends[0], theirs = ends[1];
	j->pid = fork();
	if (j->pid == -1)
		return err_sys(e, "start a process for %s", msg_name(j->type));
	if (j->pid == 0) {
		close(ours);
		work(js, j, theirs);
	}
	packet_clear(&j->request);
	j->fd = fd_take(&ours);
	ev_io_init(&j->reading, on_readable, j->fd, EV_READ);
	ev_timer_init(&j->late, on_late, LIM_STORE_JOB_SEC, 0.);
	j->reading.data = j->late.data = j;
	ev_io_start(js->loop, &j->reading);
	ev_timer_start(js->loop, &j->late);
	return 0;
}

static bool
may_start(const struct jobs *js, const struct job *j)
{
	const struct job *r;

	TAILQ_FOREACH (r, &js->running, next)
		if (serve_alone(r->type) || strcmp(r->lane, j->lane) == 0)
			return false;
	return serve_alone(j->type) ? js->n_running == 0 : js->n_running < LIM_STORE_BUSY;
}

/* The first that may; one that must be alone is not overtaken for ever. */
static struct job *
next_job(struct jobs *js)
{
	struct job *j;

	TAILQ_FOREACH (j, &js->waiting, next) {
		if (may_start(js, j))
			return j;
		if (serve_alone(j->type))
			return NULL;
	}
	return NULL;
}

static void
start_more(struct jobs *js)
{
	struct job *j;

	while ((j = next_job(js)) != NULL) {
		struct err e = { 0 };

		assert(js->n_waiting > 0 && js->n_running < LIM_STORE_BUSY);
		TAILQ_REMOVE(&js->waiting, j, next);
		js->n_waiting--;
		TAILQ_INSERT_TAIL(&js->running, j, next);
		js->n_running++;
		if (job_start(js, j, &e) == 0)
			continue;
		job_fail(js, j->id, &e);
		TAILQ_REMOVE(&js->running, j, next);
		js->n_running--;
		free_job(j);
	}
}

int
jobs_deliver(struct jobs *js, const struct msg *m, struct err *e)
{
	const char *lane = serve_lane(m);

	if (lane == NULL)
		return err_set(e, E_PROTO, "box-store takes no %s", msg_name(m->type));
	if (m->type == MSG_STORE_PROBE && js->proved != 0 && js->proved == probe_mark(js->store))
		return link_reply(js->link, MSG_STORE_DISK, m->id, 0, &js->proof, e);
	if (js->n_waiting >= LIM_STORE_WAITING)
		return err_set(e, E_BUSY, "box-store: %zu requests wait already", js->n_waiting);
	struct job *j = calloc(1, sizeof(*j));
	if (j == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	*j = (struct job){ .jobs = js, .type = m->type, .id = m->id, .fd = -1 };
	snprintf(j->lane, sizeof(j->lane), "%s", lane);
	if (msg_encode(&j->request, m->type, m->id, 0, m->body, e) == -1) {
		free_job(j);
		return -1;
	}
	TAILQ_INSERT_TAIL(&js->waiting, j, next);
	js->n_waiting++;
	start_more(js);
	return 0;
}

struct jobs *
jobs_open(struct ev_loop *loop, struct link *link, int link_fd, const struct store *st, struct err *e)
{
	struct jobs *js = calloc(1, sizeof(*js));

	if (js == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*js = (struct jobs){ .loop = loop, .link = link, .link_fd = link_fd, .pid = getpid(), .store = st };
	TAILQ_INIT(&js->waiting);
	TAILQ_INIT(&js->running);
	return js;
}

void
jobs_close(struct jobs **jsp)
{
	struct jobs *js = *jsp;
	struct job  *j;

	if (js == NULL)
		return;
	*jsp = NULL;
	while ((j = TAILQ_FIRST(&js->running)) != NULL)
		end(j);
	end_sweep(js);
	while ((j = TAILQ_FIRST(&js->waiting)) != NULL) {
		TAILQ_REMOVE(&js->waiting, j, next);
		free_job(j);
	}
	chan_in_clear(&js->in);
	free(js);
}
