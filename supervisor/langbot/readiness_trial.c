/*
 * One step after the other, each a request; when one fails, what was made is removed, in the same order:
 *	directory -> session -> command -> look at it from outside -> session gone -> skills -> directory gone
 */
#include "langbot/readiness_trial.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "children/pool.h"
#include "children/store.h"
#include "core/ask.h"
#include "langbot/admission.h"
#include "langbot/langbot.h"
#include "langbot/readiness_script.h"

enum { RANDOM = 8, IDLE_SEC = 10 };

struct trial {
	struct boxd    *boxd;
	struct findings found;
	void (*fn)(void *, const struct findings *);
	void    *arg;
	char     name[LIM_NAME + 1];
	char     path[LIM_PATH + 64];
	char     token[2 * RANDOM + 1];
	bool     has_dir;
	bool     kept_bytes, kept_inodes; /* a kernel is said to bound them */
	uint64_t probe;                   /* the store's, while it is waited for */
	ev_timer late;                    /* runs while the store is waited for */
};

static void ask_session(struct trial *);
static void ask_command(struct trial *);
static void ask_look(struct trial *);
static void ask_delete(struct trial *);
static void ask_skills(struct trial *);
static void ask_directory_end(struct trial *);
static void finish(struct trial *);

static void
add_why(struct trial *t, const char *what, const char *why)
{
	size_t used = strlen(t->found.why);

	snprintf(t->found.why + used, sizeof(t->found.why) - used, "%s%s: %.600s", used > 0 ? "; " : "", what, why);
}

/* ---- a directory beside the workspaces ---- */

static void
on_directory(void *arg, const struct msg *reply)
{
	struct trial *t = arg;

	t->has_dir = t->found.workspace = !reply->failed;
	if (reply->failed) {
		add_why(t, "workspace_mount", reply->error.text);
		ask_skills(t);
		return;
	}
	ask_session(t);
}

/* ---- a sandbox in it ---- */

static void
on_session(void *arg, const struct msg *reply)
{
	struct trial *t = arg;

	if (reply->failed) {
		add_why(t, "namespace_isolation", reply->error.text);
		ask_skills(t);
		return;
	}
	const struct msg_disk *disk = &((const struct msg_session_info *)reply->body)->disk;
	uint64_t               quota = admission_policy(t->boxd->admission)->workspace_quota_mb;
	bool                   volume = pool_is_used(t->boxd);
	t->kept_bytes = volume || disk->hard_bytes;
	t->kept_inodes = volume || disk->hard_inodes;
	if (!t->kept_bytes || !t->kept_inodes)
		add_why(t, !t->kept_bytes ? "hard_workspace_quota" : "inode_quota",
		    "no kernel bounds a workspace here: set pool_workspace_mb in boxd.conf, as root");
	if (volume && quota > 0 && quota < LIM_VOLUME_MB) {
		t->kept_bytes = false;
		add_why(t, "hard_workspace_quota", "workspace_quota_mb is less than any volume can have");
	}
	ask_command(t);
}

static void
ask_session(struct trial *t)
{
	const struct msg_box_policy *p = admission_policy(t->boxd->admission);
	struct msg_create            want;

	msg_defaults(MSG_CREATE, &want);
	want.session = t->name;
	want.spec.host_path = t->path;
	want.spec.memory_mb = TRIAL_MEMORY_MB;
	want.spec.pids_limit = p->pids_limit;
	want.spec.read_only_rootfs = p->read_only_rootfs;
	want.spec.idle_sec = IDLE_SEC; /* should boxd die, the next one is rid of it soon */
	/* a volume is its own limit; without one sessions have a limit only where the policy sets one */
	if (!pool_is_used(t->boxd) && p->workspace_quota_mb > 0)
		want.spec.workspace_quota_mb = TRIAL_QUOTA_MB;
	ask_as(t->boxd, NULL, MSG_CREATE, &want, on_session, t);
}

/* ---- which fills all it can ---- */

static void
own_network(char link[64])
{
	ssize_t n = readlink("/proc/self/ns/net", link, 63);

	link[n > 0 ? n : 0] = '\0';
}

static void
on_command(void *arg, const struct msg *reply)
{
	struct trial *t = arg;
	struct buf    out = { 0 };
	struct err    e = { .text = "" };
	char          link[64];

	own_network(link);
	if (reply->failed)
		add_why(t, "namespace_isolation", reply->error.text);
	else if (blob_read(&((const struct msg_exec_result *)reply->body)->stdout, &out, &e) == -1)
		add_why(t, "namespace_isolation", e.text);
	else
		trial_read(&t->found, out.data, out.len, link);
	buf_clear(&out);
	ask_look(t);
}

