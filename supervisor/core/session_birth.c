/* Four ways to make a session: new, as a spare, adopted from an earlier boxd, or only to sweep its rest; and how it is freed. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "children/egress.h"
#include "config/mountspec.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/session_impl.h"

static struct session *
session_new(struct boxd *h, uint64_t id, const char *name, const struct msg_spec *spec, int dir, struct err *e)
{
	struct session *s = calloc(1, sizeof(*s));

	assert(dir >= 0);
	if (s == NULL) {
		err_set(e, E_SYS, "no memory for a session");
		return NULL;
	}
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->spec = *spec;
	if (registry_reserve(h->registry, s, e) == -1 || owned_msg_copy(&s->spec_kept, MSG_SPEC, &s->spec, e) == -1) {
		registry_unreserve(s);
		free(s);
		return NULL;
	}
	msg_defaults(MSG_DISK, &s->disk);
	s->boxd = h;
	s->id = id;
	s->dir = dir;
	s->init = s->map = -1;
	s->scanner = (struct scanner_fds){ -1, -1, -1 };
	s->cgroups = h->machine->cgroups;
	s->created_ms = s->last_used_ms = epoch_ms();
	requests_init(&s->pending, registry_requests(h->registry), s);
	s->net_sockets[0] = s->net_sockets[1] = s->net_sockets[2] = -1;
	session_init_timers(s);
	session_count_walls(s);
	return s;
}

static int
make_dir(const struct boxd *h, uint64_t id, struct err *e)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", id);
	if (mkdirat(h->dirs->sessions, name, 0700) == -1)
		return err_sys(e, "make the session's state directory");
	int dir = openat(h->dirs->sessions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return err_sys(e, "open the session's state directory");
	return dir;
}

/* There is no session for it after all. */
static void
dir_remove(const struct boxd *h, uint64_t id)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", id);
	unlinkat(h->dirs->sessions, name, AT_REMOVEDIR);
}

/* Starts a worker that builds it. */
static struct session *
session_start(struct boxd *h, const char *name, const struct msg_spec *spec, uint32_t uid_base, struct err *e)
{
	uint64_t        id = boxd_next_id(h);
	AUTO_FD int     dir = make_dir(h, id, e);
	struct session *s = dir == -1 ? NULL : session_new(h, id, name, spec, dir, e);

	if (s == NULL) {
		dir_remove(h, id);
		return NULL;
	}
	fd_take(&dir);
	s->uid_base = uid_base;
	s->state = STATE_STARTING;
	if (session_begin(s, e) == -1) {
		session_remove_rest(s);
		session_free(s);
		return NULL;
	}
	return s;
}

struct session *
session_create(struct boxd *h, const char *name, const struct msg_spec *spec, uint32_t uid_base, const struct msg *m,
    struct err *e)
{
	struct session *s = session_start(h, name, spec, uid_base, e);

	if (s != NULL && request_add(&s->pending, m, 0) == NULL)
		log_error("session=%lu no memory for its creator's request", s->id);
	return s;
}

struct session *
session_prepare(struct boxd *h, const struct msg_spec *spec, uint32_t uid_base, struct err *e)
{
	char name[LIM_NAME];

	snprintf(name, sizeof(name), SPARE_PREFIX "%lu", h->next_id); /* the id it is about to get */
	struct session *s = session_start(h, name, spec, uid_base, e);
	if (s != NULL)
		s->spare = true;
	return s;
}

bool
session_is_spare(const struct session *s)
{
	return s->spare;
}

bool
session_was_spare(const char *name)
{
	return strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)) == 0;
}

void
session_note_image(struct session *s, bool missing)
{
	s->image_missing = missing;
	*s->notice = '\0';
	if (missing)
		snprintf(s->notice, sizeof(s->notice),
		    "image %s is not in the store; the root is the host view (image_missing = host-view)",
		    s->spec.image);
}

static bool
has_image(const struct session *s, const char *name)
{
	AUTO_FD int image = dirs_image(s->boxd->dirs, name);

	return image >= 0;
}

/* All limits of a spare can still change, except the size of a mounted file system and resource limits; mounts cannot. */
bool
session_fits(const struct session *s, const struct msg_spec *spec)
{
	return s->spare && s->state == STATE_READY && s->spec.workspace_mb == spec->workspace_mb &&
	       policy_backend(&s->spec, s->boxd->config) == policy_backend(spec, s->boxd->config) &&
	       policy_tmp_mb(&s->spec, s->boxd->config) == policy_tmp_mb(spec, s->boxd->config) &&
	       s->spec.network == spec->network && strcmp(s->spec.network_set, spec->network_set) == 0 &&
	       (spec->network == NETWORK_OFF || s->net_generation == egress_generation(s->boxd->egress)) &&
	       (s->spec.pids_limit == spec->pids_limit || !s->boxd->machine->pids_by_rlimit) &&
	       mountspec_is_default(spec) && !has_image(s, spec->image);
}

