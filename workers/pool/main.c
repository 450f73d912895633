/*
 * box-pool: volumes, and the directory in which readiness is tried.  It runs in the host's mount namespace, for what
 * it mounts is for everybody; boxd starts it, waits for nothing it does, and kills it when it is stuck.
 *
 *	box-pool               requests on descriptor 3, one after the other
 *	box-pool mount DIR     before boxd serves anybody: every volume recorded in DIR is mounted, every trial removed
 */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "host/startup.h"
#include "trial.h"
#include "volume.h"
#include "wire/link.h"

struct pool {
	struct ev_loop *loop;
	struct link    *link;              /* owned */
	char            dir[LIM_PATH + 1]; /* "" until POOL_START */
};

/* ---- trials that nobody ends ---- */

static void
sweep_one(void *arg, struct record *r)
{
	int        pool = *(int *)arg;
	struct err e = { 0 };

	if (!r->trial)
		return;
	if (trial_end(pool, r->path, &e) == -1)
		log_error("trial %s: %s", r->path, e.text);
	else
		log_info("trial %s: removed", r->path);
}

/* Those of a box-pool before this, and at the end our own: boxd may have died in the middle of one. */
static void
sweep(const struct pool *p)
{
	struct err  e = { 0 };
	AUTO_FD int dir = pool_dir_open(p->dir, false, &e);

	if (dir == -1 ? e.code != E_NOTFOUND : record_each(dir, sweep_one, &dir, &e) == -1)
		log_error("%s", e.text);
}

/* ---- what is asked ---- */

static int
on_start(struct pool *p, const struct msg *m, struct err *e)
{
	snprintf(p->dir, sizeof(p->dir), "%s", ((const struct msg_pool_start *)m->body)->dir);
	sweep(p);
	return 0;
}

static int
on_create(struct pool *p, const struct msg *m, struct err *e)
{
	struct msg_pool_volume reported;
	struct volume_text     text = { 0 };

	if (volume_create(p->dir, m->body, &text.record, e) == -1)
		return -1;
	AUTO_FD int dir = pool_dir_open(p->dir, false, e);
	if (dir == -1)
		return -1;
	volume_tell(dir, p->dir, &text, &reported);
	return link_reply(p->link, MSG_POOL_VOLUME, m->id, 0, &reported, e);
}

static int
done(struct pool *p, const struct msg *m, int r, struct err *e)
{
	return r == -1 ? -1 : link_reply(p->link, MSG_DONE, m->id, 0, &(struct msg_done){}, e);
}

static int
on_remove(struct pool *p, const struct msg *m, struct err *e)
{
	const struct msg_pool_remove *ask = m->body;
	AUTO_FD int                   dir = pool_dir_open(p->dir, false, e);

	return done(p, m, dir == -1 ? -1 : volume_remove(dir, ask->path, ask->force, e), e);
}

static int
on_trial(struct pool *p, const struct msg *m, struct err *e)
{
	const struct msg_pool_trial *ask = m->body;
	struct msg_pool_volume       reported;

	if (trial_begin(p->dir, ask, e) == -1)
		return -1;
	msg_defaults(MSG_POOL_VOLUME, &reported);
	reported.path = ask->path;
	reported.mounted = ask->volume;
	return link_reply(p->link, MSG_POOL_VOLUME, m->id, 0, &reported, e);
}

static int
on_look(struct pool *p, const struct msg *m, struct err *e)
{
	struct msg_pool_seen reported = { 0 };

	if (trial_look(m->body, &reported.seen, e) == -1)
		return -1;
	return link_reply(p->link, MSG_POOL_SEEN, m->id, 0, &reported, e);
}

static int
on_trial_end(struct pool *p, const struct msg *m, struct err *e)
{
	AUTO_FD int dir = pool_dir_open(p->dir, false, e);

	return done(p, m, dir == -1 ? -1 : trial_end(dir, ((const struct msg_pool_trial_end *)m->body)->path, e), e);
}

/* ---- status: what it points to must live until it is sent ---- */

struct listing {
	int                     dir;
	const char             *path;
	struct volume_text     *reported; /* owned */
	struct msg_pool_volume *volumes;  /* owned */
	size_t                  n;
	bool                    truncated;
};

static void
list_one(void *arg, struct record *r)
{
	struct listing *l = arg;

	if (r->trial)
		return;
	struct volume_text *more = reallocarray(l->reported, l->n + 1, sizeof(*l->reported));
	if (more != NULL)
		l->reported = more;
	l->truncated |= more == NULL || l->n == LIM_VOLUMES;
	if (more != NULL && l->n < LIM_VOLUMES)
		l->reported[l->n++] = (struct volume_text){ .record = *r };
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct volume_text *)a)->record.path, ((const struct volume_text *)b)->record.path);
}

