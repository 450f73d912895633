#include "disk/scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/confine.h"
#include "host/landlock.h"

enum who { SCAN, LOOK };

/* Where each has its descriptors. */
enum { CONTROL = 3, PEER, PROC = PEER, PLACES };

/* What box-look sends box-scan: some files, and at last that it is done. */
struct part {
	size_t          n;
	bool            last;
	uint64_t        hidden;
	enum scan_end   end;
	int             error;
	struct nameless v[512];
};

/* ---- confined ----------------------------------------------------------------------- */

/* Errors can be logged until quiet(). */
static int
stdin_to_null(void)
{
	AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null == -1 || dup2(null, 0) == -1 || dup2(null, 1) == -1 ? -1 : 0;
}

static int
quiet(struct err *e)
{
	return dup2(0, 2) == -1 ? err_sys(e, "close standard error") : 0;
}

/* These on 3, 4, ..., and nothing else is open.  Low numbers first, as they may be each other's. */
static int
place_descriptors(int *from, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if ((from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, CONTROL + (int)n)) == -1)
			return err_sys(e, "move a descriptor up");
	for (size_t i = 0; i < n; i++)
		if (dup3(from[i], CONTROL + (int)i, O_CLOEXEC) == -1)
			return err_sys(e, "move a descriptor");
	if (stdin_to_null() == -1 || syscall(SYS_close_range, CONTROL + n, ~0U, 0) == -1)
		return err_sys(e, "close inherited descriptors");
	return 0;
}

/* What it takes from the machine is the session's.  Before its commands: they can wait for it, and not the reverse. */
static int
join(int tasks[CG__COUNT], bool born_there, struct err *e)
{
	if (cgroup_join_tasks(tasks, e) == -1)
		return -1;
	if (born_there || tasks[CG_CPU] >= 0)
		setpriority(PRIO_PROCESS, 0, -20); /* among the session's own, as its cpu quota is above all of them */
	return 0;
}

static int
lock_root(int dir, struct err *e)
{
	if (fchdir(dir) == -1 || chroot(".") == -1)
		return err_sys(e, "change the root");
	return 0;
}

/* The uid of the worker, with these rights of the host's root. */
static int
become(const struct scanner_plan *p, uint64_t rights, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   have[2], data[2] = { 0 };

	if (p->is_root && (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 || confine_bounding_set(e) == -1 ||
			      confine_identity(p->uid, p->uid, e) == -1))
		return -1;
	if (syscall(SYS_capget, &head, have) == -1)
		return err_sys(e, "capget");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(rights >> 32 * i) & have[i].permitted;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 || syscall(SYS_capset, &head, data) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "give up capabilities");
	return 0;
}

static int
set_rlimits(struct err *e)
{
	static const struct {
		int           what;
		struct rlimit limit;
	} limits[] = {
		{ RLIMIT_CORE, { 0, 0 } }, { RLIMIT_FSIZE, { 0, 0 } }, { RLIMIT_NPROC, { 0, 0 } },
		{ RLIMIT_NOFILE, { LIM_SCAN_DEPTH + LIM_MOUNTS + 16, LIM_SCAN_DEPTH + LIM_MOUNTS + 16 } },
#ifndef __SANITIZE_ADDRESS__
		{ RLIMIT_DATA, { 0, 0 } }, /* no more memory than it has */
#endif
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (setrlimit(limits[i].what, &limits[i].limit) == -1)
			return err_sys(e, "limit a resource");
	return 0;
}

/* Directories beneath these can be listed; no file can be opened, and nothing else. */
static int
only_beneath(const int *places, size_t n, struct err *e)
{
	struct landlock_rules s;
	int                   r = landlock_rules_open(&s, LL_ALL_FILES & ~LL_REFER, LL_ALL_NET, e);

	if (r == 1) /* this kernel has none; the filter is left */
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct stat st;

		if (fstat(places[i], &st) == 0 && S_ISDIR(st.st_mode))
			r = landlock_rules_allow(&s, places[i], LL_READ_DIR, "a directory with a quota", e);
	}
	if (r == 0)
		r = landlock_rules_restrict(&s, e);
	landlock_rules_close(&s);
	return r;
}