int
session_claim(struct session *s, const struct msg_spec *spec, const struct msg *m, struct err *e)
{
	struct msg_claim claim = { .session = s->name, .spec = *spec, .created_ms = epoch_ms() };
	uint64_t         id = boxd_next_id(s->boxd);

	assert(s->spare && s->state == STATE_READY && s->child != NULL && s->claim_id == 0);
	session_retention(s, &claim.process_retention_sec, &claim.process_retained);
	s->spare = false;
	s->spec = *spec;
	if (owned_msg_copy(&s->spec_kept, MSG_SPEC, &s->spec, e) == -1)
		return -1;
	session_note_image(s, *s->spec.image != '\0');      /* an image that is in the store does not fit a spare */
	s->created_ms = s->last_used_ms = claim.created_ms; /* of the session, not of the sandbox built ahead */
	s->state = STATE_STARTING;
	session_recount(s);
	if (request_add(&s->pending, m, 0) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	s->claim_id = id;
	session_expect(s, LIM_BUILD_SEC);
	/* if the worker is gone, on_worker_gone() fails the create */
	if (link_send(child_link(s->child), MSG_CLAIM, id, 0, &claim, e) == -1)
		log_warn("session=%lu claim: %s", s->id, e->text);
	return 0;
}

void
session_rename(struct session *s, const char *name)
{
	snprintf(s->name, sizeof(s->name), "%s", name);
}

/* Its cgroups are where they were made, even if boxd's are elsewhere now. */
static void
keep_cgroups(struct session *s, const struct msg_cgroups *c)
{
	const char *const paths[SESSION_CGROUPS] = { c->unified, c->memory, c->pids, c->cpu, c->freezer };

	for (size_t i = 0; i < SESSION_CGROUPS; i++)
		s->cgroup_paths[i] = strdup(paths[i]);
	s->cgroups = (struct msg_cgroups){
		.unified = s->cgroup_paths[0],
		.v2_limits = c->v2_limits,
		.memory = s->cgroup_paths[1],
		.pids = s->cgroup_paths[2],
		.cpu = s->cgroup_paths[3],
		.freezer = s->cgroup_paths[4],
	};
}

struct session *
session_adopt(struct boxd *h, const struct msg_session_state *st, int dir, struct err *e)
{
	struct session *s = session_new(h, st->id, st->session, &st->spec, dir, e);

	if (s == NULL)
		return NULL;
	s->uid_base = (uint32_t)st->uid_base;
	s->created_ms = st->created_ms;
	s->paused = st->paused;
	session_note_image(s, st->image_missing);
	if (session_adopt_counted(s, &st->counted, e) == -1) {
		session_free(s);
		return NULL;
	}
	keep_cgroups(s, &st->cgroups);
	s->artifacts = artifact_hold_again(h, s->name, s->spec.extra_mounts.v, s->spec.extra_mounts.n);
	s->state = STATE_RESTARTING;
	session_start_soon(s);
	return s;
}

struct session *
session_sweep(struct boxd *h, uint64_t id, const struct msg_session_state *st, int dir, struct err *e)
{
	struct msg_spec spec;
	char            name[LIM_NAME];

	msg_defaults(MSG_SPEC, &spec);
	snprintf(name, sizeof(name), "leftover.%lu", id);
	struct session *s = session_new(h, id, name, &spec, dir, e);
	if (s == NULL)
		return NULL;
	if (st != NULL)
		keep_cgroups(s, &st->cgroups);
	s->state = STATE_CLOSING;
	snprintf(s->why, sizeof(s->why), "left by an earlier boxd");
	session_start_soon(s);
	return s;
}

void
session_free(struct session *s)
{
	ev_timer_stop(s->boxd->loop, &s->restart_timer);
	ev_timer_stop(s->boxd->loop, &s->idle_timer);
	ev_timer_stop(s->boxd->loop, &s->reply_timer);
	registry_unreserve(s);
	while (!TAILQ_EMPTY(&s->pending.list))
		request_drop(TAILQ_FIRST(&s->pending.list));
	child_close(&s->child);
	session_net_close(s);
	artifact_release(&s->artifacts);
	owned_msg_clear(&s->spec_kept);
	owned_msg_clear(&s->disk_kept);
	session_clear_strs(&s->counted);
	session_forget_measured(s);
	for (size_t i = 0; i < SESSION_CGROUPS; i++)
		free(s->cgroup_paths[i]);
	fd_close(&s->dir);
	session_forget_mounts(s);
	free(s);
}
