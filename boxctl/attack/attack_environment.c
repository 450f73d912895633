/*
 * Secrets travel in environments.  Ours and the daemon's must not appear inside; that cannot be asked from inside
 * without telling them, so all that can be read there comes out and is compared here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/fd.h"

enum { LOOK_MS = 60 * 1000 };

extern char **environ;

/* Every process's, and that of a shell. */
#define LOOK "for f in /proc/[0-9]*/environ; do tr '\\0' '\\n' <$f; done 2>/dev/null; env"

struct secrets {
	struct buf daemon;                       /* owned; "NAME=value" entries as /proc has them */
	size_t     seen;                         /* entries read inside */
	char       of_client[64], of_daemon[64]; /* the first name that was found */
};

/* Told to every command by boxd, or set by its shell: the same value at two places is no leak. */
static bool
is_usual(const char *entry, size_t n)
{
	static const char *const names[] = { "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER", "PWD",
		"OLDPWD", "SHLVL", "_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], entry, n) == 0)
			return true;
	return false;
}

static void
on_entry(void *arg, const char *line)
{
	struct secrets *s = arg;
	size_t          n = strcspn(line, "=");

	s->seen += line[n] == '=';
	if (line[n] != '=' || is_usual(line, n))
		return;
	for (char **e = environ; *e != NULL; e++)
		if (strcmp(*e, line) == 0)
			snprintf(s->of_client, sizeof(s->of_client), "%.*s", (int)n, line);
	for (size_t at = 0; at < s->daemon.len; at += strlen(s->daemon.data + at) + 1)
		if (strcmp(s->daemon.data + at, line) == 0)
			snprintf(s->of_daemon, sizeof(s->of_daemon), "%.*s", (int)n, line);
}

/* False when we may not look: an ordinary user cannot read root's. */
static bool
read_daemon(struct buf *out, uint64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lu/environ", pid);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd != -1 && buf_reserve(out, 64 * KIB) == 0) {
		ssize_t n = read(fd, out->data + out->len, 64 * KIB - 1);

		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
	buf_append(out, "", 1);
	return fd != -1 && !out->failed;
}

static void
add_row(struct attack *a, const char *name, const struct secrets *s, const char *found)
{
	if (found[0] != '\0')
		rows_add(&a->rows, name, ATTACK_OPEN, "the variable %s is seen inside", found);
	else if (s->seen == 0)
		rows_add(&a->rows, name, ATTACK_SKIPPED, "no environment could be read inside, not even its own");
	else
		rows_add(&a->rows, name, ATTACK_HELD, "%zu variables are seen inside, none of them", s->seen);
}

int
attack_environment(struct attack *a, uint64_t daemon_pid, struct err *e)
{
	const struct attack_command look = { .session = a->session, .command = LOOK, .timeout_ms = LOOK_MS };
	struct secrets              s = { 0 };
	struct attack_exec          x = { .on_line = on_entry, .on_line_arg = &s };
	bool                        has_daemon = read_daemon(&s.daemon, daemon_pid);
	int                         r = attack_exec_start(&x, &a->client, &look, e);

	if (r == 0)
		r = attack_exec_wait(&x, e);
	attack_exec_clear(&x);
	if (r == 0) {
		add_row(a, "environment.client", &s, s.of_client);
		if (has_daemon)
			add_row(a, "environment.daemon", &s, s.of_daemon);
		else
			rows_add(&a->rows, "environment.daemon", ATTACK_SKIPPED, "this user may not read the daemon's");
	}
	buf_clear(&s.daemon);
	return r;
}
