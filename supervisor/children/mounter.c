#include "children/mounter.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/artifact.h"
#include "children/mountsets.h"
#include "children/service.h"
#include "config/mountspec.h"
#include "core/idmap.h"
#include "core/registry.h"
#include "core/session_impl.h"
#include "wire/digest.h"

/* A command that waits.  The process that makes mounts may die once on its way. */
struct ask {
	struct idmap_entry entry; /* the id is the command's */
	char               session[LIM_NAME + 1];
	uint64_t           id; /* of that session: another may have its name by now */
	bool               again;
	uint64_t           measurers;         /* as its session's, when it was asked for */
	uint8_t            key[MOUNTSET_KEY]; /* of what it names */
};

struct mounter {
	struct boxd      *boxd;
	struct service   *service; /* owned */
	struct mountsets *kept;    /* owned */
	struct idmap      asks;    /* owned */
};

/* ---- what a command wants --------------------------------------------------------------- */

/* Room for all of the command's mounts and all of the session's. */
struct plan {
	struct msg_mount mounts[LIM_MOUNTS];
	const char      *hidden[LIM_MOUNTS];
	size_t           nmounts, nhidden;
};

static void
plan_mounts(struct plan *p, const struct msg_spec *session, const struct msg_exec *x)
{
	struct msg_spec named = { .extra_mounts = { x->extra_mounts.n, x->extra_mounts.v } };

	*p = (struct plan){ 0 };
	for (size_t i = 0; i < x->extra_mounts.n; i++)
		if (x->extra_mounts.v[i].mode != MOUNT_NONE && !mountspec_has_extra(session, &x->extra_mounts.v[i]))
			p->mounts[p->nmounts++] = x->extra_mounts.v[i];
	for (size_t i = 0; x->only_mounts && i < session->extra_mounts.n; i++)
		if (session->extra_mounts.v[i].mode != MOUNT_NONE &&
		    !mountspec_has_extra(&named, &session->extra_mounts.v[i]))
			p->hidden[p->nhidden++] = session->extra_mounts.v[i].mount_path;
}

int
mounter_check(const struct msg_spec *session, const struct msg_exec *x, bool *needed, struct err *e)
{
	struct msg_spec spec = *session;
	struct plan     p;

	*needed = false;
	if (x->extra_mounts.n == 0 && !x->only_mounts)
		return 0;
	spec.extra_mounts.n = x->extra_mounts.n;
	spec.extra_mounts.v = x->extra_mounts.v;
	if (mountspec_fill(&spec, "exec", e) == -1)
		return -1;
	plan_mounts(&p, session, x);
	*needed = p.nmounts > 0 || p.nhidden > 0;
	return 0;
}

/* ---- what is kept for the next -------------------------------------------------------------- */

static void
hash_text(crypto_generichash_state *h, const char *text)
{
	crypto_generichash_update(h, (const uint8_t *)text, strlen(text) + 1);
}

/* A hash of what is asked for.  An artifact that was copied again is another copy, although its files are the same. */
static void
plan_key(const struct plan *p, const struct artifact_hold *held, uint8_t key[MOUNTSET_KEY])
{
	crypto_generichash_state h;
	uint64_t                 newest = artifact_newest(held);

	crypto_generichash_init(&h, NULL, 0, MOUNTSET_KEY);
	crypto_generichash_update(&h, (const uint8_t *)&newest, sizeof(newest));
	for (size_t i = 0; i < p->nmounts; i++) {
		hash_text(&h, digest_of(&p->mounts[i]) != NULL ? "" : p->mounts[i].host_path);
		hash_text(&h, p->mounts[i].mount_path);
		hash_text(&h, p->mounts[i].mode == MOUNT_RW ? "rw" : "ro");
	}
	for (size_t i = 0; i < p->nhidden; i++) {
		hash_text(&h, "hidden");
		hash_text(&h, p->hidden[i]);
	}
	crypto_generichash_final(&h, key, MOUNTSET_KEY);
}

/* What a digest names is what it was. */
static bool
never_changes(const struct plan *p)
{
	for (size_t i = 0; i < p->nmounts; i++)
		if (digest_of(&p->mounts[i]) == NULL)
			return false;
	return true;
}

/* ---- the process that makes them ------------------------------------------------------------ */

