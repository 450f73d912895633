/*
 * There are up to three kinds of box-store at one time: the one that serves, one that tries another
 * configuration, and those that were replaced and finish what they had begun.
 *
 *	trying  -> serving	it said STORE_READY
 *	trying  -> gone		STORE_FAILED, its death, or its time is over: nothing has changed
 *	serving -> leaving	another took its place and requests are in flight
 *	serving -> gone		it died: its requests fail, it is started again with the same configuration
 *	leaving -> gone		its last request was answered, or it died
 *
 * What is asked while none serves waits for the next: a store that comes back after a crash, or the first one,
 * which is started by the first request.
 */
#include "children/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "base/restart.h"
#include "children/child.h"
#include "core/dirs.h"
#include "core/share.h"
#include "langbot/tenancy.h"
#include "wire/owned_msg.h"

/* Skills are not needed by everybody: it is tried for ever, but slowly. */
static const struct restart_policy policy = { .first_sec = 0.1, .most_sec = 10, .window_sec = 60, .limit = 0 };

enum role { TRYING, SERVING, LEAVING };

struct request {
	TAILQ_ENTRY(request) next;
	uint64_t      id;
	enum msg_type type;
	ask_fn       *fn; /* NULL: nobody wants the answer any more */
	void         *arg;
	struct packet packet;                /* owned; until it is sent */
	size_t        bytes;                 /* of it, which box-store holds when it is sent */
	char          ns[NAMESPACE_LEN + 1]; /* of the workspace that asks; empty: of none */
};

TAILQ_HEAD(requests, request);

struct process {
	LIST_ENTRY(process) next;
	struct store   *store;
	struct child   *child; /* owned */
	enum role       role;
	struct requests sent; /* owned; in flight */
	ev_timer        late; /* runs while something is due */
};

struct store {
	struct boxd *boxd;
	char         base[PATH_MAX + 16];
	LIST_HEAD(, process) processes; /* owned */
	struct requests waiting;        /* owned; for the next that serves */
	size_t          in_flight;      /* these, and those that were sent */
	size_t          bytes;          /* of all of them */
	struct restart  restart;
	ev_timer        again; /* runs between a death and the next start */

	struct owned_msg     kept;       /* owned; what local points into */
	struct msg_box_local local;      /* the configuration in force */
	struct owned_msg     tried_kept; /* the same of the one that is tried */
	struct msg_box_local tried;
	ask_fn              *tell; /* who configures; NULL: it is the first, or a restart */
	void                *tell_arg;
};

static int start(struct store *, const struct msg_box_local *, struct err *);

/* ---- requests ---------------------------------------------------------------------------- */

static struct process *
process_in(const struct store *s, enum role role)
{
	struct process *p;

	LIST_FOREACH (p, &s->processes, next)
		if (p->role == role)
			return p;
	return NULL;
}

static struct request *
find(const struct requests *in, uint64_t id)
{
	struct request *r;

	TAILQ_FOREACH (r, in, next)
		if (r->id == id)
			return r;
	return NULL;
}

/* Out of the list first: fn may ask again. */
static void
answer(struct store *s, struct requests *in, struct request *r, const struct msg *reply)
{
	ask_fn *fn = r->fn;
	void   *arg = r->arg;

	TAILQ_REMOVE(in, r, next);
	s->in_flight--;
	s->bytes -= r->bytes;
	packet_clear(&r->packet);
	free(r);
	if (fn != NULL)
		fn(arg, reply);
}

static void
fail_all(struct store *s, struct requests *in, const struct err *why)
{
	struct request *r;

	while ((r = TAILQ_FIRST(in)) != NULL)
		answer(s, in, r, &(struct msg){ .envelope = ENV_REPLY, .id = r->id, .failed = true, .error = *why });
}

/* From now on: any answer puts it off, and without a request there is no clock. */
static void
watch(struct process *p)
{
	struct ev_loop *loop = p->store->boxd->loop;

	ev_timer_stop(loop, &p->late);
	if (p->role != TRYING && TAILQ_EMPTY(&p->sent))
		return;
	ev_timer_set(&p->late, p->role == TRYING ? LIM_STORE_START_SEC : LIM_STORE_ANSWER_SEC, 0.);
	ev_timer_start(loop, &p->late);
}

