/*
 * box-init alone: the real program as pid 1 of fresh user, pid and mount namespaces,
 * and this test as its master.  Everything runs twice where the machine allows
 * it: commands told apart by mark, and by cgroup.
 *
 * Commands that need to misbehave in ways a shell cannot are this program itself,
 * called with the name of the misbehaviour.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chan.h"
#include "fd.h"
#include "memfd.h"
#include "tap.h"

enum { CALLS = 4096, BOMB = 200, ZOMBIES = 5000, FILL = 4 << 20 };

static const char *program; /* box-init */
static char        self[PATH_MAX];
static char        dir[] = "/tmp/boxd-t-init.XXXXXX";
static char        cgroups[PATH_MAX]; /* a temporary directory on the v2 tree, or "" */

static _Noreturn void
die(const char *what)
{
	BAIL_OUT("%s: %s", what, strerror(errno));
}

/* ---- the misbehaviours ------------------------------------------------------------- */

static char
pattern(uint64_t i)
{
	return (char)(i * 31 + (i >> 9));
}

static int
be_fill(const char *arg)
{
	size_t n = strtoul(arg, NULL, 10);
	char  *p = malloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i);
	for (size_t done = 0; done < n;) {
		ssize_t w = write(1, p + done, n - done);
		if (w <= 0)
			return 1;
		done += (size_t)w;
	}
	return 0;
}

/* Some hundred processes in sessions of their own that ignore TERM; a third of them stopped. */
static int
be_bomb(const char *arg)
{
	int         most = atoi(arg);
	atomic_int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (;;) {
		int mine = atomic_fetch_add(count, 1);
		if (mine >= most)
			break;
		if (fork() == 0) {
			setsid();
			if (fork() != 0)
				_exit(0);
			if (write(1, ".", 1) == 1 && mine % 3 == 0)
				raise(SIGSTOP);
		}
	}
	for (;;)
		pause();
}

/* Fork and exit, fork and exit: nobody lives long enough to be looked at. */
static int
be_runner(const char *arg)
{
	for (int i = atoi(arg); i > 1; i--)
		if (fork() == 0)
			break;
	if (write(1, ".", 1) != 1)
		return 1;
	for (;;)
		if (fork() != 0)
			_exit(0);
}

static void *
spin(void *arg)
{
	(void)arg;
	if (write(1, ".", 1) != 1)
		return NULL;
	for (;;)
		pause();
}

/* The first thread ends, and the process looks like a zombie. */
static int
be_headless(const char *arg)
{
	pthread_t t;

	(void)arg;
	if (fork() != 0)
		for (;;)
			pause();
	setsid();
	pthread_create(&t, NULL, spin, NULL);
	pthread_exit(NULL);
}

static int
be_zombies(const char *arg)
{
	int made = 0;

	for (int i = atoi(arg); i > 0; i--) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		made += pid > 0;
	}
	printf("%d\n", made);
	return 0;
}

/* Processes that are not zombies; a name ends before the last parenthesis. */
static int
be_count(const char *arg)
{
	DIR           *proc = opendir("/proc");
	struct dirent *d;
	int            n = 0;

	(void)arg;
	while ((d = readdir(proc)) != NULL) {
		char  path[300], text[512] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
		if (d->d_name[0] < '0' || d->d_name[0] > '9' || (f = fopen(path, "r")) == NULL)
			continue;
		char *at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		n += at != NULL && at[2] != 'Z' && at[2] != 'X';
		fclose(f);
	}
	printf("%d\n", n);
	return 0;
}

static int
connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == -1)
		die("connect to init");
	return fd;
}

static int
be_intruder(const char *path)
{
	char c;

	puts(read(connect_to(path), &c, 1) <= 0 ? "refused" : "served");
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(const char *arg);
} misbehaviours[] = {
	{ "fill", be_fill },
	{ "bomb", be_bomb },
	{ "runner", be_runner },
	{ "headless", be_headless },
	{ "zombies", be_zombies },
	{ "count", be_count },
	{ "intruder", be_intruder },
};

/* Not by exit(): a sanitizer that looks for leaks then needs more than a sandbox gives it. */
static _Noreturn void
misbehave(const char *how, const char *arg)
{
	int r = 2;

	for (size_t i = 0; i < sizeof(misbehaviours) / sizeof(*misbehaviours); i++)
		if (strcmp(how, misbehaviours[i].name) == 0)
			r = misbehaviours[i].fn(arg);
	fflush(NULL);
	_exit(r);
}

/* ---- a box ----------------------------------------------------------------------------- */

