/* Commands that name mounts of their own: their artifacts are copied, their mount namespace is made, and they are sent. */
#include "core/session_impl.h"

#include <assert.h>

#include "base/fd.h"
#include "children/artifact.h"
#include "children/mounter.h"

int
session_send_namespace(struct session *s, const struct request *r, struct err *e)
{
	struct msg_mounts mounts = {
		.call = r->exec,
		.mounts = r->ns,
		.scanner = s->scanner.scanner,
		.scan = s->scanner.scan,
		.look = s->scanner.look,
	};

	assert(s->child != NULL && r->of == &s->pending);
	if (r->ns == -1)
		return 0;
	if (link_send(child_link(s->child), MSG_MOUNTS, 0, 0, &mounts, e) == -1)
		return -1;
	scanner_fds_close(&s->scanner); /* the worker's now; the next one starts its own */
	return 0;
}

/*
 * If the worker is gone, the next one gets it.  A copy is kept unless it is large, because the worker may die before it
 * starts the command.
 */
int
session_send_exec(struct session *s, struct request *r, struct err *e)
{
	struct err ignored; /* without the copy, a worker that dies at once fails the command */

	assert(r->held.bytes.len > 0 && r->mounts == MOUNTS_OWN);
	if (session_send_namespace(s, r, e) == -1)
		return e->code == E_CRASH ? 0 : -1;
	if (r->held.bytes.len <= LIM_PACKET && packet_copy(&r->sent, &r->held, &ignored) == -1)
		packet_clear(&r->sent);
	int sent = link_send_packet(child_link(s->child), &r->held, e);
	assert(r->held.bytes.len == 0); /* the link has taken it */
	if (sent == 0)
		return 0;
	if (e->code != E_CRASH || r->sent.bytes.len == 0)
		return -1;
	r->held = r->sent;
	r->sent = (struct packet){ 0 };
	return 0;
}

static void
exec_unstarted(struct session *s, struct request *r, const struct err *why)
{
	counter_sub(&s->boxd->running, 1);
	request_fail(r, s->boxd, why);
	session_touch(s);
}

/* All that is mounted for it is there: send it, if there is a worker. */
static int
exec_mounted(struct session *s, struct request *r, int ns, struct err *e)
{
	assert(r->ns == -1);
	r->mounts = MOUNTS_OWN;
	r->ns = ns;
	return s->state == STATE_READY ? session_send_exec(s, r, e) : 0;
}

/* The verified copies of its digest-addressed mounts are there now, or cannot be made. */
static void
on_copied(void *arg, const struct err *why)
{
	struct request *r = arg;
	struct session *s = r->of->session;
	struct err      e = { 0 };

	if (why != NULL)
		exec_unstarted(s, r, why);
	else if (session_ask_mounts(s, r, &e) == -1)
		exec_unstarted(s, r, &e);
}

static int
exec_ask_mounts(struct session *s, struct request *r, const struct msg_exec *x, struct err *e)
{
	int ns = -1;
	int waits = r->artifacts != NULL ? 0
					 : artifact_hold(s->boxd, s->name, x->extra_mounts.v, x->extra_mounts.n,
					       on_copied, r, &r->artifacts, e);

	r->mounts = MOUNTS_ASKED;
	if (waits != 0)
		return waits == 1 ? 0 : -1;
	waits = mounter_ask(s->boxd->mounter, s, x, r, &ns, e);
	return waits == 0 ? exec_mounted(s, r, ns, e) : waits == 1 ? 0 : -1;
}

int
session_ask_mounts(struct session *s, struct request *r, struct err *e)
{
	struct msg m;
	int        done = msg_decode(&m, r->held.bytes.data, r->held.bytes.len, NULL, 0, FROM_SUPERVISOR, e);

	if (done == 0)
		done = exec_ask_mounts(s, r, m.body, e);
	msg_clear(&m);
	return done;
}

int
session_mount_again(struct session *s, uint64_t exec, struct err *e)
{
	struct request *r = request_by_exec(&s->pending, exec);

	return r == NULL || r->mounts != MOUNTS_ASKED ? -1 : session_ask_mounts(s, r, e);
}

void
session_mounted(struct session *s, uint64_t exec, int ns, const struct err *why)
{
	AUTO_FD int     fd = ns;
	struct request *r = request_by_exec(&s->pending, exec);
	struct err      e = { 0 };

	if (r == NULL || r->mounts != MOUNTS_ASKED)
		return;
	if (why != NULL)
		exec_unstarted(s, r, why);
	else if (exec_mounted(s, r, fd_take(&fd), &e) == -1)
		exec_unstarted(s, r, &e);
}

void
session_forget_mounts(struct session *s)
{
	fd_close(&s->init);
	fd_close(&s->map);
	mounter_forget(s->boxd->mounter, s);
}
