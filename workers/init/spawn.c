/*
 * A command is started as vfork would: the child runs in our memory and on our
 * stack while we are suspended, so nothing is copied, however large the buffers
 * are.  The price is a rule: between clone3 and execve the child makes system
 * calls and changes nothing of ours but *report.
 *
 * clone3 is not called through libc's syscall(): the child would return from that
 * function, and its next call would overwrite the return address that the parent
 * still needs.  The inline system call stays in one frame, which the child never
 * leaves.  An architecture without one here forks (CLONE_VFORK alone), and the
 * report goes through a shared page.
 *
 * While suspended we serve nobody.  A process of the sandbox that manages to
 * SIGSTOP a newborn before its execve stops us with it; only SIGKILL from outside
 * ends that, so the worker has a deadline of its own.
 *
 * The filter comes last, because it refuses what was needed before it.  Installing a
 * long one costs the kernel about a tenth of a spawn, so init runs under it too where
 * it can, and each command only adds the rules that init could not live with.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "explain.h"
#include "workdir.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { PROGRAM_FD = 3 };                    /* where a program that is not looked up waits for its execution */
enum { CANNOT_RUN = 126, NOT_FOUND = 127 }; /* as a shell says it */

struct spawn_report {
	int         err; /* 0: execve did not fail */
	const char *step;
};

struct plan {
	const struct spawner *by;
	const struct spawn   *what;
	const char           *path;    /* value of PATH */
	int                   workdir; /* a descriptor; -1: it is in a mount namespace that the child enters first */
	struct spawn_report  *report;
};

/*
 * The three calls that init needs and no command may have.  The long filter allows them,
 * and refuses strange ABIs.
 *
 * setns: takes a newborn to its mounts.  EPERM, as without the capability it needs.
 *
 * clone3: a filter cannot look into its arguments; libc then uses clone.  Its number is
 * the same in every ABI.
 *
 * seccomp: every filter is compiled into memory of which the whole machine has one
 * budget, and when it is used up no sandbox can start a command.  ENOSYS here and EINVAL
 * by prctl (the long filter) are the answers of a kernel without filters, and programs
 * that protect themselves by one then go on without.  What is seccomp's number in one ABI
 * may be another call's in the other, so the ABI is looked at where that is so.
 */
#if defined(__x86_64__)
enum { NATIVE = AUDIT_ARCH_X86_64, SECOND_SECCOMP = 354, SECOND_SETNS = 346 }; /* i386; x86-64 has no such numbers */
#elif defined(__aarch64__)
enum { NATIVE = AUDIT_ARCH_AARCH64, SECOND_SECCOMP = 383, SECOND_SETNS = 375 }; /* arm; arm64 has no such numbers */
#else
enum { NATIVE = 0, SECOND_SECCOMP = SYS_seccomp, SECOND_SETNS = SYS_setns }; /* in whatever ABI */
#endif

static struct sock_filter last_rules_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 7, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECOND_SECCOMP, 6, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECOND_SETNS, 8, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	/* seccomp */
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)NATIVE, 0, 6),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	/* setns, by the native number and by the second */
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)NATIVE, 2, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)NATIVE, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const struct sock_fprog last_rules = { sizeof(last_rules_code) / sizeof(*last_rules_code), last_rules_code };

static int
install(const struct sock_fprog *program)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

/* ---- in the child: no allocation, no return ------------------------------ */

static _Noreturn void
give_up(const struct plan *p, const char *step)
{
	p->report->err = errno;
	p->report->step = step;
	_exit(NOT_FOUND);
}

static void
child_stdio(const struct plan *p)
{
	/* our own 0 is /dev/null, and close-on-exec is not copied by dup2 */
	if (p->what->in != -1 && dup2(p->what->in, STDIN_FILENO) == -1)
		give_up(p, "standard input");
	if (dup2(p->what->out, STDOUT_FILENO) == -1 || dup2(p->what->err, STDERR_FILENO) == -1)
		give_up(p, "standard output");
}

static void
child_close(const struct plan *p, unsigned first, unsigned last)
{
	if (syscall(SYS_close_range, first, last, 0U) == -1 && errno != ENOSYS)
		give_up(p, "close_range");
}

/* The script outlives the execution: its shell opens it by number, and closes it before its first command. */
static void
child_script(const struct plan *p)
{
	int script = p->what->script;

	if ((script == SCRIPT_FD ? fcntl(script, F_SETFD, 0) : dup2(script, SCRIPT_FD)) == -1)
		give_up(p, "script");
	child_close(p, STDERR_FILENO + 1, SCRIPT_FD - 1);
	child_close(p, SCRIPT_FD + 1, ~0U);
}

/* All are close-on-exec anyway; the program itself must last until then. */
static void
child_descriptors(const struct plan *p)
{
	int      program = p->what->program;
	unsigned first = program == -1 ? PROGRAM_FD : PROGRAM_FD + 1;

	if (p->what->script != -1) {
		child_script(p);
		return;
	}
	if (program != -1 && program != PROGRAM_FD && dup3(program, PROGRAM_FD, O_CLOEXEC) == -1)
		give_up(p, "program");
	child_close(p, first, ~0U);
}