/* What has been heard about one request. */
struct call {
	bool                   replied;
	bool                   failed;
	struct err             error;
	struct msg_exec_result r; /* its pointers are dead; see out and err */
	struct buf             out[2];
	uint64_t               at[2]; /* offset behind the last streamed byte */
	bool                   gap;
	char                   text[1024]; /* r.error */
	int                    cgroup;
};

struct box {
	bool              by_cgroup;
	pid_t             pid; /* of the outer process: ends with init */
	int               chan;
	char              path[64];
	struct chan_in    in;
	bool              ready, failed, gone;
	char              reason[1024];
	bool              no_acks;
	uint64_t          next;
	uint64_t          attach; /* request id of an ATTACH under way */
	size_t            nknown;
	struct msg_resume known[16];
	struct call       calls[CALLS];
};

struct opts {
	uint64_t           timeout_ms, keep, window;
	const char        *workdir;
	const char *const *argv;
	int                in; /* 0: none */
	bool               no_cgroup;
};

static void
write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		die(path);
}

static void
place(int fd, int at)
{
	if (dup2(fd, at) == -1)
		_exit(120);
}

static _Noreturn void
become_init(int listener, int chan, int filter, const char *mode, const char *orphan_ms)
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1)
		_exit(121);
	int oom = open("/proc/self/oom_score_adj", O_RDWR);
	/* first out of the way of 3 to 6 */
	oom = fcntl(oom, F_DUPFD, 20);
	listener = fcntl(listener, F_DUPFD, 20);
	chan = fcntl(chan, F_DUPFD, 20);
	filter = fcntl(filter, F_DUPFD, 20);
	for (int i = 0; i < 3; i++)
		place(null, i);
	place(listener, 3);
	place(chan, 4);
	place(filter, 5);
	place(oom, 6);
	close_range(7, ~0U, 0);
	signal(SIGUSR1, SIG_IGN); /* init must not hand that on */
	execve(program, (char *[]){ "box-init", (char *)mode, (char *)orphan_ms, "oom=6", NULL }, (char *[]){ NULL });
	_exit(122);
}

static void
map_ids(uid_t uid, gid_t gid)
{
	char text[64];

	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", uid);
	write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", gid);
	write_file("/proc/self/gid_map", text);
}

static _Noreturn void
outer(int listener, int chan, int filter, const char *mode, const char *orphan_ms)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int   status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == -1)
		_exit(119);
	map_ids(uid, gid);
	pid_t pid = fork();
	if (pid == 0)
		become_init(listener, chan, filter, mode, orphan_ms);
	close_range(3, ~0U, 0); /* or init's end of the channel would outlive it here */
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 123);
}

static int
bound_socket(struct box *b)
{
	static int         n;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(b->path, sizeof(b->path), "%s/%d", dir, n++);
	strcpy(a.sun_path, b->path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1)
		die("bind");
	return fd;
}

static struct box *
box_start(const char *mode, const char *orphan_ms)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U /* SECCOMP_RET_ALLOW */);
	struct box        *b = calloc(1, sizeof(*b));
	struct err         e;
	int                ends[2];

	b->by_cgroup = strcmp(mode, "cgroup") == 0;
	AUTO_FD int listener = bound_socket(b);
	AUTO_FD int filter = memfd_of("filter", &allow, sizeof(allow), &e);
	if (filter == -1 || chan_pair(ends, &e) == -1)
		die("channel");
	fflush(NULL);
	b->pid = fork();
	if (b->pid == 0)
		outer(listener, ends[1], filter, mode, orphan_ms);
	close(ends[1]);
	b->chan = ends[0];
	b->next = 1;
	return b;
}

static void remove_cgroups(const struct box *);

/* Wait until the outer process, and so init, is gone; its status. */
static int
box_end(struct box *b)
{
	int status;

	waitpid(b->pid, &status, 0);
	remove_cgroups(b);
	close(b->chan);
	chan_in_clear(&b->in);
	for (size_t i = 0; i < CALLS; i++) {
		buf_clear(&b->calls[i].out[0]);
		buf_clear(&b->calls[i].out[1]);
	}
	free(b);
	return status;
}

/* ---- talking to it --------------------------------------------------------------------- */

static void listen_once(struct box *);

/* Init reads no request that it could not answer: whoever cannot write must go on reading. */
static void
send_msg(struct box *b, enum msg_type t, uint64_t id, const void *body)
{
	struct packet p = { 0 };
	struct err    e;
	int           r;

	if (msg_encode(&p, t, id, 0, body, &e) == -1)
		BAIL_OUT("encode: %s", e.text);
	while ((r = chan_send(b->chan, &p, &e)) == 1) {
		struct pollfd f = { .fd = b->chan, .events = POLLIN | POLLOUT };

		poll(&f, 1, -1);
		if (f.revents & POLLIN)
			listen_once(b);
	}
	packet_clear(&p);
	if (r == -1)
		diag("%s", e.text);
}