static const int calls[] = {
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(openat2),
	SCMP_SYS(getdents64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(read),
	SCMP_SYS(close),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	SCMP_SYS(write),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sched_yield),
	SCMP_SYS(prlimit64),
	SCMP_SYS(prctl),
#endif
};

static const struct call_if calls_if[] = {
	{ SCMP_SYS(madvise), 2, UINT32_MAX, MADV_DONTNEED },
};

static int
filter_calls(struct err *e)
{
	if (quiet(e) == -1)
		return -1;
	return confine_calls(calls, sizeof(calls) / sizeof(*calls), calls_if, sizeof(calls_if) / sizeof(*calls_if), e);
}

/* A signal reports the parent's death; changing the uid resets that, so it is set afterwards. */
static int
end_with(pid_t parent, const struct scanner_plan *p, struct err *e)
{
	if (p->given_away)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 || getppid() != parent)
		return err_set(e, E_CRASH, "the worker is gone");
	return 0;
}

/* ---- box-look --------------------------------------------------------------------------- */

static void
part_send(struct part *p)
{
	size_t unused = (sizeof(p->v) / sizeof(*p->v) - p->n) * sizeof(*p->v);

	if (send(CONTROL, p, sizeof(*p) - unused, MSG_NOSIGNAL) == -1)
		_exit(0);
	p->n = 0;
}

static void
part_add(void *arg, const struct nameless *f)
{
	struct part *p = arg;

	p->v[p->n++] = *f;
	if (p->n == sizeof(p->v) / sizeof(*p->v))
		part_send(p);
}

static _Noreturn void
look_for_ever(void)
{
	static struct part part;
	char               ask;

	while (recv(CONTROL, &ask, 1, 0) == 1) {
		struct look l = { .most = LIM_SCAN_OPEN, .found = part_add, .arg = &part };

		part = (struct part){ 0 };
		look_at_open_files(&l, PROC);
		part.hidden = l.hidden;
		part.end = l.end;
		part.error = l.error;
		part.last = true;
		part_send(&part);
	}
	_exit(0);
}

static int
look_main(const struct scanner_plan *p, int control, pid_t parent, struct err *e)
{
	static const uint64_t rights = 1UL << CAP_DAC_READ_SEARCH | 1UL << CAP_SYS_PTRACE |
				       1UL << CAP_CHECKPOINT_RESTORE;
	int from[] = { control, p->proc };

	if (place_descriptors(from, 2, e) == -1)
		return -1;
	if (!proc_is_genuine(PROC))
		return err_set(e, E_DENIED, "the sandbox's /proc is not a proc file system");
	if ((p->is_root && lock_root(PROC, e) == -1) || become(p, rights, e) == -1 || set_rlimits(e) == -1 ||
	    end_with(parent, p, e) == -1 || filter_calls(e) == -1)
		return -1;
	look_for_ever();
}

/* ---- box-scan --------------------------------------------------------------------------- */

static void
add_nameless(struct scan *s)
{
	static struct part part;

	if (send(PEER, "", 1, MSG_NOSIGNAL) == -1)
		_exit(1);
	do {
		ssize_t n = recv(PEER, &part, sizeof(part), 0);

		if (n < (ssize_t)offsetof(struct part, v) ||
		    part.n > ((size_t)n - offsetof(struct part, v)) / sizeof(*part.v))
			_exit(1); /* without it nothing is known */
		for (size_t i = 0; i < part.n; i++)
			scan_nameless(s, &part.v[i]);
	} while (!part.last);
	s->total.hidden = part.hidden;
	if (s->total.end == SCAN_WHOLE) {
		s->total.end = part.end;
		s->total.error = part.error;
	}
}

static _Noreturn void
scan_for_ever(struct scan *s, size_t nplaces)
{
	char ask;

	while (recv(CONTROL, &ask, 1, 0) == 1) {
		uint64_t since = span_us();

		scan_begin(s);
		for (size_t i = 0; i < nplaces; i++)
			scan_place(s, PLACES + (int)i);
		if (s->total.end == SCAN_WHOLE)
			add_nameless(s);
		s->total.took_us = span_us() - since;
		if (send(CONTROL, &s->total, sizeof(s->total), MSG_NOSIGNAL) == -1)
			break;
	}
	_exit(0);
}

