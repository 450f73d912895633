/*
 * Skills and LangBot's directories are box-store's.  service.c supervises it: a new configuration is tried by a second
 * process while the first one serves; what is asked while none serves waits.  Here is which configuration is in force,
 * and how much may wait.
 */
#include "children/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "children/service.h"
#include "core/dirs.h"
#include "core/share.h"
#include "langbot/tenancy.h"
#include "wire/owned_msg.h"

/* A request that box-store has or will get, even if nobody wants its answer any more. */
struct held {
	LIST_ENTRY(held) next;
	size_t bytes;                 /* that it keeps in memory, here or there */
	char   ns[NAMESPACE_LEN + 1]; /* of the workspace that asks; empty: of none */
};

struct store {
	struct boxd    *boxd;
	struct service *service; /* owned */
	char            base[PATH_MAX + 16];
	LIST_HEAD(, held) held; /* owned */
	size_t requests, bytes; /* of all of them */

	struct owned_msg     kept;       /* owned; what local points into */
	struct msg_box_local local;      /* the configuration in force */
	struct owned_msg     tried_kept; /* the same of the one that is tried */
	struct msg_box_local tried;
	ask_fn              *configured; /* gets the answer; NULL: no configuration is being tried */
	void                *configured_arg;
};

/* ---- box-store --------------------------------------------------------------------------- */

static int
on_start(void *arg, struct link *l, struct err *e)
{
	const struct store    *s = arg;
	struct msg_store_start m;

	msg_defaults(MSG_STORE_START, &m);
	m.base = s->base;
	m.local = s->configured != NULL ? s->tried : s->local;
	m.uid = geteuid();
	return link_send(l, MSG_STORE_START, 0, 0, &m, e);
}

/* Answers store_configure(). */
static void
configure_reply(struct store *s, const struct msg *m)
{
	ask_fn *fn = s->configured;

	assert(fn != NULL);
	s->configured = NULL;
	fn(s->configured_arg, m);
}

/* boxd's own directories are nobody's skills. */
static int
check_paths(const struct store *s, const struct msg_store_ready *m, struct err *e)
{
	const char *const paths[] = { m->skills_root, m->default_workspace };
	const char       *state = s->boxd->dirs->state;
	char              langbot[PATH_MAX + 16];

	snprintf(langbot, sizeof(langbot), "%s/langbot", state);
	for (size_t i = 0; i < 2; i++)
		if (*paths[i] != '\0' && !path_within(paths[i], langbot) &&
		    (path_within(paths[i], state) || path_within(state, paths[i])))
			return err_set(e, E_INVALID, "box.local: %s is boxd's own", paths[i]);
	return 0;
}

static int
judge_ready(void *arg, const struct msg *m, struct err *e)
{
	if (m->type == MSG_STORE_READY)
		return check_paths(arg, m->body, e);
	if (m->type != MSG_STORE_FAILED)
		return 0;
	const struct msg_store_failed *f = m->body;
	enum err_code                  code = err_from_wire(f->code, strlen(f->code));
	return err_set(e, code == E__COUNT || code == E_NONE ? E_SYS : code, "%s", f->reason);
}

static void
on_ready(void *arg, const struct msg *m)
{
	struct store *s = arg;

	log_info("store=%d ready skills=%s", child_pid(service_child(s->service)),
	    ((const struct msg_store_ready *)m->body)->skills_root);
	if (s->configured == NULL)
		return;
	owned_msg_clear(&s->kept);
	s->kept = s->tried_kept;
	s->local = s->tried;
	s->tried_kept = (struct owned_msg){ 0 };
	configure_reply(s, &(struct msg){ .envelope = ENV_REPLY, .type = MSG_STORE_READY, .body = m->body });
}

static void
on_refused(void *arg, const struct err *why)
{
	struct store *s = arg;

	owned_msg_clear(&s->tried_kept);
	configure_reply(s, &(struct msg){ .envelope = ENV_REPLY, .failed = true, .error = *why });
}

static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	log_error("store=%d gone %s", pid, how);
	err_set(why, E_CRASH, "box-store died (%s)", how);
}

int
store_configure(struct store *s, const struct msg_box_local *local, ask_fn *fn, void *arg, struct err *e)
{
	if (s->configured != NULL)
		return err_set(e, E_BUSY, "another configuration is being tried");
	s->tried = *local;
	if (owned_msg_copy(&s->tried_kept, MSG_BOX_LOCAL, &s->tried, e) == -1)
		return -1;
	s->configured = fn;
	s->configured_arg = arg;
	if (service_try(s->service, e) == 0)
		return 0;
	s->configured = NULL;
	owned_msg_clear(&s->tried_kept);
	return -1;
}

/* ---- how much may wait ---------------------------------------------------------------------- */