static void
ack(struct box *b, uint64_t id, enum stream s)
{
	send_msg(
	    b, MSG_OUTPUT_ACK, 0, &(struct msg_output_ack){ .call = id, .stream = s, .offset = b->calls[id].at[s] });
}

static void
heard_output(struct box *b, const struct msg_output *o)
{
	struct call *c = &b->calls[o->call];
	struct err   e;

	c->gap |= c->at[o->stream] != o->offset;
	blob_read(&o->data, &c->out[o->stream], &e);
	c->at[o->stream] = o->offset + o->data.len;
	if (!b->no_acks)
		ack(b, o->call, o->stream);
}

static void
heard_result(struct call *c, struct msg *m)
{
	struct err e;

	if (msg_expect(m, MSG_EXEC_RESULT, &e) == -1)
		BAIL_OUT("a bad result: %s", e.text);
	c->r = *(const struct msg_exec_result *)m->body;
	snprintf(c->text, sizeof(c->text), "%s", c->r.error);
	blob_read(&c->r.stdout, &c->out[0], &e);
	blob_read(&c->r.stderr, &c->out[1], &e);
}

static void
heard_attached(struct box *b, struct msg *m)
{
	struct err e;

	if (msg_expect(m, MSG_ATTACHED, &e) == -1)
		BAIL_OUT("a bad attached: %s", e.text);
	const struct msg_attached *a = m->body;
	b->nknown = a->execs.n;
	for (size_t i = 0; i < a->execs.n && i < 16; i++)
		b->known[i] = a->execs.v[i];
	b->attach = 0;
}

/* Requests that are not execs have ids above those that are. */
static void
heard_reply(struct box *b, struct msg *m)
{
	struct call *c = &b->calls[m->id % CALLS];

	c->replied = true;
	c->failed = m->failed;
	c->error = m->error;
	if (m->failed)
		return;
	if (b->attach == m->id)
		heard_attached(b, m);
	else if (m->id < CALLS / 2)
		heard_result(c, m);
}

/* Wait for one message and take note of it. */
static void
listen_once(struct box *b)
{
	struct msg m;
	struct err e;

	poll(&(struct pollfd){ .fd = b->chan, .events = POLLIN }, 1, -1);
	int r = chan_recv(b->chan, &b->in, &m, FROM_INIT, &e);
	if (r == 1)
		return;
	if (r == -1)
		BAIL_OUT("init sent what it may not: %s", e.text);
	if (r == 2)
		b->gone = true;
	else if (m.envelope == ENV_REPLY)
		heard_reply(b, &m);
	else if (m.type == MSG_OUTPUT)
		heard_output(b, m.body);
	else if (m.type == MSG_INIT_READY)
		b->ready = true;
	else if (m.type == MSG_INIT_FAILED) {
		b->failed = true;
		snprintf(b->reason, sizeof(b->reason), "%s", ((const struct msg_init_failed *)m.body)->reason);
	}
	msg_clear(&m);
}

static int
make_cgroup(const struct box *b, uint64_t id)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%d-%lu", cgroups, (int)b->pid, id);
	if (mkdir(path, 0755) == -1)
		die(path);
	return open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

