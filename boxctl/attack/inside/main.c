/*
 * box-attack: tries every way out of a sandbox that it knows, from inside, as any command would.  One line for each:
 *
 *	held|open|skipped <tab> name <tab> what was tried, and what the kernel said
 *
 * and "end <tab> count" behind the last, so that whoever reads knows that none is missing.  Each attack runs in a
 * child with a deadline: one that hangs is open, because no refusal was seen, and the next begins all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "base/clock.h"
#include "base/stdfds.h"

enum { EXIT_ALL_HELD = 0, EXIT_SOME_OPEN = 1, EXIT_USAGE = 2 };

static const struct attack *const tables[] = { descriptor_attacks, runtime_attacks, proc_attacks, proc_file_attacks,
	namespace_attacks, mount_attacks, cgroup_attacks, init_attacks, privilege_attacks, call_attacks, abi_attacks,
	socket_attacks, network_attacks, file_attacks, host_file_attacks, device_attacks, limit_attacks,
	outside_attacks, socket_hoards, kernel_hoards, bombs, NULL };

static const char *const kinds[] = { [ANYWHERE] = "anywhere",
	[INSIDE] = "inside",
	[ALONE] = "alone",
	[HOARD] = "hoard",
	[BOMB] = "bomb",
	[SHARE] = "share" };

static const char *const verdicts[] = { [HELD] = "held", [OPEN] = "open", [SKIPPED] = "skipped" };

/* A report as it comes from the child: whole, or not at all. */
struct outcome {
	enum verdict verdict;
	char         detail[DETAIL];
};

static struct {
	bool     is_inside;
	unsigned only; /* how many names were given */
	unsigned shown, open;
} run;

static char **args;

const char *
param(const char *key, unsigned n)
{
	size_t len = strlen(key);

	for (char **a = args; *a != NULL; a++)
		if (strncmp(*a, key, len) == 0 && (*a)[len] == '=' && n-- == 0)
			return *a + len + 1;
	return NULL;
}

/* ---- one attack ---- */

static _Noreturn void
attack_child(const struct attack *a, int out)
{
	struct report  r = { 0 };
	struct outcome o = { 0 };

	setpgid(0, 0); /* its own children end with it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	a->run(&r, a->arg);
	scratch_clear();
	o.verdict = report_end(&r, o.detail, sizeof(o.detail));
	_exit(write(out, &o, sizeof(o)) == (ssize_t)sizeof(o) ? 0 : 1);
}

static long
deadline_ms(void)
{
	const char *given = param("deadline_ms", 0);
	long        ms = given == NULL ? 0 : strtol(given, NULL, 10);

	return ms > 0 ? ms : DEADLINE_MS;
}

static void
describe_end(struct outcome *o, enum kind kind, int status, bool is_late)
{
	o->verdict = OPEN;
	if (kind == HOARD && !is_late && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		*o = (struct outcome){ HELD, "the kernel ended it" };
		return;
	}
	if (is_late)
		snprintf(o->detail, sizeof(o->detail), "no answer within %g s", (double)deadline_ms() / 1000);
	else if (WIFSIGNALED(status))
		snprintf(o->detail, sizeof(o->detail), "killed by signal %d before it could report", WTERMSIG(status));
	else
		snprintf(o->detail, sizeof(o->detail), "exited with %d before it could report", WEXITSTATUS(status));
}

/* True: nothing came in time.  Whoever is traced, or traces us, may interrupt the wait. */
static bool
await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long          until = (long)span_ms() + deadline_ms();

	for (;;) {
		long left = until - (long)span_ms();
		int  n = poll(&p, 1, left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX);

		if (n > 0)
			return false;
		if (n == 0 || errno != EINTR)
			return true;
	}
}