static size_t
packet_weight(const struct packet *p)
{
	size_t      n = p->bytes.len;
	struct stat st;

	for (size_t i = 0; i < p->nfds; i++)
		if (fstat(p->fds[i], &st) == 0 && st.st_size > 0)
			n += (size_t)st.st_size;
	return n;
}

/* What one workspace has waiting here and in box-store, its own share of both queues. */
static int
check_share(const struct store *s, const struct held *mine, struct err *e)
{
	const struct config *c = s->boxd->config;
	const struct held   *h;
	uint64_t             requests = 0, bytes = mine->bytes;

	if (*mine->ns == '\0')
		return 0;
	LIST_FOREACH (h, &s->held, next)
		if (strcmp(h->ns, mine->ns) == 0) {
			requests++;
			bytes += h->bytes;
		}
	if (share_check(c, requests, LIM_STORE_WAITING, E_BUSY, "too many requests wait for box-store", e) == -1)
		return -1;
	return share_check(
	    c, bytes / MIB, LIM_STORE_BYTES / MIB, E_BUSY, "too many MiB of archives wait for box-store", e);
}

static int
admit_request(void *arg, void *tag, const struct packet *p, struct err *e)
{
	struct store *s = arg;
	struct held  *mine = tag;

	mine->bytes = packet_weight(p);
	if (s->bytes + mine->bytes > LIM_STORE_BYTES)
		return err_set(e, E_BUSY, "%zu MiB of archives wait for box-store already", s->bytes / MIB);
	return check_share(s, mine, e);
}

static void
on_answer(void *arg, void *tag, const struct msg *reply)
{
	struct store *s = arg;
	struct held  *mine = tag;

	LIST_REMOVE(mine, next);
	assert(s->requests > 0 && s->bytes >= mine->bytes);
	s->requests--;
	s->bytes -= mine->bytes;
	free(mine);
}

static const struct service_plan plan = {
	.program = "box-store",
	.from = FROM_STORE,
	.ready = MSG_STORE_READY,
	.start_sec = LIM_STORE_START_SEC,
	.answer_sec = LIM_STORE_ANSWER_SEC,
	/* Skills are not needed by everybody: it is tried for ever, but slowly. */
	.restart = { .first_sec = 0.1, .most_sec = 10, .window_sec = 60, .limit = 0 },
	.start = on_start,
	.judge = judge_ready,
	.on_ready = on_ready,
	.on_refused = on_refused,
	.admit = admit_request,
	.on_answer = on_answer,
	.on_gone = on_gone,
};

/* ---- asking ------------------------------------------------------------------------------ */

/* Every request about skills names the workspace that they belong to. */
static void
take_namespace(struct held *h, enum msg_type t, const void *body)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, "ns") == 0)
			snprintf(h->ns, sizeof(h->ns), "%s", *(const char *const *)((const char *)body + f->offset));
}

int
store_send(struct store *s, uint64_t id, enum msg_type t, const void *body, struct err *e)
{
	struct held *mine;

	if (s->requests >= LIM_STORE_WAITING)
		return err_set(e, E_BUSY, "%zu requests wait for box-store already", s->requests);
	if ((mine = calloc(1, sizeof(*mine))) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	take_namespace(mine, t, body);
	if (service_ask(s->service, &(struct asker){ CONN_OWN, id, mine }, t, body, e) == -1) {
		free(mine);
		return -1;
	}
	LIST_INSERT_HEAD(&s->held, mine, next);
	s->requests++;
	s->bytes += mine->bytes;
	return 0;
}

uint64_t
store_ask(struct store *s, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	uint64_t id = ask_open(s->boxd, t, fn, arg, e);

	if (id == 0 || store_send(s, id, t, body, e) == 0)
		return id;
	ask_drop(s->boxd, id);
	return 0;
}

/* ---- life -------------------------------------------------------------------------------- */

struct store *
store_open(struct boxd *h, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	s->boxd = h;
	LIST_INIT(&s->held);
	msg_defaults(MSG_BOX_LOCAL, &s->local);
	if (h->config->langbot_dir[0] != '\0')
		snprintf(s->base, sizeof(s->base), "%s", h->config->langbot_dir);
	else
		snprintf(s->base, sizeof(s->base), "%s/langbot", h->dirs->state);
	if ((s->service = service_open(h, &plan, s, e)) == NULL)
		store_close(&s);
	return s;
}

void
store_close(struct store **sp)
{
	struct store *s = *sp;
	struct held  *h;

	if (s == NULL)
		return;
	*sp = NULL;
	service_close(&s->service);
	while ((h = LIST_FIRST(&s->held)) != NULL) {
		LIST_REMOVE(h, next);
		free(h);
	}
	owned_msg_clear(&s->kept);
	owned_msg_clear(&s->tried_kept);
	free(s);
}