static int
remove_cgroup(const struct box *b, uint64_t id)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%d-%lu", cgroups, (int)b->pid, id);
	return rmdir(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* When all are dead or dying. */
static void
remove_cgroups(const struct box *b)
{
	for (uint64_t id = 1; b->by_cgroup && id < b->next; id++)
		while (remove_cgroup(b, id) == -1 && errno == EBUSY)
			poll(NULL, 0, 1);
}

static uint64_t
start_as(struct box *b, uint64_t id, const char *script, const struct opts *o)
{
	const char      *argv[] = { "sh", "-c", script, NULL };
	const char      *env[] = { "PATH=/nonexistent:/usr/bin:/bin", "A=1", NULL };
	struct msg_spawn s;
	size_t           n = 0;

	msg_defaults(MSG_SPAWN, &s);
	s.argv.v = o->argv != NULL ? (const char **)o->argv : argv;
	while (s.argv.v[n] != NULL)
		n++;
	s.argv.n = n;
	s.env = (struct strs){ 2, env };
	s.workdir = o->workdir != NULL ? o->workdir : "/tmp";
	s.timeout_ms = o->timeout_ms;
	s.window = o->window;
	s.keep_bytes = o->keep != 0 ? o->keep : MIB;
	s.stdin = o->in != 0 ? o->in : -1;
	AUTO_FD int cgroup = b->by_cgroup && !o->no_cgroup ? make_cgroup(b, id) : -1;
	s.cgroup = cgroup;
	send_msg(b, MSG_SPAWN, id, &s);
	return id;
}

static uint64_t
start(struct box *b, const char *script, struct opts o)
{
	return start_as(b, b->next++, script, &o);
}

static uint64_t
start_self(struct box *b, const char *what, const char *arg, struct opts o)
{
	const char *argv[] = { self, what, arg, NULL };

	o.argv = argv;
	return start(b, NULL, o);
}

static void
release(struct box *b, uint64_t id)
{
	send_msg(b, MSG_RELEASE, 0, &(struct msg_release){ .exec = id });
	if (b->by_cgroup)
		remove_cgroup(b, id); /* unless it left somebody behind */
}

static struct call *
await(struct box *b, uint64_t id)
{
	struct call *c = &b->calls[id % CALLS];

	while (!c->replied && !b->gone)
		listen_once(b);
	for (int i = 0; i < 2; i++) /* so that it can be compared as a string */
		buf_append(&c->out[i], "", 1), c->out[i].len--;
	return c;
}

static struct call *
finish(struct box *b, uint64_t id)
{
	struct call *c = await(b, id);

	release(b, id);
	return c;
}

static void
await_bytes(struct box *b, uint64_t id, size_t n)
{
	while (b->calls[id].out[0].len < n && !b->gone)
		listen_once(b);
}

static struct call *
cancel(struct box *b, uint64_t exec)
{
	uint64_t id = CALLS / 2 + b->next++;

	b->calls[id].replied = false;
	send_msg(b, MSG_CANCEL, id, &(struct msg_cancel){ .call = exec });
	return await(b, id);
}

static void
reconnect(struct box *b)
{
	close(b->chan);
	b->chan = connect_to(b->path);
	b->gone = false;
}

static void
attach(struct box *b, struct msg_resume *v, size_t n)
{
	struct msg_attach a = { .execs = { n, v } };

	b->attach = CALLS / 2 + b->next++;
	send_msg(b, MSG_ATTACH, b->attach, &a);
	while (b->attach != 0 && !b->gone)
		listen_once(b);
}

/* ---- what is expected of it -------------------------------------------------------------- */

static void
t_results(struct box *b)
{
	struct call *c = finish(b, start(b, "echo out; echo err >&2; exit 7", (struct opts){ 0 }));
	is(c->out[0].data, "out\n", "stdout is kept");
	is(c->out[1].data, "err\n", "stderr is kept apart");
	ok(c->r.cause == CAUSE_EXIT && c->r.exit_code == 7 && c->r.signal == 0, "the exit code is told");
	ok(c->r.stdout_bytes == 4 && c->r.stderr_bytes == 4 && c->r.killed == 0, "and the totals");
	cmp_ok(c->r.duration_us, ">", 0, "and how long it took");

	c = finish(b, start(b, "kill -USR2 $$", (struct opts){ 0 }));
	ok(c->r.cause == CAUSE_SIGNAL && c->r.signal == SIGUSR2 && c->r.exit_code == -1, "a signal is told as one");
	c = finish(b, start(b, "kill -USR1 $$", (struct opts){ 0 }));
	ok(c->r.cause == CAUSE_SIGNAL && c->r.signal == SIGUSR1, "also one that init's starter ignored");
}

static void
t_not_started(struct box *b)
{
	struct call *c = finish(b, start(b, NULL, (struct opts){ .argv = (const char *[]){ "no-such", NULL } }));
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code == 127, "a program that is not there: 127");
	is(c->text, "exec no-such: No such file or directory", "and it says which");
	c = finish(b, start(b, NULL, (struct opts){ .argv = (const char *[]){ "/etc/passwd", NULL } }));
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code == 126, "a file that is no program: 126");
	is(c->text, "exec /etc/passwd: Permission denied", "and it says why");
	c = finish(b, start(b, "true", (struct opts){ .workdir = "/proc/none/such" }));
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code != 0, "no working directory, no command");
	like(c->text, "^workdir /proc/none/such: ", "and it says which");
}

