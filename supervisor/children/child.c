/*
 * Workers are spawned, never forked: the supervisor may be large, and a fork copies
 * its page tables.  Each gets its channel on descriptor 3, standard error to log
 * to, and nothing else.  on_gone is called when the process is reaped and its
 * channel is read to the end, so that no last message is lost.
 */
#include "children/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "core/dirs.h"
#include "host/startup.h"

struct child {
	struct ev_loop         *loop;
	pid_t                   pid;
	struct link            *link; /* owned */
	ev_child                death;
	const struct child_ops *ops;
	void                   *arg;
	bool                    reaped;
	bool                    silent; /* its channel has ended */
	int                     status;
};

static void
gone_if_over(struct child *c)
{
	if (c->reaped && c->silent)
		c->ops->on_gone(c->arg, c->status);
}

static void
on_death(struct ev_loop *loop, ev_child *w, int revents)
{
	struct child *c = w->data;

	assert(!c->reaped);
	ev_child_stop(loop, w);
	c->reaped = true;
	c->status = w->rstatus;
	gone_if_over(c);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct child *c = arg;

	c->ops->on_msg(c->arg, m);
}

static void
on_silence(void *arg, const struct err *why)
{
	struct child *c = arg;

	assert(!c->silent);
	if (why->code != E_NONE)
		log_error("worker=%d link: %s", c->pid, why->text);
	c->silent = true;
	if (!c->reaped)
		kill(c->pid, SIGKILL); /* a worker without a channel is useless */
	gone_if_over(c);
}

static const struct link_ops ops_of_link = { .on_msg = on_msg, .on_gone = on_silence };

enum { PASSED = 4 }; /* variables of our environment that a worker may know */

struct worker_env {
	char  text[PASSED + 1][512];
	char *v[PASSED + 2]; /* borrows from the above */
};

static void
worker_env(struct worker_env *env)
{
	static const char *const passed[PASSED] = { "JOURNAL_STREAM", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS" };
	size_t                   n = 0;

	for (size_t i = 0; i < PASSED; i++) {
		const char *value = getenv(passed[i]);

		if (value != NULL)
			snprintf(env->text[n++], sizeof(env->text[0]), "%s=%s", passed[i], value);
	}
	snprintf(env->text[n++], sizeof(env->text[0]), "BOX_LOG=%s", log_level_name(log_threshold()));
	env->v[n] = NULL;
	while (n-- > 0)
		env->v[n] = env->text[n];
}

/* An errno, or 0. */
static int
spawn_program(pid_t *pid, const char *program, int theirs)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t          attr;
	sigset_t                   none, all;
	char                      *argv[] = { (char *)program, NULL };
	struct worker_env          env;
	AUTO_FD int                above = fcntl(theirs, F_DUPFD_CLOEXEC, CHANNEL_FD + 1);

	/* were it CHANNEL_FD itself, a dup2 onto itself would leave it close-on-exec */
	if (above == -1)
		return errno;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&files, 2, 1);
	posix_spawn_file_actions_adddup2(&files, above, CHANNEL_FD);
	posix_spawn_file_actions_addclosefrom_np(&files, CHANNEL_FD + 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0); /* a terminal's Ctrl-C is for the supervisor alone */
	worker_env(&env);
	int r = posix_spawn(pid, program, &files, &attr, argv, env.v);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

struct child *
child_start(struct boxd *h, const char *name, unsigned from, const struct child_ops *ops, void *arg, struct err *e)
{
	char          program[PATH_MAX + 32];
	int           ends[2];
	struct child *c = calloc(1, sizeof(*c));

	if (c == NULL || chan_pair(ends, e) == -1) {
		free(c);
		return NULL;
	}
	AUTO_FD int ours = ends[0], theirs = ends[1];
	snprintf(program, sizeof(program), "%s/%s", h->dirs->libexec, name);
	*c = (struct child){ .loop = h->loop, .ops = ops, .arg = arg };
	int failed = spawn_program(&c->pid, program, theirs);
	if (failed != 0) {
		errno = failed;
		err_sys(e, "start %s", program);
		free(c);
		return NULL;
	}
	c->link = link_open(h->loop, ours, from, &ops_of_link, c, e);
	if (c->link == NULL) {
		kill(c->pid, SIGKILL);
		free(c);
		return NULL;
	}
	fd_take(&ours);
	link_name_peer(c->link, c->pid);
	ev_child_init(&c->death, on_death, c->pid, 0);
	c->death.data = c;
	ev_child_start(h->loop, &c->death);
	return c;
}

struct link *
child_link(struct child *c)
{
	return c->link;
}

pid_t
child_pid(const struct child *c)
{
	return c->pid;
}

void
child_kill(struct child *c)
{
	if (!c->reaped)
		kill(c->pid, SIGKILL);
}

void
child_close(struct child **cp)
{
	struct child *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	ev_child_stop(c->loop, &c->death);
	link_close(&c->link);
	free(c);
}

void
child_end(struct child **cp)
{
	if (*cp != NULL)
		child_kill(*cp);
	child_close(cp);
}

struct child_status
child_status(int status)
{
	struct child_status s;

	if (WIFSIGNALED(status))
		snprintf(s.text, sizeof(s.text), "signal=%d", WTERMSIG(status));
	else
		snprintf(s.text, sizeof(s.text), "exit=%d", WEXITSTATUS(status));
	return s;
}