static int
list_all(struct listing *l, struct err *e)
{
	if (record_each(l->dir, list_one, l, e) == -1)
		return -1;
	if (l->n > 0)
		qsort(l->reported, l->n, sizeof(*l->reported), by_path);
	if ((l->volumes = calloc(l->n + 1, sizeof(*l->volumes))) == NULL)
		return err_set(e, E_SYS, "no memory for %zu volumes", l->n);
	for (size_t i = 0; i < l->n; i++)
		volume_tell(l->dir, l->path, &l->reported[i], &l->volumes[i]);
	return 0;
}

static int
on_status(struct pool *p, const struct msg *m, struct err *e)
{
	AUTO_FD int    dir = pool_dir_open(p->dir, false, e);
	struct listing l = { .dir = dir, .path = p->dir };

	if (dir == -1 && e->code != E_NOTFOUND)
		return -1;
	int r = dir == -1 ? 0 : list_all(&l, e);
	if (r == 0) {
		struct msg_pool_volumes reported = { .volumes = { l.n, l.volumes }, .truncated = l.truncated };

		r = link_reply(p->link, MSG_POOL_VOLUMES, m->id, 0, &reported, e);
	}
	free(l.volumes);
	free(l.reported);
	return r;
}

/* ---- serving ---- */

static int (*const on[MSG__COUNT])(struct pool *, const struct msg *, struct err *) = {
	[MSG_POOL_START] = on_start,
	[MSG_POOL_CREATE] = on_create,
	[MSG_POOL_REMOVE] = on_remove,
	[MSG_POOL_STATUS] = on_status,
	[MSG_POOL_TRIAL] = on_trial,
	[MSG_POOL_LOOK] = on_look,
	[MSG_POOL_TRIAL_END] = on_trial_end,
};

static void
on_msg(void *arg, struct msg *m)
{
	struct pool *p = arg;
	struct err   e = { 0 }, unsent;
	int          r;

	if (on[m->type] == NULL)
		r = err_set(&e, E_PROTO, "box-pool takes no %s", msg_name(m->type));
	else if (*p->dir == '\0' && m->type != MSG_POOL_START)
		r = err_set(&e, E_STATE, "%s before pool_start", msg_name(m->type));
	else
		r = on[m->type](p, m, &e);
	if (r == -1 && m->envelope == ENV_REQUEST && link_fail(p->link, m->id, 0, &e, &unsent) == -1)
		log_error("answer: %s", unsent.text);
}

static void
on_gone(void *arg, const struct err *why)
{
	struct pool *p = arg;

	if (why->code != E_NONE)
		log_error("link to boxd: %s", why->text);
	ev_break(p->loop, EVBREAK_ALL);
}

static int
serve(void)
{
	static const struct link_ops ops = { .on_msg = on_msg, .on_gone = on_gone };
	struct pool                  p = { .loop = ev_loop_new(EVFLAG_AUTO) };
	struct err                   e = { 0 };

	if (p.loop == NULL || (p.link = link_open(p.loop, CHANNEL_FD, FROM_SUPERVISOR, &ops, &p, &e)) == NULL) {
		log_error("%s", p.loop == NULL ? "no event loop" : e.text);
		return 1;
	}
	ev_run(p.loop, 0);
	if (*p.dir != '\0')
		sweep(&p);
	link_close(&p.link);
	ev_loop_destroy(p.loop);
	return 0;
}

/* ---- at the start ---- */

static void
begin_one(void *arg, struct record *r)
{
	int        pool = *(int *)arg;
	struct err e = { 0 };
	bool       keep = volume_exists(pool, r);

	if (r->trial)
		sweep_one(arg, r);
	else if (keep ? volume_mount(pool, r, &e) == -1 : record_remove(pool, r, &e) == -1)
		log_error("volume %s: %s", r->path, e.text);
	else
		log_info("volume %s: %s", r->path, keep ? "mounted" : "never came to be; forgotten");
}

static int
mount_all(const char *path)
{
	struct err  e = { 0 };
	AUTO_FD int pool = pool_dir_open(path, false, &e);

	if (pool == -1 && e.code == E_NOTFOUND)
		return 0;
	if (pool == -1 || record_each(pool, begin_one, &pool, &e) == -1) {
		log_error("%s", e.text);
		return 1;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	bool has_channel = startup_descriptors();

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("box-pool " BOXD_VERSION) < 0;
	log_init("box-pool", log_level_from_env());
	umask(022);
	if (argc == 3 && strcmp(argv[1], "mount") == 0)
		return mount_all(argv[2]);
	if (argc == 1 && has_channel)
		return serve();
	fprintf(stderr, "box-pool: a part of boxd, which starts it; see boxd(8)\n");
	return 2;
}