static void
t_surroundings(struct box *b)
{
	char deep[128];

	snprintf(deep, sizeof(deep), "%s/%s/a/b/c", dir, b->by_cgroup ? "cgroup" : "mark");
	struct call *c = finish(b, start(b, "pwd; stat -c %a .; umask; echo $A", (struct opts){ .workdir = deep }));
	char         want[256];
	snprintf(want, sizeof(want), "%s\n755\n0022\n1\n", deep);
	is(c->out[0].data, want, "the working directory is made, umask and environment are as asked");

	c = finish(b, start(b, "ls /proc/self/fd", (struct opts){ 0 }));
	is(c->out[0].data, "0\n1\n2\n3\n", "no descriptor leaks into a command (3 is ls's own)");
	c = finish(b, start(b, "readlink /proc/self/fd/0; cat", (struct opts){ 0 }));
	is(c->out[0].data, "/dev/null\n", "stdin is /dev/null");

	struct err  e;
	AUTO_FD int in = memfd_of("stdin", "hello\n", 6, &e);
	c = finish(b, start(b, "cat", (struct opts){ .in = in }));
	is(c->out[0].data, "hello\n", "or what was passed");
}

static void
t_powerless(struct box *b)
{
	struct call *c = finish(
	    b, start(b,
		   "grep -E '^(Cap|NoNewPrivs|Sig(Blk|Ign)|Seccomp:)' /proc/self/status; "
		   "cat /proc/self/oom_score_adj; ulimit -c; [ $(ps -o sid= -p $$) = $$ ] && echo leader",
		   (struct opts){ 0 }));

	is(c->out[0].data,
	    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	    "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	    "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n500\n0\nleader\n",
	    "a command has no capability, no way to one, a filter, default signals, its own session");
	c = finish(b, start(b, "grep CapEff /proc/1/status", (struct opts){ 0 }));
	is(c->out[0].data, b->by_cgroup ? "CapEff:\t0000000000000000\n" : "CapEff:\t0000000000280020\n",
	    "init has the capabilities it needs and no other");
}