/* 0 names the writer.  Only from a single thread that moves itself the kernel asks for no grace period. */
static void
child_join(const struct plan *p)
{
	for (size_t i = 0; i < sizeof(p->what->join) / sizeof(*p->what->join); i++)
		if (p->what->join[i] != -1 && write(p->what->join[i], "0", 1) == -1)
			give_up(p, "enter the command's cgroup");
}

/* Before it looks at any path. */
static void
child_mounts(struct plan *p)
{
	static const uint32_t           needed = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct raised[2] = { { .effective = needed, .permitted = needed } }, none[2] = { { 0 } };

	if (p->what->mounts == -1)
		return;
	if (syscall(SYS_capset, &head, raised) == -1 || setns(p->what->mounts, CLONE_NEWNS) == -1 ||
	    syscall(SYS_capset, &head, none) == -1)
		give_up(p, "enter the command's mounts");
	p->workdir = workdir_open(p->what->workdir);
}

static void
child_unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* One entry of PATH, dir[0..n); an empty one is the working directory.  errno says why it was not that one. */
static void
child_try(const struct spawn *s, const char *dir, size_t n)
{
	char   file[PATH_MAX];
	size_t name = strlen(s->argv[0]);

	if (n + 1 + name >= sizeof(file)) {
		errno = ENOENT;
		return;
	}
	memcpy(file, dir, n);
	if (n > 0)
		file[n++] = '/';
	memcpy(file + n, s->argv[0], name + 1);
	execve(file, (char *const *)s->argv, (char *const *)s->env);
}

/* As execvp does, but without its shell for files that are no program. */
static void
child_exec(const struct plan *p)
{
	const struct spawn *s = p->what;
	bool                denied = false;

	if (s->program != -1) {
		syscall(SYS_execveat, PROGRAM_FD, "", s->argv, s->env, AT_EMPTY_PATH);
		return;
	}
	if (s->argv[0][0] == '\0' || strchr(s->argv[0], '/') != NULL) {
		execve(s->argv[0], (char *const *)s->argv, (char *const *)s->env);
		return;
	}
	for (const char *dir = p->path;; dir++) {
		size_t n = strcspn(dir, ":");

		child_try(s, dir, n);
		if (errno == EACCES)
			denied = true;
		else if (errno != ENOENT && errno != ENOTDIR)
			return;
		dir += n;
		if (*dir == '\0')
			break;
	}
	errno = denied ? EACCES : ENOENT;
}

/*
 * When memory runs out a command shall die, not init.  A newborn stands where its
 * parent does, so init steps forward for its birth, and the newborn itself sends init
 * back: init sleeps until the command is executed, and must not stand there so long.
 * Not being able to is no reason to fail.
 */
static void
stand_before_oom(const struct spawner *by, bool forward)
{
	const char *to = forward ? "500" : by->oom_base;

	if (by->oom > 0 && pwrite(by->oom, to, strlen(to), 0) == -1)
		errno = 0;
}

static _Noreturn __attribute__((noinline)) void
child(struct plan *p)
{
	stand_before_oom(p->by, false);
	setsid();
	child_join(p);
	child_stdio(p);
	child_mounts(p);
	if (p->workdir == -1 || fchdir(p->workdir) == -1)
		give_up(p, "workdir");
	for (size_t i = 0; i < LIMITS; i++)
		if (p->by->limits[i].name != NULL && setrlimit(p->by->limits[i].what, &p->by->limits[i].to) == -1)
			give_up(p, p->by->limits[i].name);
	child_descriptors(p);
	child_unblock_signals();
	if (p->by->filter.len > 0 && install(&p->by->filter) == -1)
		give_up(p, "seccomp");
	if (install(&last_rules) == -1)
		give_up(p, "seccomp");
	child_exec(p);
	give_up(p, "exec");
}

/* ---- clone3 --------------------------------------------------------------- */

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(SPAWN_BY_FORK)

enum { SHARE = CLONE_VM | CLONE_VFORK };

static inline __attribute__((always_inline)) long
raw_clone3(struct clone_args *a)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "0"((long)SYS_clone3), "D"(a), "S"(sizeof(*a)) : "rcx", "r11", "memory");
	return r;
#else
	register long               nr __asm__("x8") = SYS_clone3;
	register long               r __asm__("x0") = (long)a;
	register unsigned long long size __asm__("x1") = sizeof(*a);

	__asm__ volatile("svc #0" : "+r"(r) : "r"(nr), "r"(size) : "memory", "cc");
	return r;
#endif
}

static struct spawn_report *
report_open(void)
{
	static struct spawn_report one;

	one = (struct spawn_report){ 0 };
	return &one;
}

static void
report_close(struct spawn_report *r)
{
}

#else

enum { SHARE = CLONE_VFORK };

