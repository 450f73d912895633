/* How a sandbox comes to be, or is found again after its worker or the daemon died. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/nft.h"
#include "host/statefile.h"
#include "sandbox/layers.h"
#include "worker.h"

/* ---- init's end ------------------------------------------------------------ */

static void
on_down_msg(void *arg, struct msg *m)
{
	worker_deliver(arg, m);
}

/* Init's pidfd reports its death; a silent end of the channel alone is as bad. */
static void
on_down_gone(void *arg, const struct err *why)
{
	struct worker *w = arg;
	struct err     e;

	if (w->state >= BROKEN)
		return;
	if (why->code != E_NONE)
		err_set(&e, E_CRASH, "the sandbox's init broke the protocol: %s", why->text);
	else if (cgroup_events(&w->cgroup).oom_kills > 0)
		err_set(&e, E_CRASH, "the sandbox's init died; its memory limit had been reached");
	else
		err_set(&e, E_CRASH, "the sandbox's init died");
	worker_broken(w, &e);
}

static const struct link_ops down_ops = { .on_msg = on_down_msg, .on_gone = on_down_gone };

static int
connect_down(struct worker *w, int *fd, struct err *e)
{
	w->down = link_open(w->loop, *fd, FROM_INIT, &down_ops, w, e);
	if (w->down == NULL)
		return -1;
	fd_take(fd);
	return 0;
}

static void
on_init_exit(struct ev_loop *loop, ev_io *io, int revents)
{
	struct worker *w = io->data;

	ev_io_stop(loop, io);
	waitpid(w->box.pid, NULL, WNOHANG); /* ours unless adopted: then the supervisor reaps it */
	w->box.pid = 0;
	teardown_init_gone(w);
}

static void
watch_init(struct worker *w)
{
	ev_io_init(&w->init_exit, on_init_exit, w->box.pidfd, EV_READ);
	w->init_exit.data = w;
	ev_io_start(w->loop, &w->init_exit);
}

static void
on_deadline(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct worker *w = t->data;
	struct err     e;

	err_set(&e, E_BACKEND, "the sandbox was not ready within %.0f s", LIM_BUILD_SEC);
	worker_broken(w, &e);
}

static void
expect_ready(struct worker *w, enum worker_state state)
{
	w->state = state;
	ev_timer_init(&w->deadline, on_deadline, LIM_BUILD_SEC, 0.);
	w->deadline.data = w;
	ev_timer_start(w->loop, &w->deadline);
}

/* ---- building ---------------------------------------------------------------- */

/* Bound here, by name in the state directory; init itself will listen on it. */
static int
control_socket(struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = STATE_CONTROL };
	AUTO_FD int        s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	unlink(STATE_CONTROL);
	if (s == -1 || bind(s, (struct sockaddr *)&at, sizeof(at)) == -1)
		return err_sys(e, "bind the control socket");
	if (chmod(STATE_CONTROL, 0600) == -1)
		return err_sys(e, "chmod the control socket");
	return fd_take(&s);
}

static int
start_with(struct worker *w, const struct msg_worker_start *s, struct layers *layers, struct err *e)
{
	AUTO_FD int listener = -1, ours = -1, theirs = -1, root_tree = -1, dev_tree = -1;
	int         ends[2];

	if ((listener = control_socket(e)) == -1 || chan_pair(ends, e) == -1)
		return -1;
	ours = ends[0];
	theirs = ends[1];
	if (s->uid_count > 1 && root_detach(s->skeleton_ns, s->skeleton, &root_tree, &dev_tree, e) == -1)
		return -1;
	struct sandbox_plan plan = {
		.hostname = "box",
		.skeleton = s->skeleton,
		.root_tree = root_tree,
		.dev_tree = dev_tree,
		.workspace_tree = w->disk.tree,
		.image = s->image,
		.init = s->init,
		.filter = s->filter,
		.listener = listener,
		.control = theirs,
		.cgroup = &w->cgroup,
		.uid_base = (uint32_t)s->uid_base,
		.uid_count = (uint32_t)s->uid_count,
		.tmp_mb = s->tmp_mb,
		.workspace_at = mounts_private(&s->spec) ? mounts_workdir(&s->spec) : NULL,
		.workspace_mb = s->spec.workspace_mb,
		.inodes = s->inodes,
		.layers = layers,
		.mounts = &w->mounts,
		.nofile = s->nofile,
		.fsize_mb = s->fsize_mb,
		.landlock = s->landlock,
		.nproc = w->cgroup.pids_file == -1 ? s->spec.pids_limit + 1 : 0,
		.net = { .mode = s->net_mode, .open = &s->net_open, .slirp = SLIRP_NONE },
	};
	int r = netns_prepare(&plan.net, e);
	if (r == 0)
		r = sandbox_start(&w->box, &plan, e);
	if (r == 0 && (r = netns_born(&plan.net, &w->cgroup, w->box.pid, e)) == -1)
		sys_pidfd_kill(w->box.pidfd, SIGKILL);
	net_plan_clear(&plan.net);
	cgroup_joined(&w->cgroup);
	if (r == -1)
		return -1;
	disk_handed_over(&w->disk);
	watch_init(w);
	expect_ready(w, BUILDING);
	return connect_down(w, &ours, e);
}

