/*
 * Two processes build a sandbox.  The worker makes the cgroups and the control
 * socket, clones a child into new namespaces and writes its uid map.  The child
 * waits for that map, puts itself into the cgroups, builds the root from inside,
 * and becomes box-init.  The child reports a failure on init's own channel, so
 * the worker waits for one message and never for a process.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"
#include "sandbox/tree.h"
#include "wire/chan.h"

/* Where box-init expects its descriptors; of those behind the filter we tell it by argument. */
enum {
	INIT_LISTENER = 3,
	INIT_CONTROL,
	INIT_FILTER,
	INIT_OOM,
	INIT_CGROUP,
	INIT_NET, /* three */
	INIT_HOLD = INIT_NET + 3,
	INIT_SELF,
};

/* The worker has written our uid map; EOF-like zero never comes from an eventfd. */
static int
wait_for_map(int go, struct err *e)
{
	uint64_t one;

	while (read(go, &one, sizeof(one)) == -1)
		if (errno != EINTR)
			return err_sys(e, "wait for the uid map");
	return 0;
}

/*
 * Low numbers are reserved first: a descriptor that happens to be 4 must not be
 * overwritten by the one that shall become 4.
 */
static int
place_descriptors(const struct sandbox_plan *p, const struct net_sockets *net, int oom, struct err *e)
{
	int       from[] = { p->listener, p->control, p->filter, oom, p->cgroup->unified, net->listener, net->dns,
		      net->refusals, p->net.slirp.hold, p->init };
	const int to[] = { INIT_LISTENER, INIT_CONTROL, INIT_FILTER, INIT_OOM, INIT_CGROUP, INIT_NET, INIT_NET + 1,
		INIT_NET + 2, INIT_HOLD, INIT_SELF };

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
		if (from[i] != -1 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16)) == -1)
			return err_sys(e, "move a descriptor up");
	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
		if (from[i] == -1)
			close(to[i]);
		else if (dup3(from[i], to[i], to[i] == INIT_SELF ? O_CLOEXEC : 0) == -1)
			return err_sys(e, "move a descriptor to %d", to[i]);
	if (syscall(SYS_close_range, INIT_SELF + 1, ~0U, 0) == -1)
		return err_sys(e, "close_range");
	return 0;
}

static int
stdio_to_null(struct err *e)
{
	int null = open("/dev/null", O_RDWR);

	if (null == -1)
		return err_sys(e, "open /dev/null inside");
	for (int fd = 0; fd <= 2; fd++)
		if (null != fd && dup2(null, fd) == -1)
			return err_sys(e, "standard descriptor %d", fd);
	if (null > 2)
		close(null);
	return 0;
}

/*
 * Commands inherit init's place before the OOM killer, so init moves itself for each,
 * which takes its own /proc file.  Behind its exec that belongs to the host's root, so
 * that no command can write to it, and neither can init: it is opened here, and for
 * that it must be ours for a moment.  -1: then commands stand where init does.
 */
static int
open_oom_file(int proc)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	int fd = openat(proc, "self/oom_score_adj", O_RDWR | O_CLOEXEC);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return fd;
}

/*
 * From here on nobody writes to /proc.  Landlock forbids it too, but not below a writable
 * root and not on every kernel, and what a process can write there about itself takes it
 * out of the OOM killer's sight.  Init's file is opened through a mount of its own, which
 * stays writable as long as the file is open.
 */
static int
seal_proc(int *oom, struct err *e)
{
	struct mount_attr readonly = { .attr_set = MOUNT_ATTR_RDONLY };
	AUTO_FD int       proc = tree_copy(AT_FDCWD, "/proc", false, 0);

	if (proc == -1)
		return err_sys(e, "a second mount of /proc");
	*oom = open_oom_file(proc);
	if (sys_mount_setattr(AT_FDCWD, "/proc", 0, &readonly) == -1)
		return err_sys(e, "make /proc read-only");
	return 0;
}

static int
become_init(const struct sandbox_plan *p, const struct net_sockets *net, struct err *e)
{
	bool  unified = p->cgroup->unified >= 0;
	int   oom = -1;
	char  words[8][32];
	char *argv[] = { "box-init", unified ? "cgroup" : "mark", words[0], words[1], words[2], words[3], words[4],
		words[5], words[6], words[7], NULL };
	char *env[] = { NULL };

	if (seal_proc(&oom, e) == -1)
		return -1;
	snprintf(words[0], sizeof(words[0]), "%d", LIM_ORPHAN_MS);
	snprintf(words[1], sizeof(words[1]), "nofile=%lu", p->nofile);
	snprintf(words[2], sizeof(words[2]), "fsize_mb=%lu", p->fsize_mb);
	snprintf(words[3], sizeof(words[3]), "landlock=%d", p->landlock);
	snprintf(words[4], sizeof(words[4]), "oom=%d", oom == -1 ? 0 : INIT_OOM);
	snprintf(words[5], sizeof(words[5]), "slots=%d", unified ? INIT_CGROUP : 0);
	snprintf(words[6], sizeof(words[6]), "net=%d", net->listener == -1 ? 0 : INIT_NET);
	snprintf(words[7], sizeof(words[7]), "hold=%d", p->net.slirp.hold == -1 ? 0 : INIT_HOLD);
	if (stdio_to_null(e) == -1 || place_descriptors(p, net, oom, e) == -1)
		return -1;
	syscall(SYS_execveat, INIT_SELF, "", argv, env, AT_EMPTY_PATH);
	return err_sys(e, "exec box-init");
}