static bool
is_pattern(const struct buf *b, size_t n)
{
	if (b->len != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (b->data[i] != pattern(i))
			return false;
	return true;
}

static void
t_kept(struct box *b)
{
	struct call *c = finish(b, start_self(b, "fill", "1000000", (struct opts){ .keep = 100000 }));
	ok(is_pattern(&c->out[0], 100000), "what is kept ends exactly at the limit");
	cmp_ok(c->r.stdout_bytes, "==", 1000000, "the rest is counted");
	c = finish(b, start_self(b, "fill", "4194304", (struct opts){ .keep = 8 * MIB }));
	ok(is_pattern(&c->out[0], FILL), "a large output is kept whole");
	c = finish(b, start(b, "yes | head -c 300000 >&2", (struct opts){ .keep = 1 }));
	ok(c->r.stderr_bytes == 300000 && c->out[1].len == 1, "stderr has its own limit and count");
}

static void
t_streamed(struct box *b)
{
	uint64_t     id = start_self(b, "fill", "4194304", (struct opts){ .window = 5000 });
	struct call *c = finish(b, id);
	ok(is_pattern(&c->out[0], FILL) && !c->gap, "4 MiB through a window of 5000 bytes, nothing lost");
	ok(c->r.stdout_bytes == FILL && c->r.exit_code == 0, "and the result came after the last byte");

	b->no_acks = true;
	id = start_self(b, "fill", "100000", (struct opts){ .window = 4096 });
	c = &b->calls[id];
	await_bytes(b, id, 4096);
	finish(b, start(b, "sleep 0.1", (struct opts){ 0 }));
	ok(c->out[0].len == 4096 && !c->replied,
	    "without an acknowledgement the window stays shut, and the command waits");
	b->no_acks = false;
	ack(b, id, STREAM_STDOUT);
	finish(b, id);
	ok(is_pattern(&c->out[0], 100000), "with one it goes on");
}

static void
t_detached(struct box *b)
{
	b->no_acks = true;
	uint64_t     id = start_self(b, "fill", "4194304", (struct opts){ .window = 4096 });
	struct call *c = &b->calls[id];
	await_bytes(b, id, 4096);
	send_msg(b, MSG_DETACH, 0, &(struct msg_detach){ .call = id });
	finish(b, id);
	ok(c->r.exit_code == 0 && c->r.stdout_bytes == FILL,
	    "detached: the command runs to its end, its bytes are counted");
	cmp_ok(c->out[0].len, "==", 4096, "and not sent");
	b->no_acks = false;
}

static void
t_background(struct box *b)
{
	uint64_t id = start(
	    b, "(while :; do echo noise; done) & echo $! >&2; exec >&-; sleep 0.05; exit 3", (struct opts){ 0 });
	struct call *c = finish(b, id);
	ok(c->r.exit_code == 3 && c->r.killed == 0,
	    "a background child that writes without end does not hold the reply");
	char script[128];
	snprintf(script, sizeof(script), "p=%d; kill -0 $p && echo alive; kill -9 $p", atoi(c->out[1].data));
	c = finish(b, start(b, script, (struct opts){ 0 }));
	is(c->out[0].data, "alive\n", "and lives on");
	c = finish(b, start(b, "echo first; sleep 1000 & echo $!", (struct opts){ 0 }));
	like(c->out[0].data, "^first\n[0-9]+\n$", "a silent one does not either, and no byte is missing");
	snprintf(script, sizeof(script), "kill -9 %d", atoi(c->out[0].data + 6));
	finish(b, start(b, script, (struct opts){ 0 }));
}

static int
processes(struct box *b)
{
	return atoi(finish(b, start_self(b, "count", "", (struct opts){ 0 }))->out[0].data);
}

/* Zombies of the command before may still be on their way. */
static void
is_alone(struct box *b, const char *after)
{
	cmp_ok(processes(b), "==", 2, "nobody but init is left after %s", after);
}

static void
t_timeout(struct box *b)
{
	struct call *c = finish(
	    b, start(b, "echo begun; trap '' TERM; sleep 1000 & sleep 1000", (struct opts){ .timeout_ms = 200 }));
	ok(c->r.cause == CAUSE_TIMEOUT && c->r.exit_code == -1 && c->r.signal == SIGKILL, "a timeout is told as one");
	is(c->out[0].data, "begun\n", "output up to then is kept");
	cmp_ok(c->r.duration_us, ">=", 200000, "it had its time");
	is_alone(b, "it");

	char most[16];
	snprintf(most, sizeof(most), "%d", BOMB);
	c = finish(b, start_self(b, "bomb", most, (struct opts){ .timeout_ms = 1000 }));
	ok(c->r.cause == CAUSE_TIMEOUT && c->out[0].len > 0, "a fork bomb is ended by its timeout");
	cmp_ok(c->r.killed, ">=", c->out[0].len, "all %zu that spoke were killed", c->out[0].len);
	is_alone(b, "a bomb");
}

static void
t_cancel(struct box *b)
{
	uint64_t other = start(b, "sleep 1000 & echo up; sleep 1000", (struct opts){ .window = 100 });
	await_bytes(b, other, 3);
	uint64_t id = start_self(b, "bomb", "200", (struct opts){ .window = 4096 });
	await_bytes(b, id, BOMB);
	ok(!cancel(b, id)->failed, "cancel is answered at once");
	struct call *c = finish(b, id);
	ok(c->r.cause == CAUSE_CANCELLED && c->r.signal == SIGKILL, "and the command ends cancelled");
	cmp_ok(c->r.killed, ">=", BOMB, "with %lu processes killed: own sessions, orphans, stopped, deaf to TERM",
	    c->r.killed);
	cmp_ok(processes(b), "==", 2 + 3, "another command and its children were not touched");
	ok(cancel(b, id)->error.code == E_NOTFOUND, "cancel of one that has ended is refused");
	ok(cancel(b, 2000)->error.code == E_NOTFOUND, "and of one that never was");

	id = start_self(b, "headless", "", (struct opts){ .window = 100 });
	await_bytes(b, id, 1);
	cancel(b, id);
	cmp_ok(finish(b, id)->r.killed, "==", 2, "a process that looks like a zombie is found by its other thread");
	cancel(b, other);
	finish(b, other);
}

/* A chain of forks is not a child of anybody for long: its first process exits by itself. */
static void
t_runner(struct box *b)
{
	uint64_t id = start(b, NULL,
	    (struct opts){ .argv = (const char *[]){ "sh", "-c", "\"$0\" runner 4; exec sleep 1000", self, NULL },
		.window = 100 });
	await_bytes(b, id, 4);
	cancel(b, id);
	struct call *c = finish(b, id);
	ok(c->r.cause == CAUSE_CANCELLED, "four chains of processes that fork and exit were caught");
	is_alone(b, "them");
}

static void
t_zombies(struct box *b)
{
	char n[16], want[32];

	snprintf(n, sizeof(n), "%d", ZOMBIES);
	snprintf(want, sizeof(want), "%d\n", ZOMBIES);
	struct call *c = finish(b, start_self(b, "zombies", n, (struct opts){ 0 }));
	is(c->out[0].data, want, "%d zombies fell to init", ZOMBIES);
	c = finish(
	    b, start(b, "while grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | grep -q .; do :; done; echo clean",
		   (struct opts){ 0 }));
	is(c->out[0].data, "clean\n", "and were reaped");
}

static void
t_refusals(struct box *b)
{
	uint64_t id = start(b, "echo once; sleep 1000", (struct opts){ .window = 100 });
	await_bytes(b, id, 5);
	bool by_cgroup = b->by_cgroup;
	b->by_cgroup = false; /* its cgroup exists already */
	start_as(b, id, "echo twice", &(struct opts){ 0 });
	struct call *c = await(b, id);
	ok(c->failed && c->error.code == E_STATE, "an id is not used twice");
	b->by_cgroup = by_cgroup;
	c->replied = false;
	send_msg(b, MSG_RELEASE, 0, &(struct msg_release){ .exec = id });
	cancel(b, id);
	ok(finish(b, id)->r.cause == CAUSE_CANCELLED, "and the first is not harmed, nor released before its end");

	skip(!by_cgroup, 1, "commands have marks");
	id = b->next++;
	start_as(b, id, "true", &(struct opts){ .no_cgroup = true });
	ok(await(b, id)->error.code == E_INVALID, "a command without its cgroup is refused");
	end_skip;
}

/* Nothing is read while much is asked: nothing may get lost, or stop the loop. */
static void
t_slow_master(struct box *b)
{
	uint64_t first = b->next, n = 200;

	start_self(b, "fill", "4194304", (struct opts){ .window = LIM_WINDOW });
	for (uint64_t i = 1; i < n; i++)
		start(b, "echo $$; head -c 20000 /dev/zero >&2", (struct opts){ 0 });
	bool all = true;
	for (uint64_t id = first; id < first + n; id++) {
		struct call *c = finish(b, id);
		all &= c->r.cause == CAUSE_EXIT && c->r.exit_code == 0 && c->out[0].len == c->r.stdout_bytes;
	}
	ok(all, "%lu commands for a master that reads late: each result came, whole", n);
	ok(is_pattern(&b->calls[first].out[0], FILL), "and so did the stream between them");
}

static void
t_reattach(struct box *b)
{
	char go[64], script[256];

	snprintf(go, sizeof(go), "%s/go", dir);
	snprintf(script, sizeof(script),
	    "echo one; while [ ! -e %s ]; do sleep 0.01; done; echo two; echo bad >&2; exit 5", go);
	uint64_t streamed = start(b, script, (struct opts){ .window = 1000 });
	uint64_t kept = start(b, script, (struct opts){ 0 });
	uint64_t unwanted = start(b, script, (struct opts){ .window = 1000 });
	b->no_acks = true;
	await_bytes(b, streamed, 4);
	await_bytes(b, unwanted, 4);
	b->no_acks = false;
	close(b->chan);
	close(open(go, O_CREAT | O_WRONLY, 0644));
	b->chan = connect_to(b->path);

	struct call *c = &b->calls[streamed];
	buf_clear(&c->out[0]);
	c->at[0] = 2;
	struct msg_resume from[] = { { .exec = streamed, .stdout_offset = 2, .wanted = true },
		{ .exec = 999, .wanted = true } };
	attach(b, from, 2);
	ok(b->nknown == 3 && b->known[0].exec == streamed && b->known[0].wanted && !b->known[2].wanted,
	    "another master is told what runs, and what it did not ask for is detached");
	await(b, streamed);
	is(c->out[0].data, "e\ntwo\n", "the stream goes on from the byte that was asked for");
	is(c->out[1].data, "bad\n", "on both");
	ok(!c->gap && c->r.exit_code == 5 && c->r.stdout_bytes == 8, "without a gap, up to its result");
	is(await(b, kept)->out[0].data, "one\ntwo\n", "kept output is all there");
	c = await(b, unwanted);
	ok(c->r.stdout_bytes == 8 && c->out[0].len == 4, "what nobody asked for was counted only");

	/* the master after that has heard nothing yet */
	for (uint64_t id = streamed; id <= unwanted; id++)
		b->calls[id].replied = false;
	buf_clear(&b->calls[kept].out[0]);
	reconnect(b);
	uint64_t early = b->next++;
	start_as(b, early, "true", &(struct opts){ 0 });
	ok(await(b, early)->error.code == E_STATE, "a master that has not attached may not spawn");
	attach(b, NULL, 0);
	is(finish(b, kept)->out[0].data, "one\ntwo\n", "results are told again to every master until released");
	finish(b, streamed);
	finish(b, unwanted);
	attach(b, NULL, 0);
	cmp_ok(b->nknown, "==", 0, "and then forgotten");
	unlink(go);
}

static void
t_intruder(struct box *b)
{
	struct call *c = finish(b, start_self(b, "intruder", b->path, (struct opts){ 0 }));

	is(c->out[0].data, "refused\n", "a process of the sandbox is no master, even if it finds the socket");
}

static void
t_capacity(struct box *b)
{
	uint64_t first = b->next;
	bool     all = true;

	for (uint64_t i = 0; i < LIM_SPAWNS; i++)
		start(b, NULL, (struct opts){ .argv = (const char *[]){ "true", NULL } });
	uint64_t more = start(b, "true", (struct opts){ 0 });
	ok(await(b, more)->error.code == E_CAPACITY, "command %lu is refused", LIM_SPAWNS + 1UL);
	for (uint64_t id = first; id < more; id++)
		all &= finish(b, id)->r.cause == CAUSE_EXIT;
	ok(all, "the others are not");
	is(finish(b, start(b, "echo room", (struct opts){ 0 }))->out[0].data, "room\n", "and there is room again");
}

/* A kernel before 5.14 has no cgroup.kill; one that may not be opened is as good. */
static void
t_without_cgroup_kill(struct box *b)
{
	char path[PATH_MAX + 96];

	uint64_t id = start_self(b, "bomb", "50", (struct opts){ .window = 4096 });
	await_bytes(b, id, 50);
	snprintf(path, sizeof(path), "%s/%d-%lu/cgroup.kill", cgroups, (int)b->pid, id);
	if (chmod(path, 0) == -1)
		diag("%s: %s", path, strerror(errno));
	cancel(b, id);
	cmp_ok(finish(b, id)->r.killed, ">=", 50, "without cgroup.kill they are frozen and killed one by one");
	is_alone(b, "that");
}

static void
t_end(struct box *b)
{
	uint64_t id = start(b, "sleep 1000 & echo up; sleep 1000", (struct opts){ .window = 100 });
	await_bytes(b, id, 3);
	shutdown(b->chan, SHUT_RDWR);
	int status = box_end(b);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "without a master init ends, and everybody with it");
}