static inline long
raw_clone3(struct clone_args *a)
{
	long r = syscall(SYS_clone3, a, sizeof(*a));

	return r == -1 ? -errno : r;
}

static struct spawn_report *
report_open(void)
{
	void *p = mmap(NULL, sizeof(struct spawn_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void
report_close(struct spawn_report *r)
{
	munmap(r, sizeof(*r));
}

#endif

/* The pid, or a negated errno.  Not inlined: the child's path must end in this very frame. */
static __attribute__((noinline)) long
clone_child(struct clone_args *a, struct plan *p)
{
	long r = raw_clone3(a);

	if (r == 0)
		child(p);
	return r;
}

/* ---- in the parent --------------------------------------------------------- */

static pid_t
failed(struct spawn_failure *f, enum cause cause, int code)
{
	f->cause = cause;
	f->exit_code = code;
	return -1;
}

static pid_t
failed_clone(struct spawn_failure *f, int code, bool in_cgroup)
{
	errno = code;
	if (code == EAGAIN) {
		err_set(&f->why, E_SYS, "no process could be made: the sandbox's limit of processes is reached");
		return failed(f, CAUSE_PIDS, CANNOT_RUN);
	}
	if (code == ENOSYS)
		err_set(&f->why, E_SYS, "clone3 is missing: the kernel is older than 5.7, or a filter forbids it");
	else
		err_sys(&f->why, "%s", in_cgroup ? "clone3 into the command's cgroup" : "clone3");
	return failed(f, CAUSE_SPAWN, CANNOT_RUN);
}

static pid_t
failed_child(struct spawn_failure *f, const struct spawn *s, const struct spawn_report *r)
{
	errno = r->err;
	if (strcmp(r->step, "exec") == 0)
		f->missing = explain_exec(&f->why, s);
	else if (strcmp(r->step, "workdir") == 0)
		explain_workdir(&f->why, s);
	else
		err_sys(&f->why, "%s", r->step);
	return failed(f, CAUSE_SPAWN, r->err == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

static const char *
path_of(const char *const *env)
{
	for (; *env != NULL; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return DEFAULT_PATH;
}

static pid_t
child_start(struct plan *p, struct spawn_failure *f)
{
	int               cgroup = p->what->cgroup;
	struct clone_args a = {
		.flags = SHARE | (cgroup != -1 ? CLONE_INTO_CGROUP : 0),
		.exit_signal = SIGCHLD,
		.cgroup = cgroup != -1 ? (unsigned)cgroup : 0,
	};

	long pid = clone_child(&a, p);
	if (pid < 0)
		return failed_clone(f, (int)-pid, cgroup != -1);
	if (p->report->err == 0)
		return (pid_t)pid;
	/* It is past _exit; once it is reaped its cgroup can be removed. */
	while (waitpid((pid_t)pid, NULL, 0) == -1 && errno == EINTR)
		;
	return failed_child(f, p->what, p->report);
}

pid_t
spawn(const struct spawner *by, const struct spawn *s, struct spawn_failure *f)
{
	AUTO_FD int workdir = s->mounts == -1 ? workdir_open(s->workdir) : -1;

	if (workdir == -1 && s->mounts == -1) {
		explain_workdir(&f->why, s);
		return failed(f, CAUSE_SPAWN, CANNOT_RUN);
	}
	struct plan p = { .by = by, .what = s, .path = path_of(s->env), .workdir = workdir, .report = report_open() };
	if (p.report == NULL) {
		err_sys(&f->why, "memory for a child's report");
		return failed(f, CAUSE_SPAWN, CANNOT_RUN);
	}
	stand_before_oom(by, true);
	pid_t pid = child_start(&p, f);
	if (pid == -1)
		stand_before_oom(by, false); /* there may have been no newborn */
	report_close(p.report);
	return pid;
}

static int
read_filter(struct sock_fprog *out, int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_sys(e, "the seccomp program");
	size_t size = (size_t)st.st_size;
	if (size == 0 || size % sizeof(struct sock_filter) != 0 || size / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return err_set(e, E_INVALID, "a seccomp program of %zu bytes", size);
	out->filter = malloc(size);
	if (out->filter == NULL || pread(fd, out->filter, size, 0) != (ssize_t)size)
		return err_sys(e, "read the seccomp program");
	out->len = (unsigned short)(size / sizeof(struct sock_filter));
	return 0;
}

int
spawner_inherit_filter(struct spawner *s, struct err *e)
{
	if (install(&s->filter) == -1)
		return err_sys(e, "install the seccomp program");
	free(s->filter.filter);
	s->filter = (struct sock_fprog){ 0 };
	return 0;
}

int
spawner_init(struct spawner *s, int filter_fd, int oom_fd, struct err *e)
{
	if (oom_fd > 0 && pread(oom_fd, s->oom_base, sizeof(s->oom_base) - 1, 0) <= 0)
		return err_sys(e, "read our oom_score_adj");
	s->oom = oom_fd;
	return read_filter(&s->filter, filter_fd, e);
}