/* Born in a leaf, it is in its cgroups already, and in a namespace of them. */
static int
enter_cgroups(const struct sandbox_plan *p, struct err *e)
{
	if (p->cgroup->leaf >= 0)
		return 0;
	if (cgroup_join(p->cgroup, e) == -1)
		return -1;
	return unshare(CLONE_NEWCGROUP) == -1 ? err_sys(e, "cgroup namespace") : 0;
}

/* In the child: every step into the sandbox, in order. */
static int
enter(const struct sandbox_plan *p, int go, struct err *e)
{
	struct net_sockets net = NET_SOCKETS_NONE;

	if (enter_cgroups(p, e) == -1 || wait_for_map(go, e) == -1)
		return -1;
	netns_enter(&p->net);
	if (root_build(p, e) == -1 || netns_build(&p->net, &net, e) == -1)
		return -1;
	if (sethostname(p->hostname, strlen(p->hostname)) == -1)
		return err_sys(e, "sethostname");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "no_new_privs");
	/* counted in this user namespace alone, so init and its commands are all there is */
	if (p->nproc > 0 && setrlimit(RLIMIT_NPROC, &(struct rlimit){ p->nproc, p->nproc }) == -1)
		return err_sys(e, "RLIMIT_NPROC");
	setsid();
	return become_init(p, &net, e);
}

static _Noreturn void
child_main(const struct sandbox_plan *p, int go)
{
	struct err    e = { 0 }, ignored;
	struct packet out = { 0 };

	enter(p, go, &e);
	struct msg_init_failed failed = { .reason = e.text, .code = err_wire_name(e.code) };
	if (msg_encode(&out, MSG_INIT_FAILED, 0, 0, &failed, &ignored) == 0)
		chan_send(p->control, &out, &ignored);
	_exit(1);
}

/* The report of a child in between, on a page that both see. */
struct birth {
	pid_t pid;
	int   pidfd;
	int   error;
};

/* In the child in between: bear another, whose parent is ours, with descriptors that we share with it. */
static _Noreturn void
bear(const struct sandbox_plan *p, int go, struct clone_args *args, struct birth *b)
{
	struct err ignored;

	args->flags = (args->flags & ~(uint64_t)CLONE_NEWUSER) | CLONE_PARENT | CLONE_INTO_CGROUP;
	args->cgroup = (uint64_t)p->cgroup->leaf;
	args->exit_signal = 0; /* as ours */
	args->pidfd = (uint64_t)(uintptr_t)&b->pidfd;
	pid_t pid = cgroup_join(p->cgroup, &ignored) == 0 ? sys_clone3(args) : -1;
	if (pid == 0)
		child_main(p, go);
	b->error = errno;
	b->pid = pid;
	_exit(0);
}

/*
 * Init shall stand in a leaf of the session's cgroup and see that cgroup as its root, or
 * it may not move commands to the leaves beside its own (nsdelegate).  But a namespace's
 * root is where its first process was born, and moving that one later would wait for a
 * grace period.  So there is a child in between: it comes into the session's cgroup with
 * new cgroup and user namespaces, bears init into the leaf, and is gone.
 */
static pid_t
clone_in_leaf(const struct sandbox_plan *p, int go, struct clone_args *args)
{
	struct birth     *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct clone_args between = {
		.flags = CLONE_FILES | CLONE_NEWUSER | CLONE_NEWCGROUP | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)p->cgroup->whole,
	};

	if (b == MAP_FAILED)
		return -1;
	*b = (struct birth){ .pid = -1, .pidfd = -1, .error = ECHILD };
	pid_t pid = sys_clone3(&between);
	if (pid == 0)
		bear(p, go, args, b);
	if (pid == -1)
		b->error = errno;
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	pid = b->pid;
	errno = b->error;
	*(int *)(uintptr_t)args->pidfd = b->pidfd;
	munmap(b, sizeof(*b));
	return pid;
}

int
sandbox_start(struct sandbox *s, const struct sandbox_plan *p, struct err *e)
{
	AUTO_FD int       go = eventfd(0, EFD_CLOEXEC);
	int               pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};

	if (go == -1)
		return err_sys(e, "eventfd");
	if (p->cgroup->unified >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)p->cgroup->whole;
	}
	if (userns_owner(p, p->uid_base, e) == -1)
		return -1;
	pid_t pid = p->cgroup->leaf >= 0 ? clone_in_leaf(p, go, &args) : sys_clone3(&args);
	if (pid == 0)
		child_main(p, go);
	if (pid == -1)
		err_sys(e, "clone into new namespaces");
	if (userns_owner(p, 0, e) == -1 || pid == -1)
		return -1;
	s->pid = pid;
	s->pidfd = pidfd;
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	if (userns_map(pid, p, e) == -1 || eventfd_write(go, 1) == -1) {
		sys_pidfd_kill(pidfd, SIGKILL);
		return -1;
	}
	return 0;
}