static void
t_not_confined(void)
{
	struct box *b = box_start("sideways", "1");

	while (!b->failed && !b->gone)
		listen_once(b);
	is(b->reason, "'sideways' should be cgroup or mark", "a bad start is told in a sentence");
	box_end(b);
}

static void
all_of_it(const char *mode)
{
	struct box *b = box_start(mode, "600000");

	while (!b->ready && !b->failed && !b->gone)
		listen_once(b);
	if (!ok(b->ready, "%s: init is ready", mode))
		BAIL_OUT("init did not start: %s", b->reason);
	t_results(b);
	t_not_started(b);
	t_surroundings(b);
	t_powerless(b);
	t_kept(b);
	t_streamed(b);
	t_detached(b);
	t_background(b);
	t_timeout(b);
	t_cancel(b);
	t_runner(b);
	t_zombies(b);
	t_refusals(b);
	t_slow_master(b);
	t_reattach(b);
	t_intruder(b);
	if (b->by_cgroup)
		t_without_cgroup_kill(b);
	else
		t_capacity(b);
	kill(b->pid, SIGKILL);
	box_end(b);

	b = box_start(mode, "50");
	t_end(b);
}

/* ---- where it can run ---------------------------------------------------------------------- */

/* The outer process says by its exit code how far it came. */
static void
skip_unless_possible(void)
{
	struct box *b = box_start("mark", "0");

	shutdown(b->chan, SHUT_RDWR);
	int status = box_end(b);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (code == 122)
		BAIL_OUT("cannot execute %s", program);
	if (code == 119 || code == 121)
		plan(SKIP_ALL, code == 119 ? "no user namespaces here" : "no fresh /proc here");
}

