/*
 * boxctl itself, started with a standard stream closed.  If its connection to boxd took that number, whatever a command
 * prints would reach boxd as requests, with our rights.  So a command prints one.  It would make the bomb's session,
 * which is deleted at the end whatever happens.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cmd.h"

#define REQUEST_FILE "/tmp/box-request"

enum { PUT_MS = 60 * 1000, CHILD_MS = 120 * 1000, IDLE_SEC = 120 };

/* An id that boxctl does not come to by itself. */
#define REQUEST_ID (1UL << 40)

extern char **environ;

static const struct {
	const char *name;
	int         stream;
	const char *command;
} rows[] = {
	{ "boxctl.closed-stdout", STDOUT_FILENO, "cat " REQUEST_FILE },
	{ "boxctl.closed-stderr", STDERR_FILENO, "cat " REQUEST_FILE " >&2" },
};

static int
put_request(struct attack *a, struct err *e)
{
	struct msg_create  ask;
	struct packet      p = { .stream = true };
	struct attack_exec x = { 0 };

	msg_defaults(MSG_CREATE, &ask);
	ask.session = a->bomb;
	ask.spec.idle_sec = IDLE_SEC;
	int                         r = msg_encode(&p, MSG_CREATE, REQUEST_ID, 0, &ask, e);
	const struct attack_command put = {
		.session = a->session,
		.command = "cat >" REQUEST_FILE,
		.input = p.bytes.data,
		.input_n = p.bytes.len,
		.timeout_ms = PUT_MS,
	};
	if (r == 0 && (r = attack_exec_start(&x, &a->client, &put, e)) == 0)
		r = attack_exec_wait(&x, e);
	if (r == 0 && (x.result == NULL || x.result->cause != CAUSE_EXIT || x.result->exit_code != 0))
		r = err_set(e, E_STATE, "cannot write " REQUEST_FILE " in %s", a->session);
	attack_exec_clear(&x);
	packet_clear(&p);
	return r;
}

/* This program once more, with one stream closed and nothing blocked. */
static int
start_boxctl(struct attack *a, int stream, const char *command, pid_t *pid)
{
	char *argv[] = { "boxctl", "--socket", (char *)a->args->socket, "exec", a->session, "-t", "60", "-c",
		(char *)command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t          attr;
	sigset_t                   none;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_addclose(&files, stream);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	int r = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r;
}

/* Its wait status.  It is killed after a signal, or when it takes too long. */
static int
await_boxctl(struct attack *a, pid_t pid)
{
	AUTO_FD int   fd = sys_pidfd_open(pid);
	struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = a->interrupt.fd, .events = POLLIN } };
	int           status = 0;

	if (fd != -1 && (poll(p, 2, CHILD_MS) <= 0 || p[0].revents == 0))
		kill(pid, SIGKILL);
	interrupt_read(&a->interrupt);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

/* Has boxd made the session?  It answers something else first, and by then has read what came before. */
static int
is_made(struct attack *a, bool *made, struct err *e)
{
	struct msg_status status;
	struct msg_get    get = { .session = a->bomb };
	struct msg        reply;

	msg_defaults(MSG_STATUS, &status);
	if (client_call(&a->client, MSG_STATUS, &status, &reply, e) == -1)
		return -1;
	msg_clear(&reply);
	*made = client_call(&a->client, MSG_GET, &get, &reply, e) == 0;
	if (*made)
		msg_clear(&reply);
	return *made || e->code == E_NOTFOUND ? 0 : -1;
}

static int
try_stream(struct attack *a, size_t i, struct err *e)
{
	pid_t pid;
	bool  made = false;
	int   r = start_boxctl(a, rows[i].stream, rows[i].command, &pid);

	if (r != 0) {
		rows_add(&a->rows, rows[i].name, ATTACK_SKIPPED, "boxctl cannot be started: %s", strerror(r));
		return 0;
	}
	int status = await_boxctl(a, pid);
	if (a->interrupt.count > 0)
		return err_set(e, E_STATE, "interrupted");
	if (is_made(a, &made, e) == -1)
		return -1;
	if (made)
		rows_add(&a->rows, rows[i].name, ATTACK_OPEN, "boxd took what a command printed for a request");
	else if (!WIFEXITED(status))
		rows_add(&a->rows, rows[i].name, ATTACK_OPEN, "boxctl ended by signal %d", WTERMSIG(status));
	else
		rows_add(&a->rows, rows[i].name, ATTACK_HELD, "boxctl ends with %d, boxd got no request",
		    WEXITSTATUS(status));
	return attack_session_end(a, &a->client, a->bomb, e);
}

int
attack_streams(struct attack *a, struct err *e)
{
	if (put_request(a, e) == -1)
		return -1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char entry[160];

		snprintf(entry, sizeof(entry), "boxctl\t%s\ta command makes requests of boxd, with the caller's rights",
		    rows[i].name);
		rows_take_entry(&a->rows, entry);
		if (try_stream(a, i, e) == -1)
			return -1;
	}
	return 0;
}