static void
send_waiting(struct process *p)
{
	struct store   *s = p->store;
	struct request *r;

	while ((r = TAILQ_FIRST(&s->waiting)) != NULL) {
		struct err e = { 0 };

		TAILQ_REMOVE(&s->waiting, r, next);
		TAILQ_INSERT_TAIL(&p->sent, r, next);
		if (link_send_packet(child_link(p->child), &r->packet, &e) == -1)
			answer(s, &p->sent, r,
			    &(struct msg){ .envelope = ENV_REPLY, .id = r->id, .failed = true, .error = e });
	}
	if (!ev_is_active(&p->late))
		watch(p);
}

/* ---- one process ------------------------------------------------------------------------- */

static void
process_end(struct process *p)
{
	ev_timer_stop(p->store->boxd->loop, &p->late);
	child_kill(p->child);
	child_close(&p->child);
	LIST_REMOVE(p, next);
	free(p);
}

/* Whoever configured hears of it; the first start of all, and restarts, have nobody. */
static void
tell(struct store *s, const struct msg *m)
{
	ask_fn *fn = s->tell;
	void   *arg = s->tell_arg;

	s->tell = NULL;
	if (fn != NULL)
		fn(arg, m);
}

static void
start_later(struct store *s)
{
	double delay = restart_after_crash(&s->restart, &policy, ev_now(s->boxd->loop));

	if (s->boxd->stopping || ev_is_active(&s->again))
		return;
	ev_timer_set(&s->again, delay, 0.);
	ev_timer_start(s->boxd->loop, &s->again);
}

/* A configuration that was tried and is none, or the one in force that cannot be served now. */
static void
tried_in_vain(struct process *p, const struct err *why)
{
	struct store *s = p->store;
	bool          asked = s->tell != NULL;

	process_end(p);
	owned_msg_clear(&s->tried_kept);
	if (!asked) {
		fail_all(s, &s->waiting, why);
		return;
	}
	tell(s, &(struct msg){ .envelope = ENV_REPLY, .failed = true, .error = *why });
	/* what waited for it can be done by the old one, if there is one */
	struct process *old = process_in(s, SERVING);
	if (old != NULL)
		send_waiting(old);
	else if (!TAILQ_EMPTY(&s->waiting))
		start_later(s);
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

static void
on_ready(struct process *p, const struct msg *m)
{
	struct store   *s = p->store;
	struct process *old = process_in(s, SERVING);
	struct err      e = { 0 };

	if (p->role != TRYING || check_paths(s, m->body, &e) == -1) {
		if (p->role == TRYING)
			tried_in_vain(p, &e);
		return;
	}
	if (s->tell != NULL) {
		owned_msg_clear(&s->kept);
		s->kept = s->tried_kept;
		s->local = s->tried;
		s->tried_kept = (struct owned_msg){ 0 };
	}
	p->role = SERVING;
	log_info(
	    "store=%d ready skills=%s", child_pid(p->child), ((const struct msg_store_ready *)m->body)->skills_root);
	if (old != NULL && TAILQ_EMPTY(&old->sent))
		process_end(old);
	else if (old != NULL)
		old->role = LEAVING;
	watch(p);
	send_waiting(p);
	tell(s, &(struct msg){ .envelope = ENV_REPLY, .type = MSG_STORE_READY, .body = m->body });
}

static void
on_failed(struct process *p, const struct msg *m)
{
	const struct msg_store_failed *f = m->body;
	struct err                     why;
	enum err_code                  code = err_from_wire(f->code, strlen(f->code));

	if (p->role != TRYING)
		return;
	err_set(&why, code == E__COUNT || code == E_NONE ? E_SYS : code, "%s", f->reason);
	tried_in_vain(p, &why);
}

static void
on_reply(struct process *p, struct msg *m)
{
	struct request *r = find(&p->sent, m->id);
	struct store   *s = p->store;
	struct err      e = { 0 };

	if (r == NULL)
		return;
	if (!m->failed && msg_expect(m, msg_def(r->type)->result, &e) == -1) {
		log_error("store=%d %s: %s", child_pid(p->child), msg_name(r->type), e.text);
		m->failed = true;
		m->error = e;
	}
	answer(s, &p->sent, r, m);
	watch(p);
	if (p->role == LEAVING && TAILQ_EMPTY(&p->sent))
		process_end(p);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct process *p = arg;

	if (m->envelope == ENV_REPLY)
		on_reply(p, m);
	else if (m->type == MSG_STORE_READY)
		on_ready(p, m);
	else if (m->type == MSG_STORE_FAILED)
		on_failed(p, m);
}

static void
on_gone(void *arg, int status)
{
	struct process *p = arg;
	struct store   *s = p->store;
	enum role       role = p->role;
	struct requests lost = TAILQ_HEAD_INITIALIZER(lost);
	struct err      why;

	log_error("store=%d gone %s", child_pid(p->child), child_status(status));
	err_set(&why, E_CRASH, "box-store died (%s)", child_status(status));
	if (role == TRYING) {
		bool again = s->tell == NULL;

		tried_in_vain(p, &why);
		if (again)
			start_later(s);
		return;
	}
	TAILQ_CONCAT(&lost, &p->sent, next);
	process_end(p);
	if (role == SERVING)
		start_later(s);
	fail_all(s, &lost, &why);
}

static const struct child_ops ops = { on_msg, on_gone };

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct process *p = t->data;

	(void)loop;
	(void)revents;
	log_error("store=%d does not answer", child_pid(p->child));
	child_kill(p->child);
}