static void
attack_run(const struct attack *a, struct outcome *o)
{
	int pipes[2], status = 0;

	if (pipe2(pipes, O_CLOEXEC) == -1) {
		*o = (struct outcome){ OPEN, "no pipe for its report" };
		return;
	}
	signal(SIGTERM, a->kind == ALONE ? SIG_IGN : SIG_DFL); /* one of them sends it to everybody */
	pid_t pid = fork();
	if (pid == 0)
		attack_child(a, pipes[1]);
	close(pipes[1]);
	if (pid == -1) {
		*o = (struct outcome){ OPEN, "no process to run it in" };
		close(pipes[0]);
		return;
	}
	bool    is_late = await(pipes[0]);
	ssize_t n = is_late ? 0 : read(pipes[0], o, sizeof(*o));
	if (is_late)
		kill(pid, SIGKILL);
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	kill(-pid, SIGKILL); /* who was being born */
	close(pipes[0]);
	if (n != (ssize_t)sizeof(*o))
		describe_end(o, a->kind, status, is_late);
}

static void
attack_show(const struct attack *a)
{
	struct outcome o = { 0 };

	if (a->kind != ANYWHERE && !run.is_inside)
		o = (struct outcome){ SKIPPED, "it could harm this machine; --inside says that this is a sandbox" };
	else
		attack_run(a, &o);
	for (char *p = o.detail; *p != '\0'; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	printf("%s\t%s\t%s\n", verdicts[o.verdict], a->name, o.detail);
	fflush(stdout);
	run.shown++;
	run.open += o.verdict == OPEN;
}

/* ---- all of them ---- */

static bool
is_named(const struct attack *a)
{
	const char *name;

	for (unsigned i = 0; (name = param("--only", i)) != NULL; i++)
		if (strcmp(name, a->name) == 0)
			return true;
	return false;
}

static bool
is_wanted(const struct attack *a)
{
	if (run.only > 0)
		return is_named(a);
	return a->kind == ANYWHERE || a->kind == INSIDE;
}

static void
list(void)
{
	for (size_t t = 0; tables[t] != NULL; t++)
		for (const struct attack *a = tables[t]; a->name != NULL; a++)
			printf("%s\t%s\t%s\n", kinds[a->kind], a->name, a->means);
}

static int
run_all(void)
{
	for (size_t t = 0; tables[t] != NULL; t++)
		for (const struct attack *a = tables[t]; a->name != NULL; a++)
			if (is_wanted(a))
				attack_show(a);
	printf("end\t%u\n", run.shown);
	if (run.only > run.shown) {
		fprintf(stderr, "box-attack: --only names an attack that is not in --list\n");
		return EXIT_USAGE;
	}
	return run.open > 0 ? EXIT_SOME_OPEN : EXIT_ALL_HELD;
}

/* "--only NAME" is taken as "--only=NAME", so that it is a parameter like the others. */
static bool
join_only(int argc, char **argv)
{
	static char joined[4096];

	args = argv;
	for (int from = 1, to = 0;; from++, to++) {
		argv[to] = from < argc ? argv[from] : NULL;
		if (argv[to] == NULL)
			return true;
		if (strcmp(argv[to], "--only") != 0)
			continue;
		size_t used = strlen(joined);
		if (++from >= argc || used > 0)
			return false;
		snprintf(joined, sizeof(joined), "--only=%s", argv[from]);
		argv[to] = joined;
	}
}

static bool
is_given(const char *word)
{
	for (char **a = args; *a != NULL; a++)
		if (strcmp(*a, word) == 0)
			return true;
	return false;
}

/* Before anything is opened.  fcntl asks nobody and needs no /proc. */
static void
look_at_descriptors(void)
{
	for (int fd = 0; fd < (int)sizeof(inherited); fd++)
		inherited[fd] = fcntl(fd, F_GETFD) != -1;
}

int
main(int argc, char **argv)
{
	look_at_descriptors();
	stdfds_open();
	first_pid = getpid();
	signal(SIGPIPE, SIG_IGN);
	if (!join_only(argc, argv) || is_given("--help")) {
		fprintf(
		    stderr, "usage: box-attack [--list] [--inside] [--only NAME | --only=NAME...] [KEY=VALUE...]\n");
		return EXIT_USAGE;
	}
	if (is_given("--list")) {
		list();
		return 0;
	}
	run.is_inside = is_given("--inside");
	while (param("--only", run.only) != NULL)
		run.only++;
	return run_all();
}
