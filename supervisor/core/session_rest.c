/*
 * A session's worker may not touch the session's state file, so that a compromised one cannot lie to the next worker or
 * to the next boxd; nor may it touch the parents of its directories.  The supervisor changes both.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "core/dirs.h"
#include "core/session_impl.h"
#include "host/statefile.h"

/* ---- the state file ------------------------------------------------------------------ */

enum change { CLAIMED, PAUSED, UNPAUSED, COUNTED };

static void
state_apply(const struct session *s, enum change what, struct msg_session_state *now)
{
	if (what == CLAIMED) {
		now->session = s->name;
		now->spec = s->spec;
		now->created_ms = s->created_ms;
		now->image_missing = s->image_missing;
	}
	if (what == COUNTED)
		now->counted = s->counted;
	else
		now->paused = what == PAUSED;
}

/* Its worker wrote the file before it dropped its privileges; only some fields can change. */
static int
state_rewrite(const struct session *s, enum change what, struct err *e)
{
	struct buf bytes = { 0 };
	struct msg m;
	int        r = statefile_read(s->dir, &bytes, &m, e);

	if (r == 0) {
		struct msg_session_state now = *(const struct msg_session_state *)m.body;
		bool                     same = (what == PAUSED && now.paused) || (what == UNPAUSED && !now.paused);

		state_apply(s, what, &now);
		r = same ? 0 : statefile_write(s->dir, &now, e);
	} else if (r == 1) {
		r = err_session(e, E_STATE, "session %s has no state file", s->name);
	}
	msg_clear(&m);
	buf_clear(&bytes);
	return r;
}

int
session_remember(const struct session *s, struct err *e)
{
	return state_rewrite(s, CLAIMED, e);
}

int
session_remember_pause(const struct session *s, bool paused, struct err *e)
{
	return state_rewrite(s, paused ? PAUSED : UNPAUSED, e);
}

int
session_remember_counted(const struct session *s, struct err *e)
{
	return state_rewrite(s, COUNTED, e);
}

/* ---- the end --------------------------------------------------------------------------- */

/* The worker reported that init is gone; a compromised worker may lie. */
static bool
init_lives(const struct session *s)
{
	struct buf    bytes = { 0 };
	struct msg    m;
	struct err    ignored; /* without a state file no init can be found */
	struct pollfd init = { .fd = -1, .events = POLLIN };

	if (statefile_read(s->dir, &bytes, &m, &ignored) == 0) {
		const struct msg_session_state *st = m.body;

		init.fd = st->init_pid > 0 ? sys_pidfd_open((pid_t)st->init_pid) : -1;
		if (init.fd >= 0 && process_start((pid_t)st->init_pid) != st->init_start)
			fd_close(&init.fd); /* another process has its pid now */
	}
	msg_clear(&m);
	buf_clear(&bytes);
	bool lives = init.fd >= 0 && poll(&init, 1, 0) == 0; /* readable once it has ended */
	fd_close(&init.fd);
	return lives;
}

static int
remove_cgroup(const struct session *s, const char *base)
{
	char path[PATH_MAX];

	if (*base == '\0')
		return 0;
	if (snprintf(path, sizeof(path), "%s/s%lu", base, s->id) >= PATH_MAX || rmdir(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY)
		log_warn("session=%lu cgroup %s stays: %s", s->id, path, strerror(errno));
	return 1;
}

static int
remove_dir(const struct session *s)
{
	char name[32];

	unlinkat(s->dir, STATE_CONTROL, 0);
	unlinkat(s->dir, STATE_FILE, 0);
	unlinkat(s->dir, STATE_NEW, 0); /* of one who died while writing it */
	snprintf(name, sizeof(name), "%lu", s->id);
	if (unlinkat(s->boxd->dirs->sessions, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY || s->sweeping)
		log_warn("session=%lu state directory stays: %s", s->id, strerror(errno));
	return 1;
}

int
session_remove_rest(const struct session *s)
{
	const struct msg_cgroups *c = &s->cgroups;
	const char *const         bases[] = { c->unified, c->memory, c->pids, c->cpu, c->freezer };
	int                       left = 0;

	if (init_lives(s))
		return 1;
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		left |= remove_cgroup(s, bases[i]);
	return left == 1 ? 1 : remove_dir(s); /* its init is found by its state */
}