/* ---- starting ---------------------------------------------------------------------------- */

static int
start(struct store *s, const struct msg_box_local *local, struct err *e)
{
	struct msg_store_start m;
	struct process        *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return err_set(e, E_SYS, "no memory");
	*p = (struct process){ .store = s, .role = TRYING };
	TAILQ_INIT(&p->sent);
	ev_timer_init(&p->late, on_late, 0., 0.);
	p->late.data = p;
	msg_defaults(MSG_STORE_START, &m);
	m.base = s->base;
	m.local = *local;
	m.uid = geteuid();
	p->child = child_start(s->boxd, "box-store", FROM_STORE, &ops, p, e);
	if (p->child == NULL || link_send(child_link(p->child), MSG_STORE_START, 0, 0, &m, e) == -1) {
		if (p->child != NULL)
			child_kill(p->child);
		child_close(&p->child);
		free(p);
		return -1;
	}
	LIST_INSERT_HEAD(&s->processes, p, next);
	watch(p);
	return 0;
}

static void
start_again(struct store *s)
{
	struct err e = { 0 };

	if (process_in(s, TRYING) != NULL || process_in(s, SERVING) != NULL)
		return;
	if (start(s, &s->local, &e) == 0)
		return;
	log_error("store: %s", e.text);
	fail_all(s, &s->waiting, &e);
	start_later(s);
}

static void
on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	start_again(t->data);
}

int
store_configure(struct store *s, const struct msg_box_local *local, ask_fn *fn, void *arg, struct err *e)
{
	struct process *trying = process_in(s, TRYING);

	if (s->tell != NULL)
		return err_set(e, E_BUSY, "another configuration is being tried");
	s->tried = *local;
	if (owned_msg_copy(&s->tried_kept, MSG_BOX_LOCAL, &s->tried, e) == -1)
		return -1;
	if (trying != NULL) /* with the old one, and for nobody */
		process_end(trying);
	if (start(s, &s->tried, e) == -1) {
		owned_msg_clear(&s->tried_kept);
		return -1;
	}
	ev_timer_stop(s->boxd->loop, &s->again);
	s->tell = fn;
	s->tell_arg = arg;
	return 0;
}

/* ---- asking ------------------------------------------------------------------------------ */

/* What it keeps in memory, here or there, until it is answered: also when nobody wants the answer any more. */
static size_t
weight(const struct packet *p)
{
	size_t      n = p->bytes.len;
	struct stat st;

	for (size_t i = 0; i < p->nfds; i++)
		if (fstat(p->fds[i], &st) == 0 && st.st_size > 0)
			n += (size_t)st.st_size;
	return n;
}

/* Every request about skills names the workspace that they belong to. */
static void
take_namespace(struct request *r, const void *body)
{
	for (const struct field *f = msg_def(r->type)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, "ns") == 0)
			snprintf(r->ns, sizeof(r->ns), "%s", *(const char *const *)((const char *)body + f->offset));
}