static void
find_cgroups(void)
{
	static const char *const trees[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	for (size_t i = 0; i < 2 && getuid() == 0; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/cgroup.controllers", trees[i]);
		snprintf(cgroups, sizeof(cgroups), "%s/20-init-%d", trees[i], (int)getpid());
		if (access(path, F_OK) == 0 && mkdir(cgroups, 0755) == 0)
			return;
	}
	cgroups[0] = '\0';
}

int
main(int argc, char **argv)
{
	const char *env = getenv("BOX_INIT");

	if (argc == 3)
		misbehave(argv[1], argv[2]);
	program = realpath(env != NULL ? env : "build/box-init", NULL);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (program == NULL || n == -1 || mkdtemp(dir) == NULL)
		die("box-init");
	signal(SIGPIPE, SIG_IGN);
	skip_unless_possible();
	find_cgroups();
	t_not_confined();
	all_of_it("mark");
	if (cgroups[0] != '\0') {
		all_of_it("cgroup");
		if (rmdir(cgroups) == -1)
			diag("%s: %s", cgroups, strerror(errno));
	} else {
		note("no writable v2 cgroup tree here: commands by mark only");
	}
	free((char *)program);
	char clean[64];
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	if (system(clean) != 0)
		diag("could not remove %s", dir);
	done_testing();
}
