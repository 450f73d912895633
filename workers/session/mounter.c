#include "mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/hostview.h"
#include "disk/scanner.h"
#include "sandbox/mounts.h"
#include "sandbox/sandbox.h"
#include "sandbox/shadow.h"

enum { SUPERVISOR_FD = 3, BOXD_GONE = 3, AHEAD = 2 };

#define REFILL_SEC .003

/* A child, and the command that it makes mounts for; 0: none now. */
struct job {
	LIST_ENTRY(job) next;
	uint64_t call;
	pid_t    pid;
	int      pidfd; /* owned */
	ev_io    gone;
	ev_timer late; /* runs while it has a command */
};

/* What a child reports to its parent. */
struct busy {
	pid_t    pid;
	uint64_t call;
};

/* ---- in the child ------------------------------------------------------------------------- */

static int
send_trees(int to, const struct mounts *m, struct err *e)
{
	int    fds[LIM_MOUNTS];
	char   control[CMSG_SPACE(sizeof(fds))] = { 0 };
	size_t size = m->n * sizeof(*fds);

	for (size_t i = 0; i < m->n; i++)
		fds[i] = m->v[i].tree;
	struct iovec  byte = { "", 1 };
	struct msghdr h = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(size)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), fds, size);
	return sendmsg(to, &h, MSG_NOSIGNAL) == -1 ? err_sys(e, "hand the mounts over") : 0;
}

/* Or the error that came in their place. */
static int
receive_trees(int from, struct mounts *m, struct err *e)
{
	char          text[ERR_TEXT] = "", control[CMSG_SPACE(LIM_MOUNTS * sizeof(int))] = { 0 };
	struct iovec  bytes = { text, sizeof(text) - 1 };
	struct msghdr h = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	int    fds[LIM_MOUNTS];
	size_t size = m->n * sizeof(*fds);

	if (recvmsg(from, &h, MSG_CMSG_CLOEXEC) <= 0)
		return err_set(e, E_CRASH, "whoever makes the mounts died");
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(size))
		return err_set(e, E_INVALID, "%s", *text != '\0' ? text : "the mounts could not be made");
	memcpy(fds, CMSG_DATA(c), size);
	for (size_t i = 0; i < m->n; i++)
		m->v[i].tree = fds[i];
	return 0;
}

/* An ordinary user may make mounts only in a user namespace of his own, and there is then no way into the sandbox's. */
static _Noreturn void
detach_elsewhere(int to, struct mounts *m)
{
	struct err e = { 0 };
	int        r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1)
		r = err_sys(&e, "a user namespace to make mounts in");
	else if ((r = mounts_detach(m, &e)) == 0)
		r = send_trees(to, m, &e);
	if (r == -1 && send(to, e.text, strlen(e.text) + 1, MSG_NOSIGNAL) == -1)
		_exit(1);
	_exit(0);
}