static void
ask_command(struct trial *t)
{
	char            bytes[24], files[24], elsewhere[24];
	const char     *argv[] = { "/bin/sh", "-c", trial_script, "trial", t->token, bytes, files, elsewhere, NULL };
	struct msg_exec want;
	uint64_t        most = pool_is_used(t->boxd) ? TRIAL_FILES : t->boxd->config->workspace_entries + 16;

	snprintf(bytes, sizeof(bytes), "%d", t->kept_bytes ? TRIAL_OVER_MB : 0);
	snprintf(files, sizeof(files), "%lu", t->kept_inodes ? most : 0);
	snprintf(elsewhere, sizeof(elsewhere), "%d", TRIAL_OVER_MB);
	msg_defaults(MSG_EXEC, &want);
	want.session = t->name;
	want.argv = (struct strs){ 8, argv };
	want.timeout_ms = (uint64_t)(LIM_TRIAL_SEC * 1000);
	ask_as(t->boxd, NULL, MSG_EXEC, &want, on_command, t);
}

/* ---- seen from the host ---- */

static void
on_look(void *arg, const struct msg *reply)
{
	struct trial *t = arg;

	t->found.mount = !reply->failed && ((const struct msg_pool_seen *)reply->body)->seen;
	if (!t->found.mount)
		add_why(t, "mount_isolation", reply->failed ? reply->error.text : "the host does not see its file");
	ask_delete(t);
}

static void
ask_look(struct trial *t)
{
	struct msg_pool_look want = { .path = t->path, .name = "marker", .text = t->token };

	pool_ask(t->boxd->pool, MSG_POOL_LOOK, &want, on_look, t);
}

static void
on_delete(void *arg, const struct msg *reply)
{
	struct trial *t = arg;

	if (reply->failed && reply->error.code != E_NOTFOUND)
		log_warn("readiness session=%s is not gone: %s", t->name, reply->error.text);
	ask_skills(t);
}

static void
ask_delete(struct trial *t)
{
	struct msg_delete want = { .session = t->name };

	ask_as(t->boxd, NULL, MSG_DELETE, &want, on_delete, t);
}

/* ---- the skills ---- */

static void
on_skills(void *arg, const struct msg *reply)
{
	struct trial                *t = arg;
	const struct msg_store_disk *d = reply->failed ? NULL : reply->body;

	t->probe = 0;
	ev_timer_stop(t->boxd->loop, &t->late);
	t->found.skills = d != NULL && d->hard_bytes && d->hard_inodes;
	if (!t->found.skills) {
		const char *why = d == NULL ? reply->error.text : *d->why != '\0' ? d->why : "no kernel bounds them";
		char        text[1024];

		snprintf(text, sizeof(text), "%.700s (boxctl pool create %.200s --size 512M)", why,
		    langbot_paths(t->boxd->langbot)->skills_root);
		add_why(t, "hard_read_only_mount_quota", text);
	}
	ask_directory_end(t);
}

static void
on_late(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct trial *t = w->data;
	struct msg    reply = { .failed = true };

	ask_drop(t->boxd, t->probe);
	err_set(&reply.error, E_CRASH, "box-store did not answer within %.0f s", LIM_TRIAL_SEC);
	on_skills(t, &reply);
}

static void
ask_skills(struct trial *t)
{
	struct msg reply = { .failed = true };

	assert(t->probe == 0);
	ev_timer_start(t->boxd->loop, &t->late);
	t->probe = store_ask(t->boxd->store, MSG_STORE_PROBE, &(struct msg_store_probe){}, on_skills, t, &reply.error);
	if (t->probe == 0)
		on_skills(t, &reply);
}

/* ---- and the directory goes ---- */

static void
on_directory_end(void *arg, const struct msg *reply)
{
	struct trial *t = arg;

	if (reply->failed)
		log_warn("readiness: %s is left until the next start: %s", t->path, reply->error.text);
	finish(t);
}

static void
ask_directory_end(struct trial *t)
{
	struct msg_pool_trial_end want = { .path = t->path };

	if (!t->has_dir)
		finish(t);
	else
		pool_ask(t->boxd->pool, MSG_POOL_TRIAL_END, &want, on_directory_end, t);
}

static void
finish(struct trial *t)
{
	assert(t->probe == 0 && !ev_is_active(&t->late));
	t->fn(t->arg, &t->found); /* which closes it */
}

/* ---- coming and going ---- */

struct trial *
trial_open(struct boxd *h, void (*fn)(void *, const struct findings *), void *arg, struct err *e)
{
	struct trial *t = calloc(1, sizeof(*t));
	unsigned char random[RANDOM];

	if (t == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*t = (struct trial){ .boxd = h, .fn = fn, .arg = arg };
	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(t->token, sizeof(t->token), random, sizeof(random));
	snprintf(t->name, sizeof(t->name), TRIAL_PREFIX "%s", t->token);
	snprintf(t->path, sizeof(t->path), "%s/tenants/%s", langbot_paths(h->langbot)->default_workspace, t->name);
	ev_timer_init(&t->late, on_late, LIM_TRIAL_SEC, 0.);
	t->late.data = t;
	return t;
}

void
trial_run(struct trial *t)
{
	struct msg_pool_trial want = { .path = t->path, .volume = pool_is_used(t->boxd) };

	pool_ask(t->boxd->pool, MSG_POOL_TRIAL, &want, on_directory, t);
}

void
trial_close(struct trial **tp)
{
	struct trial *t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	ev_timer_stop(t->boxd->loop, &t->late);
	free(t);
}