int
build_start(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_worker_start *s = m->body;
	struct layers                  layers = { 0 };

	w->has_cgroup = true;
	int r = cgroup_make(&w->cgroup, s, e);
	w->about.cgroups = w->cgroup.base;
	if (r == 0)
		r = mounts_prepare(&w->mounts, s, e);
	if (r == 0)
		r = mounts_private(&s->spec) ? disk_make(&w->disk, s, e)
					     : disk_host(&w->disk, s, w->mounts.workspace, e);
	if (r == 0)
		r = disk_watch(&w->disk, s, w->mounts.nextra, e);
	w->about.disk = w->disk.reported;
	if (r == 0)
		r = layers_prepare(&layers, s, &w->mounts, e);
	if (r == 0)
		r = start_with(w, s, &layers, e);
	layers_clear(&layers);
	mounts_prepared(&w->mounts);
	return r;
}

/* The last that takes rights: whoever measures the workspace is started, then they are given up. */
static int
settle(struct worker *w, struct err *e)
{
	if (w->confined)
		return 0;
	if (w->disk.watched.bytes > 0 && (w->watch = watch_open(w, e)) == NULL)
		return -1;
	mounts_clear(&w->mounts);
	return confine(w, e);
}

static int
ready(struct worker *w, struct err *e)
{
	struct msg_resume       found[LIM_EXECS];
	struct msg_worker_ready reported = {
		.init_pid = (uint64_t)w->box.pid,
		.init = w->box.pidfd,
		.build_us = w->about.build_us,
		.disk = w->disk.shown,
		.paused = w->about.paused,
		.net_mode = w->about.net_mode,
		.net_listener = w->net.listener,
		.net_dns = w->net.dns,
		.net_refusals = w->net.refusals,
	};

	reported.execs.n = exec_list(w, found, LIM_EXECS);
	reported.execs.v = found;
	ev_timer_stop(w->loop, &w->deadline);
	if (settle(w, e) == -1)
		return -1;
	w->state = READY;
	if (link_send(w->up, MSG_WORKER_READY, 0, 0, &reported, e) == -1)
		return -1;
	net_sockets_close(&w->net);
	cgroup_hand_on(&w->cgroup);
	cgroup_slot_prepare(&w->cgroup);
	if (w->watch != NULL)
		watch_wake(w->watch);
	return 0;
}

int
build_done(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_init_ready *r = m->body;

	w->net = (struct net_sockets){
		.listener = msg_take_fd(m, r->net_listener),
		.dns = msg_take_fd(m, r->net_dns),
		.refusals = msg_take_fd(m, r->net_refusals),
	};
	w->about.build_us = span_us() - w->started_us;
	w->about.init_pid = (uint64_t)w->box.pid;
	w->about.init_start = process_start(w->box.pid);
	if (statefile_write(AT_FDCWD, &w->about, e) == -1)
		return -1;
	return ready(w, e);
}

int
build_claim(struct worker *w, const struct msg_claim *c, struct err *e)
{
	if (cgroup_limit(&w->cgroup, &c->spec, e) == -1)
		return -1;
	snprintf(w->name, sizeof(w->name), "%s", c->session);
	w->about.spec = c->spec;
	if (owned_msg_copy(&w->spec_kept, MSG_SPEC, &w->about.spec, e) == -1)
		return -1;
	w->about.created_ms = c->created_ms;
	w->disk.quota.bytes = c->spec.workspace_quota_mb * MIB;
	return 0;
}

/* ---- finding again ------------------------------------------------------------ */

int
build_find_init(struct worker *w, struct err *e)
{
	struct buf bytes = { 0 };
	struct msg m;
	int        r = statefile_read(AT_FDCWD, &bytes, &m, e);

	if (r == 0) {
		const struct msg_session_state *s = m.body;

		w->about.init_pid = s->init_pid;
		w->about.init_start = s->init_start;
		w->about.build_us = s->build_us;
		w->about.paused = s->paused;
		w->about.image_missing = s->image_missing;
		w->about.net_mode = s->net_mode;
		r = disk_remember(&w->disk, &s->disk, e);
		w->about.disk = w->disk.reported;
		w->box.pid = (pid_t)s->init_pid;
		w->box.pidfd = s->init_pid > 0 ? sys_pidfd_open(w->box.pid) : -1;
		/* opened first, looked at second: a recycled pid is seen here */
		if (w->box.pidfd == -1 || process_start(w->box.pid) != s->init_start) {
			fd_close(&w->box.pidfd);
			w->box.pid = 0;
			r = 1;
		}
	}
	msg_clear(&m);
	buf_clear(&bytes);
	return r;
}