static struct session *
session_of(const struct mounter *m, const struct ask *a)
{
	struct session *s = registry_find(m->boxd->registry, a->session);

	return s != NULL && s->id == a->id ? s : NULL;
}

/* Takes the namespace. */
static void
ask_answer(struct mounter *m, struct ask *a, int mounts, const struct err *why)
{
	struct session *s = session_of(m, a);

	idmap_remove(&m->asks, &a->entry);
	if (s != NULL)
		session_mounted(s, a->entry.id, mounts, why);
	else
		fd_close(&mounts);
	free(a);
}

static struct ask *
ask_find(const struct mounter *m, uint64_t exec)
{
	return (struct ask *)idmap_find(&m->asks, exec);
}

static int
duplicate_ns(int ns, struct err *e)
{
	int fd = fcntl(ns, F_DUPFD_CLOEXEC, 0);

	return fd == -1 ? err_sys(e, "keep a mount namespace") : fd;
}

/* Most of a session's mounts have one owner. */
static void
keep_map(struct session *s, struct msg *m)
{
	const struct msg_mounts_made *made = m->body;

	if (s == NULL || made->map == -1)
		return;
	fd_close(&s->map);
	s->map = msg_take_fd(m, made->map);
	s->map_uid = made->map_uid;
	s->map_gid = made->map_gid;
}

static void
ask_again(struct mounter *m, struct ask *a)
{
	struct session *s = session_of(m, a);
	struct err      why = { 0 };

	if (s == NULL || session_mount_again(s, a->entry.id, &why) == -1)
		ask_answer(m, a, -1, &why);
}

/* What is kept has not changed; but it may be gone by now. */
static void
answer_kept(struct mounter *m, struct ask *a)
{
	const struct mountset *set = mountsets_find(m->kept, a->id, a->key);
	struct session        *s = session_of(m, a);
	struct err             why = { 0 };
	int                    ns = set == NULL ? -1 : duplicate_ns(set->ns, &why);

	if (set != NULL || s == NULL)
		ask_answer(m, a, ns, ns == -1 ? &why : NULL);
	else
		ask_again(m, a);
}

/* Its session has another scanner by now than the one that these mounts were compared with. */
static bool
is_outdated(const struct mounter *m, const struct ask *a)
{
	const struct session *s = session_of(m, a);

	return s != NULL && s->spec.workspace_quota_mb > 0 && s->measurers != a->measurers;
}

/* Only with mounts: what failed to be mounted counts for nothing. */
static int
take_scanner(const struct mounter *m, const struct ask *a, struct msg *msg, struct err *e)
{
	const struct msg_mounts_made *made = msg->body;
	struct session               *s = session_of(m, a);

	if (s == NULL || made->scanner == -1 || (made->mounts == -1 && !made->same))
		return 0;
	return session_take_scanner(s, a->entry.id, msg, e);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct mounter *by = arg;
	struct err      why;

	if (m->type == MSG_WORKER_FAILED) {
		log_warn("mounts: %s", ((const struct msg_worker_failed *)m->body)->reason);
		child_kill(service_child(by->service));
	}
	if (m->type != MSG_MOUNTS_MADE)
		return;
	const struct msg_mounts_made *made = m->body;
	struct ask                   *a = ask_find(by, made->call);
	if (a == NULL)
		return;
	if (is_outdated(by, a)) {
		ask_again(by, a);
		return;
	}
	if (take_scanner(by, a, m, &why) == -1) {
		ask_answer(by, a, -1, &why);
		return;
	}
	if (made->same) {
		answer_kept(by, a);
		return;
	}
	keep_map(session_of(by, a), m);
	if (made->mounts == -1)
		err_set(&why, err_from_wire(made->code, strlen(made->code)), "%s", made->reason);
	else if (*made->sources != '\0' && session_of(by, a) != NULL)
		mountsets_keep(by->kept, a->id, a->key, made->mounts, made->sources);
	ask_answer(by, a, msg_take_fd(m, made->mounts), made->mounts == -1 ? &why : NULL);
}

/* What it was doing is asked for once more. */
static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	struct mounter     *m = arg;
	struct idmap_entry *c, *next;
	struct err          again;

	if (m->boxd->stopping)
		return;
	log_warn("the process that makes mounts died: %s", how);
	err_set(why, E_UNSTARTED, "the process that makes mounts died; the command was not started");
	for (c = idmap_first(&m->asks); c != NULL; c = next) {
		struct ask     *a = (struct ask *)c;
		struct session *s = session_of(m, a);

		next = TAILQ_NEXT(c, next);
		again = *why;
		if (s == NULL || a->again || session_mount_again(s, c->id, &again) == -1)
			ask_answer(m, a, -1, again.code == E_CRASH ? why : &again); /* E_CRASH: the next died as well */
		else
			a->again = true;
	}
}

