/*
 * What a managed process has beyond a command: a pipe to its standard input, output
 * that is held for whoever comes, a polite end, and bytes that a master left for
 * the next one.  Restarting, readiness and names are the worker's business.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "exec.h"

static void
on_fed(struct feed *f)
{
	exec_touch((struct exec *)((char *)f - offsetof(struct exec, in)));
}

int
managed_start(struct exec *x, struct loop *l, const struct msg_spawn *m, int *theirs, struct err *e)
{
	x->started_ms = epoch_ms();
	x->in.moved = on_fed;
	x->in.loop = l;
	x->streams[0].loop = x->streams[1].loop = l;
	if (managed_remember(x, &m->about, e) == -1)
		return -1;
	return feed_open(&x->in, l, theirs, e);
}

void
managed_inherit(struct exec *x, struct exec *before)
{
	for (int i = 0; i < 2; i++)
		pump_inherit(&x->streams[i], &before->streams[i]);
	x->in.taken = before->in.taken;
	x->reported = before->reported;
}

int
managed_remember(struct exec *x, const struct blob *about, struct err *e)
{
	struct buf fresh = { 0 };

	if (blob_read(about, &fresh, e) == -1) {
		buf_clear(&fresh);
		return -1;
	}
	buf_clear(&x->about);
	x->about = fresh;
	return 0;
}

int
managed_feed(struct exec *x, uint64_t request, const struct msg_feed *m, struct err *e)
{
	if (x->state != EXEC_RUNNING)
		return err_set(e, E_STATE, "it has ended");
	return feed_push(&x->in, request, &m->data, m->eof, e);
}

int
managed_next(struct exec *x, struct packet *out, struct err *e)
{
	struct err why;
	int        r;

	if (x->in.why == NULL) {
		r = msg_encode_reply(out, MSG_DONE, x->in.request, 0, &(struct msg_done){}, e);
	} else {
		err_set(&why, E_STATE, "%s", x->in.why);
		r = msg_encode_error(out, x->in.request, 0, &why, e);
	}
	if (r == -1)
		return -1;
	feed_forget_request(&x->in);
	return 1;
}

/* Whoever reads from here on misses it, and standard error is what LangBot shows to people. */
static void
tell_dropped(struct exec *x)
{
	struct pump *p = &x->streams[STREAM_STDOUT];
	char         line[128];

	if (p->dropped == x->reported)
		return;
	snprintf(line, sizeof(line), "boxd: %lu bytes of standard output were dropped: nobody had read them\n",
	    p->dropped - x->reported);
	x->reported = p->dropped;
	pump_say(&x->streams[STREAM_STDERR], line);
}

int
managed_follow(struct exec *x, const struct msg_follow *m, struct msg_followed *out, struct err *e)
{
	struct pump *p = &x->streams[STREAM_STDOUT];

	tell_dropped(x);
	pump_follow(p, m->offset, m->unread, m->window);
	*out = (struct msg_followed){ .from = p->sent, .end = p->end };
	exec_touch(x);
	return 0;
}

/*
 * To its process group, which it leads: a shell around the program does not pass a signal
 * on.  SIGCONT behind it, or a stopped one would not hear it.
 */
int
managed_terminate(struct exec *x, uint64_t grace_ms, struct err *e)
{
	if (x->state != EXEC_RUNNING || x->terminated) /* its group gets the signal once */
		return err_set(e, E_STATE, "it is ending already");
	x->terminated = true;
	x->wake_ns = now_ns() + (int64_t)grace_ms * 1000000;
	feed_close(&x->in, "it is being stopped");
	assert(x->pid > 1); /* the negative of 1 is everybody */
	kill(-x->pid, SIGTERM);
	kill(-x->pid, SIGCONT);
	return 0;
}

/* No process gets the number of a group that lives. */
bool
managed_group_lives(const struct exec *x)
{
	assert(x->group > 1);
	return kill(-x->group, 0) == 0;
}

void
managed_look(const struct exec *x, const struct msg_look *m, struct msg_managed *out, struct buf bytes[2])
{
	const struct pump *stdout_ring = &x->streams[STREAM_STDOUT], *stderr_ring = &x->streams[STREAM_STDERR];

	*out = (struct msg_managed){
		.exec = x->id,
		.ended = x->state == EXEC_ENDED,
		.terminated = x->terminated,
		.started_ms = x->started_ms,
		.ended_ms = x->ended_ms,
		.stdin_bytes = x->in.taken,
		.stdout_from = stdout_ring->base,
		.stdout_bytes = stdout_ring->end,
		.stdout_read = stdout_ring->read,
		.stdout_dropped = stdout_ring->dropped,
		.stderr_bytes = stderr_ring->end,
	};
	exec_result(x, &out->result);
	pump_last(stdout_ring, m->stdout_last, &bytes[0]);
	pump_last(stderr_ring, m->stderr ? LIM_PREVIEW : 0, &bytes[1]);
	out->stdout = blob_of(bytes[0].data, bytes[0].len);
	out->stderr = blob_of(bytes[1].data, bytes[1].len);
	out->about = blob_of(x->about.data, m->about ? x->about.len : 0);
}
