#include "children/pool.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/path.h"
#include "children/service.h"
#include "config/mountrules.h"
#include "core/dirs.h"
#include "langbot/admission.h"
#include "langbot/langbot.h"

#define DEFAULT_DIR "pool"
#define LANGBOT_DIR "langbot"

enum { INODE_BYTES = 2048 }; /* of a volume, at the least, for each file it can have */

struct pool {
	struct boxd    *boxd;
	struct service *service; /* owned */
	char            dir[LIM_PATH + 1];
};

/* ---- box-pool ---- */

static int
on_start(void *arg, struct link *l, struct err *e)
{
	const struct pool *p = arg;

	return link_send(l, MSG_POOL_START, 0, 0, &(struct msg_pool_start){ p->dir }, e);
}

static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	log_error("box-pool gone %s", how);
	err_set(why, E_CRASH, "box-pool ended (%s) before it answered", how);
}

static const struct service_plan plan = {
	.program = "box-pool",
	.from = FROM_POOL,
	.answer_sec = LIM_POOL_SEC,
	.finishes = true,
	.start = on_start,
	.on_gone = on_gone,
};

void
pool_ask(struct pool *p, enum msg_type t, const void *body, ask_fn *fn, void *arg)
{
	service_ask_own(p->service, t, body, NULL, fn, arg);
}

/* ---- clients ---- */

/*
 * Where a session may not mount from no volume is mounted either.  Our own state directory is closed too, but for
 * what LangBot's relative paths mean.
 */
static int
check_path(const struct boxd *h, const char *path, struct err *e)
{
	struct msg_path_rule    room[LIM_ALL_RULES];
	struct msg_worker_start rules;
	char                    normal[LIM_PATH + 1], langbot[LIM_PATH + 1];

	if (!path_normal(path, normal))
		return err_set(e, E_INVALID, "path: '%s' is not absolute, or has '..' in it", path);
	if (snprintf(langbot, sizeof(langbot), "%s/" LANGBOT_DIR, h->dirs->state) < (int)sizeof(langbot) &&
	    path_within(normal, langbot) && strcmp(normal, langbot) != 0)
		return 0;
	mountrules_fill(h->mountrules, room, &rules);
	for (size_t i = 0; i < rules.rules.n; i++) {
		const struct msg_path_rule *r = &rules.rules.v[i];

		if (r->rule != RULE_ALLOW && (path_within(normal, r->path) || path_within(r->path, normal)))
			return err_set(
			    e, E_INVALID, "path: no volume can be mounted at %s, because of %s", normal, r->path);
	}
	return 0;
}

int
pool_deliver(struct boxd *h, const struct msg *m, struct err *e)
{
	if (m->type == MSG_POOL_CREATE && check_path(h, ((const struct msg_pool_create *)m->body)->path, e) == -1)
		return -1;
	return service_ask(h->pool->service, &(struct asker){ .conn = m->conn, .id = m->id }, m->type, m->body, e);
}

/* ---- workspaces ---- */

bool
pool_is_used(const struct boxd *h)
{
	return h->config->pool_workspace_mb > 0;
}

static uint64_t
workspace_mb(const struct boxd *h)
{
	uint64_t own = h->config->pool_workspace_mb;
	uint64_t quota = admission_policy(h->admission)->workspace_quota_mb;

	return quota > 0 && quota < own ? quota : own;
}

/* Files that LangBot has put there before are taken in; a volume keeps the size it was made with. */
static int
ask_workspace(struct boxd *h, const char *ns, ask_fn *fn, void *arg, struct err *e)
{
	const char            *base = langbot_paths(h->langbot)->default_workspace;
	char                   path[LIM_PATH + 64];
	struct msg_pool_create ask = { .path = path, .size_mb = workspace_mb(h), .take_in = true };

	if (*base == '\0')
		return err_set(e, E_READINESS, "Managed sandbox admission requires box.local.default_workspace");
	if (ask.size_mb < LIM_VOLUME_MB)
		return err_set(e, E_READINESS, "a volume of %lu MiB is too small for a workspace: the minimum is %d",
		    ask.size_mb, LIM_VOLUME_MB);
	snprintf(path, sizeof(path), "%s/tenants/%s", base, ns);
	ask.inodes = ask.size_mb * MIB / INODE_BYTES;
	if (ask.inodes > h->config->workspace_entries)
		ask.inodes = h->config->workspace_entries;
	pool_ask(h->pool, MSG_POOL_CREATE, &ask, fn, arg);
	return 0;
}

void
pool_workspace(struct boxd *h, const char *ns, ask_fn *fn, void *arg)
{
	struct msg_pool_volume none;
	struct msg             reply = { .envelope = ENV_REPLY, .type = MSG_POOL_VOLUME, .body = &none };

	msg_defaults(MSG_POOL_VOLUME, &none);
	if (pool_is_used(h) && ask_workspace(h, ns, fn, arg, &reply.error) == 0)
		return;
	reply.failed = pool_is_used(h);
	fn(arg, &reply);
}

/* ---- open and close ---- */

/* Before the loop runs, and the only time anybody waits for it. */
static int
mount_all(struct pool *p, struct err *e)
{
	char  program[PATH_MAX + 16];
	char *argv[] = { "box-pool", "mount", p->dir, NULL };
	pid_t pid;
	int   status;

	snprintf(program, sizeof(program), "%s/box-pool", p->boxd->dirs->libexec);
	int r = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (r != 0) {
		errno = r;
		return err_sys(e, "start %s", program);
	}
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return err_sys(e, "wait for box-pool");
	if (status != 0)
		log_error("box-pool: some volumes could not be mounted (%s)", child_status(status).text);
	return 0;
}

struct pool *
pool_open(struct boxd *h, struct err *e)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	p->boxd = h;
	if (*h->config->pool_dir != '\0')
		snprintf(p->dir, sizeof(p->dir), "%s", h->config->pool_dir);
	else
		snprintf(p->dir, sizeof(p->dir), "%.4000s/" DEFAULT_DIR, h->dirs->state);
	if ((access(p->dir, F_OK) == 0 && mount_all(p, e) == -1) || (p->service = service_open(h, &plan, p, e)) == NULL)
		pool_close(&p);
	return p;
}

void
pool_close(struct pool **pp)
{
	struct pool *p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	service_close(&p->service);
	free(p);
}