static int
detach_as_user(struct mounts *m, struct err *e)
{
	int ends[2];

	if (m->n == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return err_sys(e, "socketpair for mounts");
	pid_t pid = fork();
	if (pid == 0)
		detach_elsewhere(ends[1], m);
	close(ends[1]);
	int r = pid == -1 ? err_sys(e, "fork") : receive_trees(ends[0], m, e);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	return r;
}

/* Root of the sandbox, in a copy of its mount namespace, standing on its root. */
static int
enter(const struct worker *w, struct err *e)
{
	struct sandbox_plan plan = { .uid_count = (uint32_t)w->about.uid_count };

	if (setns(w->box.pidfd, CLONE_NEWUSER | CLONE_NEWNS) == -1)
		return errno == ESRCH ? err_set(e, E_STATE, "the sandbox's init is gone")
				      : err_sys(e, "enter the sandbox's mount namespace");
	if (userns_become_root(&plan, e) == -1)
		return -1;
	if (unshare(CLONE_NEWNS) == -1 || chdir("/") == -1)
		return err_sys(e, "a mount namespace for the command");
	return 0;
}

/* A command may have moved the directory above it away; then there is nothing at that place. */
static void
hide(const struct strs *places)
{
	for (size_t i = places->n; i-- > 0;)
		umount2(places->v[i], MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* In the copy of the sandbox's mount namespace that we are in: put everything in its place, and open it. */
static int
put(struct worker *w, const struct strs *hidden, int namespaces, struct err *e)
{
	hide(hidden);
	if (mounts_put(&w->mounts, true, e) == -1 || shadow_seal(e) == -1)
		return -1;
	int ns = openat(namespaces, "mnt", O_RDONLY | O_CLOEXEC);
	return ns == -1 ? err_sys(e, "open the command's mount namespace") : ns;
}

/* ---- what counts against the quota ---------------------------------------------------------- */

/* Of what is mounted writable, and of what else is measured when it is measured. */
struct inode_names {
	size_t      n;
	char        text[LIM_MOUNTS][48];
	const char *v[LIM_MOUNTS];
	const char *paths[LIM_MOUNTS]; /* of what is mounted writable */
};

static int
inode_names_of(const struct mounts *m, struct inode_names *in, struct err *e)
{
	struct stat st;

	for (in->n = 0; in->n < m->nextra; in->n++) {
		if (fstat(m->extra[in->n], &st) == -1)
			return err_sys(e, "look at a mount that counts against workspace_quota_mb");
		snprintf(in->text[in->n], sizeof(*in->text), "%lx:%lx", st.st_dev, st.st_ino);
		in->v[in->n] = in->text[in->n];
	}
	return 0;
}

static bool
are_among(const struct inode_names *in, const struct strs *known)
{
	for (size_t i = 0; i < in->n; i++) {
		size_t k = 0;

		while (k < known->n && strcmp(in->v[i], known->v[k]) != 0)
			k++;
		if (k == known->n)
			return false;
	}
	return true;
}

/* A scanner that looks at these very directories, and at all that its session's scanner looks at. */
static int
measure(struct worker *w, const struct msg_worker_start *s, struct scanner *scanner, struct err *e)
{
	if (fchdir(s->dir) == -1)
		return err_sys(e, "enter the session's state directory");
	int r = build_find_init(w, e);
	if (r != 0)
		return r == -1 ? -1 : err_set(e, E_STATE, "the sandbox's init is gone");
	if (mounts_reopen(&w->mounts, s, e) == -1 || cgroup_reopen(&w->cgroup, s, e) == -1 ||
	    disk_watch(&w->disk, s, w->mounts.nextra, e) == -1)
		return -1;
	return watch_start_scanner(w, scanner, e);
}

static int
measure_if_new(struct worker *w, const struct msg_worker_start *s, struct inode_names *in, struct msg_mounts_made *made,
    struct err *e)
{
	struct scanner scanner;

	if (inode_names_of(&w->mounts, in, e) == -1)
		return -1;
	if (are_among(in, &s->measured))
		return 0;
	if (measure(w, s, &scanner, e) == -1 || inode_names_of(&w->mounts, in, e) == -1)
		return -1;
	made->scanner = scanner.fd;
	made->scan = scanner.pidfd[0];
	made->look = scanner.pidfd[1];
	for (size_t i = 0; i < s->spec.extra_mounts.n; i++)
		if (s->spec.extra_mounts.v[i].mode == MOUNT_RW)
			in->paths[made->counted.n++] = s->spec.extra_mounts.v[i].host_path;
	made->counted.v = in->paths;
	made->measured = (struct strs){ in->n, in->v };
	made->disk = w->disk.shown;
	return 0;
}

/* ---- a command's mounts ------------------------------------------------------------------------ */

/* Judge what the command names; unless the same was mounted before and is kept, make its namespace. */
static int
make(struct worker *w, const struct msg_worker_start *asked, struct msg_mounts_made *made, struct err *e)
{
	static char               sources[LIM_SOURCES + 1];
	static struct inode_names counted;
	struct msg_worker_start   s = *asked;
	bool                      root = s.uid_count > 1;
	AUTO_FD int               namespaces = open("/proc/self/ns", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	s.spec.host_path = ""; /* the workspace is mounted already */
	w->box.pidfd = s.sandbox;
	if (namespaces == -1)
		return err_sys(e, "open /proc/self/ns");
	if (mounts_prepare(&w->mounts, &s, e) == -1 || mounts_sources(&w->mounts, sources, sizeof(sources), e) == -1)
		return -1;
	w->about = (struct msg_session_state){ .id = s.id, .spec = s.spec, .uid_count = s.uid_count };
	if (measure_if_new(w, asked, &counted, made, e) == -1)
		return -1;
	made->same = strcmp(sources, s.sources) == 0;
	if (made->same)
		return 0;
	if ((!root && detach_as_user(&w->mounts, e) == -1) || enter(w, e) == -1)
		return -1;
	made->mounts = put(w, &s.hidden, namespaces, e);
	/* a user's shows what is mounted below, too, and that may change */
	made->sources = root && mounts_are_sealed(&w->mounts) ? sources : "";
	return made->mounts == -1 ? -1 : 0;
}

static int
mounts_send(int channel, const struct msg_mounts_made *made, struct err *e)
{
	struct packet p = { 0 };
	struct pollfd room = { .fd = channel, .events = POLLOUT };
	int           r = msg_encode(&p, MSG_MOUNTS_MADE, 0, 0, made, e);

	while (r == 0 && (r = chan_send(channel, &p, e)) > 0) {
		poll(&room, 1, r == 1 ? -1 : 10);
		r = 0;
	}
	packet_clear(&p);
	return r;
}

/* One command.  Whoever has entered a sandbox cannot leave it, and ends. */
static void
job_do(struct worker *w, int channel, struct msg *m)
{
	const struct msg_worker_start *s = m->body;
	struct err                     e = { 0 };
	struct msg_mounts_made         made;

	msg_defaults(MSG_MOUNTS_MADE, &made);
	made.call = s->call;
	w->mounts.map_uid = (uid_t)s->map_uid;
	w->mounts.map_gid = (gid_t)s->map_gid;
	w->mounts.map = s->map;
	if (make(w, s, &made, &e) == -1) {
		made.code = err_wire_name(e.code);
		made.reason = e.text;
	}
	made.map = w->mounts.map != s->map ? w->mounts.map : -1;
	made.map_uid = w->mounts.map_uid;
	made.map_gid = w->mounts.map_gid;
	int r = mounts_send(channel, &made, &e);
	if (r == -1 || !made.same || made.scanner != -1)
		_exit(r == 0 ? 0 : 1);
	if (w->mounts.map == s->map)
		w->mounts.map = -1; /* the message's */
	mounts_clear(&w->mounts);
}

static void
tell(int busy, uint64_t call)
{
	struct busy reported = { getpid(), call };

	if (write(busy, &reported, sizeof(reported)) != sizeof(reported))
		_exit(1);
}

/* The next command that comes is ours, unless another child was faster. */
static _Noreturn void
child_main(struct worker *w, int channel, int busy)
{
	struct epoll_event next = { .events = EPOLLIN | EPOLLEXCLUSIVE }; /* one of us is woken, not all */
	struct chan_in     in = { 0 };
	struct msg         m;
	struct err         e = { 0 };
	int                r, wait = epoll_create1(EPOLL_CLOEXEC);

	prctl(PR_SET_NAME, "box-mounts");
	hostview_ahead();
	if (wait == -1 || epoll_ctl(wait, EPOLL_CTL_ADD, channel, &next) == -1)
		_exit(1);
	for (;;) {
		while ((r = chan_recv(channel, &in, &m, FROM_SUPERVISOR, &e)) == 1)
			epoll_wait(wait, &next, 1, -1);
		if (r == 2)
			_exit(BOXD_GONE);
		if (r == -1 || m.type != MSG_WORKER_START)
			_exit(1);
		tell(busy, ((const struct msg_worker_start *)m.body)->call);
		job_do(w, channel, &m);
		msg_clear(&m);
		tell(busy, 0);
	}
}

/* ---- in the one that forks --------------------------------------------------------------------- */

static struct {
	struct worker *worker;
	int            channel; /* owned; to boxd */
	int            busy[2]; /* owned; a child writes to it which command it has */
	ev_io          reported;
	ev_timer       begin, refill;
	LIST_HEAD(, job) jobs; /* owned */
} all = { .channel = -1, .busy = { -1, -1 } };

static void keep_ready(void);

static void
job_has(struct job *j, uint64_t call)
{
	j->call = call;
	ev_timer_stop(all.worker->loop, &j->late);
	ev_timer_set(&j->late, LIM_BUILD_SEC, 0.);
	if (call != 0)
		ev_timer_start(all.worker->loop, &j->late);
}

/* What the children have said. */
static void
hear(void)
{
	struct busy reported;
	struct job *j;

	while (read(all.busy[0], &reported, sizeof(reported)) == sizeof(reported))
		LIST_FOREACH (j, &all.jobs, next)
			if (j->pid == reported.pid)
				job_has(j, reported.call);
}

static void
job_free(struct job *j)
{
	ev_io_stop(all.worker->loop, &j->gone);
	ev_timer_stop(all.worker->loop, &j->late);
	LIST_REMOVE(j, next);
	fd_close(&j->pidfd);
	free(j);
}

static void
on_gone(struct ev_loop *loop, ev_io *io, int revents)
{
	struct job            *j = io->data;
	struct err             e = { 0 };
	struct msg_mounts_made made = { .mounts = -1, .map = -1 };
	int                    status = 0;

	while (waitpid(j->pid, &status, 0) == -1 && errno == EINTR)
		;
	hear(); /* it may have said which command it had just before */
	made.call = j->call;
	made.code = err_wire_name(E_UNSTARTED);
	made.reason = "the process that mounts for the command died; the command was not started";
	if (status != 0 && made.call != 0 && mounts_send(all.channel, &made, &e) == -1)
		log_error("%s", e.text);
	if (WIFEXITED(status) && WEXITSTATUS(status) == BOXD_GONE)
		ev_break(loop, EVBREAK_ALL);
	job_free(j);
	keep_ready();
}

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct job *j = t->data;

	log_warn("exec=%lu its mounts were not made within %.0f s", j->call, LIM_BUILD_SEC);
	sys_pidfd_kill(j->pidfd, SIGKILL);
}

static void
on_reported(struct ev_loop *loop, ev_io *io, int revents)
{
	hear();
	keep_ready();
}

static struct job *
job_fork(struct worker *w, struct msg *first)
{
	struct clone_args args = { .flags = CLONE_PIDFD, .exit_signal = SIGCHLD };
	struct job       *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->pidfd = -1;
	args.pidfd = (uint64_t)(uintptr_t)&j->pidfd;
	j->pid = sys_clone3(&args);
	if (j->pid == 0 && first != NULL) {
		job_do(w, all.channel, first);
		_exit(0);
	}
	if (j->pid == 0)
		child_main(w, all.channel, all.busy[1]);
	if (j->pid == -1) {
		free(j);
		return NULL;
	}
	fcntl(j->pidfd, F_SETFD, FD_CLOEXEC);
	LIST_INSERT_HEAD(&all.jobs, j, next);
	ev_io_init(&j->gone, on_gone, j->pidfd, EV_READ);
	ev_timer_init(&j->late, on_late, 0., 0.);
	j->gone.data = j->late.data = j;
	ev_io_start(w->loop, &j->gone);
	return j;
}

static unsigned
waiting(void)
{
	const struct job *j;
	unsigned          n = 0;

	LIST_FOREACH (j, &all.jobs, next)
		n += j->call == 0;
	return n;
}

static void
one_more(void)
{
	if (job_fork(all.worker, NULL) == NULL && LIST_EMPTY(&all.jobs)) {
		log_error("no process can be made for mounts");
		ev_break(all.worker->loop, EVBREAK_ALL); /* boxd starts another */
	}
}

/*
 * Children wait, so that no command waits for a fork.  The last but one is replaced a moment later: the command that took
 * its place runs on the same processors.
 */
static void
keep_ready(void)
{
	unsigned n = waiting();

	if (n == 0)
		one_more();
	if (n < AHEAD && !ev_is_active(&all.refill)) {
		ev_timer_set(&all.refill, REFILL_SEC, 0.);
		ev_timer_start(all.worker->loop, &all.refill);
	}
}

static void
on_refill(struct ev_loop *loop, ev_timer *t, int revents)
{
	if (waiting() < AHEAD)
		one_more();
	keep_ready();
}

/* From the loop: a channel is not closed while it delivers. */
static void
on_begin(struct ev_loop *loop, ev_timer *t, int revents)
{
	link_close(&all.worker->up);
	keep_ready();
}

static int
begin(struct worker *w, struct err *e)
{
	if (all.channel != -1)
		return 0;
	all.worker = w;
	LIST_INIT(&all.jobs);
	all.channel = fcntl(SUPERVISOR_FD, F_DUPFD_CLOEXEC, 0);
	if (all.channel == -1 || pipe2(all.busy, O_CLOEXEC | O_NONBLOCK) == -1)
		return err_sys(e, "create the channel to the mounter");
	ev_io_init(&all.reported, on_reported, all.busy[0], EV_READ);
	ev_io_start(w->loop, &all.reported);
	ev_timer_init(&all.refill, on_refill, 0., 0.);
	ev_timer_init(&all.begin, on_begin, 0., 0.);
	ev_timer_start(w->loop, &all.begin);
	return 0;
}

int
mounter_start(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_worker_start *s = m->body;

	if (begin(w, e) == -1)
		return -1;
	struct job *j = job_fork(w, m);
	if (j == NULL)
		return err_sys(e, "fork");
	job_has(j, s->call);
	return 0;
}