static int
scan_main(const struct scanner_plan *p, int control, int peer, pid_t parent, struct err *e)
{
	int         from[PLACES - CONTROL + LIM_MOUNTS + 1] = { control, peer }, places[LIM_MOUNTS + 1];
	struct scan s;

	for (size_t i = 0; i < p->nplaces; i++) {
		from[PLACES - CONTROL + i] = p->places[i];
		places[i] = PLACES + (int)i;
	}
	if (place_descriptors(from, PLACES - CONTROL + p->nplaces, e) == -1 ||
	    scan_init(&s, p->max_entries, !p->is_root, e) == -1)
		return -1;
	if ((p->is_root && lock_root(PLACES, e) == -1) || become(p, 1UL << CAP_DAC_READ_SEARCH, e) == -1 ||
	    set_rlimits(e) == -1 || end_with(parent, p, e) == -1 || only_beneath(places, p->nplaces, e) == -1 ||
	    filter_calls(e) == -1)
		return -1;
	scan_for_ever(&s, p->nplaces);
}

/* ---- its worker's end ------------------------------------------------------------------ */

struct start {
	const struct scanner_plan *plan;
	int                        control[2]; /* worker, box-scan */
	int                        peer[2];    /* box-scan, box-look */
	int                        tasks[CG__COUNT];
	pid_t                      parent;
};

static _Noreturn void
child_main(struct start *s, enum who who)
{
	static const char *const names[] = { "box-scan", "box-look" };
	struct err               e = { 0 };

	prctl(PR_SET_NAME, names[who]);
	if (join(s->tasks, s->plan->cgroup->leaf >= 0, &e) == 0) {
		if (who == LOOK)
			look_main(s->plan, s->peer[1], s->parent, &e);
		else
			scan_main(s->plan, s->control[1], s->peer[0], s->parent, &e);
	}
	log_error("%s: %s", names[who], e.text);
	_exit(1);
}

static int
start_both(struct start *st, struct scanner *s, struct err *e)
{
	for (int who = SCAN; who < SCANNERS; who++) {
		s->pid[who] = cgroup_fork(st->plan->cgroup, &s->pidfd[who]);
		if (s->pid[who] == 0)
			child_main(st, who);
		if (s->pid[who] == -1) {
			s->pid[who] = 0;
			return err_sys(e, "fork the scanner");
		}
	}
	return 0;
}

int
scanner_start(struct scanner *s, const struct scanner_plan *plan, struct err *e)
{
	struct start st = { .plan = plan, .control = { -1, -1 }, .peer = { -1, -1 }, .parent = getpid() };

	*s = SCANNER_NONE;
	if (!proc_is_genuine(plan->proc))
		return err_set(
		    e, E_BACKEND, "the sandbox's /proc is not a procfs, so its open files cannot be measured");
	cgroup_open_tasks(plan->cgroup, st.tasks);
	int r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st.control);
	if (r == 0)
		r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st.peer);
	if (r == -1)
		err_sys(e, "socketpair for the scanner");
	if (r == 0)
		r = start_both(&st, s, e);
	if (r == 0)
		s->fd = fd_take(&st.control[0]);
	for (int i = 0; i < 2; i++) {
		fd_close(&st.control[i]);
		fd_close(&st.peer[i]);
	}
	for (int k = 0; k < CG__COUNT; k++)
		fd_close(&st.tasks[k]);
	if (r == -1)
		scanner_stop(s);
	return r;
}

int
scanner_ask(struct scanner *s, struct err *e)
{
	if (send(s->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == -1)
		return err_sys(e, "ask the scanner");
	return 0;
}

int
scanner_answer(struct scanner *s, struct scan_total *t, struct err *e)
{
	ssize_t n = recv(s->fd, t, sizeof(*t), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n != sizeof(*t))
		return err_set(e, E_CRASH, "the process that measures the workspace died");
	return 0;
}

/* They may be stuck in a disk's sleep: they are not waited for, and whoever adopts them reaps them. */
void
scanner_stop(struct scanner *s)
{
	fd_close(&s->fd);
	for (int i = 0; i < SCANNERS; i++) {
		if (s->pidfd[i] == -1)
			continue;
		sys_pidfd_kill(s->pidfd[i], SIGKILL);
		fd_close(&s->pidfd[i]);
		if (s->pid[i] > 0)
			waitpid(s->pid[i], NULL, WNOHANG);
		s->pid[i] = 0;
	}
}
