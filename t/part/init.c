/*
 * box-init alone: the real program as pid 1 of fresh user, pid and mount namespaces,
 * and this test as its master.  Everything runs twice where the machine allows
 * it: commands told apart by mark, and by cgroup.
 *
 * Commands that need to misbehave in ways a shell cannot are this program itself,
 * called with the name of the misbehaviour.
 */
#include "base/fd.h"
#include "base/memfd.h"
#include "initbox.h"
#include "initstart.h"
#include "misbehave.h"
#include "tap.h"

enum { BOMB = 200, ZOMBIES = 5000, FILL = 4 << 20 };

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
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code == 127, "a box_program that is not there: 127");
	is(c->text, "exec no-such: No such file or directory", "and it says which");
	c = finish(b, start(b, NULL, (struct opts){ .argv = (const char *[]){ "/etc/passwd", NULL } }));
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code == 126, "a file that is no box_program: 126");
	is(c->text, "exec /etc/passwd: Permission denied", "and it says why");
	c = finish(b, start(b, "true", (struct opts){ .workdir = "/proc/none/such" }));
	ok(c->r.cause == CAUSE_SPAWN && c->r.exit_code != 0, "no working directory, no command");
	like(c->text, "^workdir /proc/none/such: ", "and it says which");
}

static void
t_surroundings(struct box *b)
{
	char deep[128];

	snprintf(deep, sizeof(deep), "%s/%s/a/b/c", box_dir, b->by_cgroup ? "cgroup" : "mark");
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
	    (struct opts){ .argv = (const char *[]){ "sh", "-c", "\"$0\" runner 4; exec sleep 1000", box_self, NULL },
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

	snprintf(go, sizeof(go), "%s/go", box_dir);
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
	b->chan = init_connect(b->path);

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
	snprintf(path, sizeof(path), "%s/%d-%lu/cgroup.kill", box_cgroups, (int)b->pid, id);
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
	must(ok(b->ready, "%s: init is ready", mode), "init did not start: %s", b->reason);
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
	must(code != INIT_NO_PROGRAM, "cannot execute %s", box_program);
	if (code == INIT_NO_NAMESPACES || code == INIT_NO_PROC)
		plan(SKIP_ALL, code == INIT_NO_NAMESPACES ? "no user namespaces here" : "no fresh /proc here");
}

static void
find_cgroups(void)
{
	static const char *const trees[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	for (size_t i = 0; i < 2 && getuid() == 0; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/cgroup.controllers", trees[i]);
		snprintf(box_cgroups, sizeof(box_cgroups), "%s/20-init-%d", trees[i], (int)getpid());
		if (access(path, F_OK) == 0 && mkdir(box_cgroups, 0755) == 0)
			return;
	}
	box_cgroups[0] = '\0';
}

int
main(int argc, char **argv)
{
	const char *env = getenv("BOX_INIT");

	if (argc == 3)
		misbehave(argv[1], argv[2]);
	box_program = realpath(env != NULL ? env : "build/box-init", NULL);
	ssize_t n = readlink("/proc/self/exe", box_self, sizeof(box_self) - 1);
	must(box_program != NULL && n != -1 && mkdtemp(box_dir) != NULL, "box-init: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	skip_unless_possible();
	find_cgroups();
	t_not_confined();
	all_of_it("mark");
	if (box_cgroups[0] != '\0') {
		all_of_it("cgroup");
		if (rmdir(box_cgroups) == -1)
			diag("%s: %s", box_cgroups, strerror(errno));
	} else {
		note("no writable v2 cgroup tree here: commands by mark only");
	}
	free((char *)box_program);
	char clean[64];
	snprintf(clean, sizeof(clean), "rm -rf %s", box_dir);
	if (system(clean) != 0)
		diag("could not remove %s", box_dir);
	done_testing();
}