static const struct service_plan plan = {
	.program = "box-session",
	.from = FROM_WORKER,
	.on_msg = on_msg,
	.on_gone = on_gone,
};

static int
ask_send(
    struct mounter *m, struct session *s, struct plan *p, uint64_t exec, const struct mountset *kept, struct err *e)
{
	struct msg_spec         spec = s->spec;
	const char             *counted[2 * LIM_MOUNTS];
	struct msg_path_rule    rules[LIM_ALL_RULES];
	struct msg_worker_start ask;

	if (session_check_counted(s, p->mounts, p->nmounts, e) == -1 || service_start(m->service, e) == -1)
		return -1;
	spec.extra_mounts.n = p->nmounts;
	spec.extra_mounts.v = p->mounts;
	session_fill_start(s, &spec, WORK_MOUNT, rules, &ask);
	AUTO_FD int artifacts = artifact_dir(m->boxd, s->name);
	ask.artifacts = artifacts;
	ask.call = exec;
	ask.sandbox = s->init;
	ask.sources = kept != NULL ? kept->sources : "";
	ask.map = s->map;
	ask.map_uid = s->map_uid;
	ask.map_gid = s->map_gid;
	ask.counted = (struct strs){ session_counted(s, p->mounts, p->nmounts, counted), counted };
	ask.measured = s->measured;
	ask.hidden = (struct strs){ p->nhidden, p->hidden };
	return link_send(child_link(service_child(m->service)), MSG_WORKER_START, 0, 0, &ask, e);
}

static struct ask *
ask_new(const struct session *s, uint64_t exec, const uint8_t *key)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->entry.id = exec;
	a->id = s->id;
	a->measurers = s->measurers;
	memcpy(a->key, key, sizeof(a->key));
	snprintf(a->session, sizeof(a->session), "%s", s->name);
	return a;
}

int
mounter_ask(
    struct mounter *m, struct session *s, const struct msg_exec *x, const struct request *r, int *ns, struct err *e)
{
	uint8_t     key[MOUNTSET_KEY];
	struct plan p;

	plan_mounts(&p, &s->spec, x);
	plan_key(&p, r->artifacts, key);
	const struct mountset *kept = mountsets_find(m->kept, s->id, key);
	if (kept != NULL && never_changes(&p))
		return (*ns = duplicate_ns(kept->ns, e)) == -1 ? -1 : 0;
	struct ask *a = ask_find(m, r->exec);
	if (a != NULL) /* once more */
		a->measurers = s->measurers;
	if (a != NULL)
		return ask_send(m, s, &p, r->exec, kept, e) == -1 ? -1 : 1;
	if ((a = ask_new(s, r->exec, key)) == NULL)
		return err_set(e, E_SYS, "no memory for a command's mounts");
	if (ask_send(m, s, &p, r->exec, kept, e) == -1 && e->code != E_CRASH) { /* it just died: on_gone() asks again */
		free(a);
		return -1;
	}
	idmap_add(&m->asks, &a->entry);
	return 1;
}

void
mounter_forget(struct mounter *m, const struct session *s)
{
	mountsets_forget(m->kept, s->id);
}

struct mounter *
mounter_open(struct boxd *h, struct err *e)
{
	struct mounter *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	m->boxd = h;
	idmap_init(&m->asks);
	m->kept = mountsets_open(h->loop);
	if (m->kept == NULL)
		err_set(e, E_SYS, "no memory");
	if (m->kept == NULL || (m->service = service_open(h, &plan, m, e)) == NULL)
		mounter_close(&m);
	return m;
}

void
mounter_close(struct mounter **mp)
{
	struct mounter     *m = *mp;
	struct idmap_entry *c;

	if (m == NULL)
		return;
	*mp = NULL;
	while ((c = idmap_first(&m->asks)) != NULL) {
		idmap_remove(&m->asks, c);
		free(c);
	}
	service_close(&m->service);
	mountsets_close(&m->kept);
	free(m);
}