struct held {
	uint64_t requests, bytes;
};

static void
add_held(struct held *h, const struct requests *in, const char *ns)
{
	const struct request *r;

	TAILQ_FOREACH (r, in, next)
		if (strcmp(r->ns, ns) == 0) {
			h->requests++;
			h->bytes += r->bytes;
		}
}

/* What one workspace has waiting here and in box-store, its own share of both queues. */
static int
check_share(const struct store *s, const struct request *r, struct err *e)
{
	const struct config  *c = s->boxd->config;
	const struct process *p;
	struct held           held = { .bytes = r->bytes };

	if (*r->ns == '\0')
		return 0;
	add_held(&held, &s->waiting, r->ns);
	LIST_FOREACH (p, &s->processes, next)
		add_held(&held, &p->sent, r->ns);
	if (share_check(c, held.requests, LIM_STORE_WAITING, E_BUSY, "too many requests wait for box-store", e) == -1)
		return -1;
	return share_check(
	    c, held.bytes / MIB, LIM_STORE_BYTES / MIB, E_BUSY, "too many MiB of archives wait for box-store", e);
}

static int
request_fill(struct store *s, struct request *r, const void *body, struct err *e)
{
	if (msg_encode(&r->packet, r->type, r->id, 0, body, e) == -1)
		return -1;
	r->bytes = weight(&r->packet);
	take_namespace(r, body);
	if (s->bytes + r->bytes > LIM_STORE_BYTES)
		return err_set(e, E_BUSY, "%zu MiB of archives wait for box-store already", s->bytes / MIB);
	return check_share(s, r, e);
}

uint64_t
store_ask(struct store *s, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	struct process *p = process_in(s, SERVING);
	struct request *r;

	if (s->in_flight >= LIM_STORE_WAITING) {
		err_set(e, E_BUSY, "%zu requests wait for box-store already", s->in_flight);
		return 0;
	}
	if ((r = calloc(1, sizeof(*r))) == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	uint64_t id = boxd_next_id(s->boxd);
	*r = (struct request){ .id = id, .type = t, .fn = fn, .arg = arg };
	if (request_fill(s, r, body, e) == -1) {
		packet_clear(&r->packet);
		free(r);
		return 0;
	}
	TAILQ_INSERT_TAIL(&s->waiting, r, next);
	s->in_flight++;
	s->bytes += r->bytes;
	if (p != NULL)
		send_waiting(p);
	else if (!ev_is_active(&s->again))
		start_again(s);
	return id;
}

void
store_drop(struct store *s, uint64_t id)
{
	struct request *r = find(&s->waiting, id);
	struct process *p;

	LIST_FOREACH (p, &s->processes, next)
		if (r == NULL)
			r = find(&p->sent, id);
	if (r != NULL)
		r->fn = NULL;
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
	LIST_INIT(&s->processes);
	TAILQ_INIT(&s->waiting);
	msg_defaults(MSG_BOX_LOCAL, &s->local);
	if (h->config->langbot_dir[0] != '\0')
		snprintf(s->base, sizeof(s->base), "%s", h->config->langbot_dir);
	else
		snprintf(s->base, sizeof(s->base), "%s/langbot", h->dirs->state);
	ev_timer_init(&s->again, on_again, 0., 0.);
	s->again.data = s;
	return s;
}

static void
requests_clear(struct requests *in)
{
	struct request *r;

	while ((r = TAILQ_FIRST(in)) != NULL) {
		TAILQ_REMOVE(in, r, next);
		packet_clear(&r->packet);
		free(r);
	}
}

void
store_close(struct store **sp)
{
	struct store   *s = *sp;
	struct process *p;

	if (s == NULL)
		return;
	*sp = NULL;
	ev_timer_stop(s->boxd->loop, &s->again);
	while ((p = LIST_FIRST(&s->processes)) != NULL) {
		requests_clear(&p->sent);
		process_end(p);
	}
	requests_clear(&s->waiting);
	owned_msg_clear(&s->kept);
	owned_msg_clear(&s->tried_kept);
	free(s);
}