/* Whoever listens there must be the init of the state file. */
static int
connect_control(const struct worker *w, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = STATE_CONTROL };
	AUTO_FD int        s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred       peer;
	socklen_t          len = sizeof(peer);

	if (s == -1 || connect(s, (struct sockaddr *)&at, sizeof(at)) == -1)
		return err_sys(e, "connect to the sandbox's init");
	if (getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return err_sys(e, "ask who listens on the control socket");
	if (peer.pid != w->box.pid)
		return err_set(
		    e, E_DENIED, "process %d listens on the control socket, not init %d", peer.pid, w->box.pid);
	return fd_take(&s);
}

/* What the supervisor still waits for; init's answer says which of it exists. */
static int
ask_attach(struct worker *w, const struct msg_worker_start *s, struct err *e)
{
	struct msg_attach attach = { .execs = { .n = s->resume.n, .v = s->resume.v } };

	for (size_t i = 0; i < s->resume.n; i++)
		exec_resume(w, s->resume.v[i].exec);
	if (processes_expect(w, s, e) == -1)
		return -1;
	return link_send(w->down, MSG_ATTACH, 0, 0, &attach, e);
}

int
build_attach(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_worker_start *s = m->body;

	w->has_cgroup = true;
	if (cgroup_reopen(&w->cgroup, s, e) == -1 || cgroup_take_all(&w->cgroup, e) == -1)
		return -1;
	w->about.cgroups = w->cgroup.base;
	if (mounts_reopen(&w->mounts, s, e) == -1)
		log_warn("session=%lu its workspace is not found again: %s", w->about.id, e->text);
	int r = build_find_init(w, e);
	if (r == 1)
		return err_set(e, E_CRASH, "the sandbox's init is gone");
	if (r == -1 || disk_watch(&w->disk, s, w->mounts.nextra, e) == -1)
		return -1;
	watch_init(w);
	AUTO_FD int fd = connect_control(w, e);
	/* before the first word of an init that commands had for a while */
	if (fd == -1 || settle(w, e) == -1 || connect_down(w, &fd, e) == -1)
		return -1;
	expect_ready(w, ATTACHING);
	return ask_attach(w, s, e);
}

int
build_attached(struct worker *w, struct msg *m, struct err *e)
{
	if (m->failed)
		return err_set(e, m->error.code, "attach to init: %s", m->error.text);
	if (msg_expect(m, MSG_ATTACHED, e) == -1)
		return -1;
	struct msg_attached known = *(const struct msg_attached *)m->body;
	w->net = (struct net_sockets){
		.listener = msg_take_fd(m, known.net_listener),
		.dns = msg_take_fd(m, known.net_dns),
		.refusals = msg_take_fd(m, known.net_refusals),
	};
	files_adopt(w, &known);
	exec_match(w, &known);
	pause_adopt(w);
	if (processes_adopt(w, &known, e) == -1)
		return -1;
	return build_attached_all(w, e);
}

/* Ready once every managed process has been looked at. */
int
build_attached_all(struct worker *w, struct err *e)
{
	return processes_adopted(w) ? ready(w, e) : 0;
}

int
build_find_leftovers(struct worker *w, struct msg *m, struct err *e)
{
	struct err ignored;

	w->has_cgroup = true;
	w->state = BROKEN;
	if (cgroup_reopen(&w->cgroup, m->body, e) == -1)
		return -1;
	if (build_find_init(w, &ignored) == 0)
		watch_init(w);
	return 0;
}

/*
 * Its own worker has no rights left; we have them all, and enter only the namespaces of the sandbox that these rules
 * are in.  Nothing else is done by this process.
 */
int
build_reopen(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_worker_start *s = m->body;

	if (build_find_init(w, e) != 0)
		return err_set(e, E_CRASH, "the sandbox's init is gone");
	if (nft_load(e) == -1)
		return -1;
	if (setns(w->box.pidfd, CLONE_NEWUSER | CLONE_NEWNET) == -1)
		return err_sys(e, "enter the sandbox's network namespace");
	if (netfilter_reopen(&s->net_open, e) == -1)
		return -1;
	ev_break(w->loop, EVBREAK_ALL);
	return 0;
}
