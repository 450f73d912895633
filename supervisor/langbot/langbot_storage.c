/*
 * box_get_storage_analysis: what a workspace occupies.
 *
 * box-store counts its directory on the host, and box-files, inside, each of its sessions; boxd only adds up.  All are
 * asked beside each other and none waits for a command.  What fails, is cut or does not come in time is reported as an error
 * in the answer, and why in the log; the rest counts.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "children/store.h"
#include "core/registry.h"
#include "langbot/langbot_impl.h"

enum { ON_HOST = 4, INSIDE = 3 };

/* A session that is counted; its name is enough, because it may go meanwhile. */
struct part {
	struct storage   *storage;
	char              name[LIM_NAME + 1];
	uint64_t          call; /* unanswered; 0: none */
	bool              answered, failed;
	bool              on_host; /* its workspace is the host's */
	uint64_t          processes;
	struct msg_amount amounts[INSIDE];
};

struct storage {
	struct action    *action;
	ev_timer          late;      /* runs */
	uint64_t          host_call; /* unanswered; 0: none */
	bool              has_host;
	char              path[LIM_PATH + 1];
	struct msg_amount host[ON_HOST];
	size_t            due;  /* answers that are waited for; one more while they are being asked for */
	size_t            busy; /* sessions that are asked just now */
	size_t            next; /* the first that was not asked yet */
	size_t            n;
	struct part       parts[];
};

static void finish(struct storage *);

static struct boxd *
boxd_of(const struct storage *s)
{
	return s->action->langbot->boxd;
}

/* Stop waiting for answers. */
static void
drop_calls(struct storage *s)
{
	struct boxd *h = boxd_of(s);

	ev_timer_stop(h->loop, &s->late);
	ask_drop(h, s->host_call);
	for (size_t i = 0; i < s->n; i++)
		ask_drop(h, s->parts[i].call);
	s->host_call = 0;
	for (size_t i = 0; i < s->n; i++)
		s->parts[i].call = 0;
}

void
storage_free(struct storage *s)
{
	if (s == NULL)
		return;
	drop_calls(s);
	free(s);
}

static void
came(struct storage *s)
{
	assert(s->due > 0);
	if (--s->due == 0)
		finish(s);
}

/* ---- the host ---------------------------------------------------------------------------- */

/* Whether the directory exists is not known; the result says that it was not counted. */
static void
host_failed(struct storage *s, const char *why)
{
	char ns[NAMESPACE_LEN + 1];

	tenancy_namespace(&s->action->context, ns);
	log_warn("workspace=%s storage analysis: its directory was not counted: %s", ns, why);
	s->has_host = true;
	snprintf(
	    s->path, sizeof(s->path), "%.3900s/tenants/%s", langbot_paths(s->action->langbot)->default_workspace, ns);
	for (int i = 0; i < ON_HOST; i++)
		s->host[i] = (struct msg_amount){ .errors = 1 };
}

static void
host_counted(struct storage *s, const struct msg_amounts *m)
{
	if (m->amounts.n != ON_HOST)
		return;
	s->has_host = true;
	snprintf(s->path, sizeof(s->path), "%s", m->path);
	memcpy(s->host, m->amounts.v, sizeof(s->host));
	if (s->host[0].cut)
		log_info("storage analysis: the count of %s was cut: it has more than %lu entries, took longer than "
			 "%lu ms, or is deeper than %d directories",
		    log_escape(s->path, strlen(s->path)), LIM_USAGE_ENTRIES, LIM_USAGE_MS, LIM_SCAN_DEPTH);
}

static void
on_host(void *arg, const struct msg *reply)
{
	struct storage *s = arg;

	s->host_call = 0;
	if (reply->failed && reply->error.code == E_ADMISSION) {
		action_fail(s->action, &reply->error);
		return;
	}
	if (reply->failed)
		host_failed(s, reply->error.text);
	else
		host_counted(s, reply->body);
	came(s);
}

/* Without a default workspace there is nothing to count. */
static void
ask_host(struct storage *s)
{
	char       ns[NAMESPACE_LEN + 1];
	struct err e;

	if (*langbot_paths(s->action->langbot)->default_workspace == '\0')
		return;
	tenancy_namespace(&s->action->context, ns);
	s->due++;
	s->host_call = store_ask(
	    boxd_of(s)->store, MSG_STORE_USAGE, &(struct msg_store_usage){ .ns = ns }, on_host, s, &e);
	if (s->host_call == 0) {
		host_failed(s, e.text);
		came(s);
	}
}

/* ---- its sessions ------------------------------------------------------------------------ */

static void ask_more(struct storage *);

static void
part_failed(struct part *p, const char *why)
{
	p->failed = true;
	log_info("session name=%s storage analysis: not counted: %s", p->name, why);
}

static void
part_counted(struct part *p, const struct msg_amounts *m)
{
	if (m->amounts.n != INSIDE) {
		part_failed(p, "box-files answered something else");
		return;
	}
	memcpy(p->amounts, m->amounts.v, sizeof(p->amounts));
	for (int i = 0; i < INSIDE; i++)
		if (p->amounts[i].cut)
			log_info("session name=%s storage analysis: the count was cut: more than %lu entries, %lu ms "
				 "or %d levels",
			    p->name, LIM_USAGE_ENTRIES, LIM_USAGE_MS, LIM_SCAN_DEPTH);
}

static void
on_part(void *arg, const struct msg *reply)
{
	struct part    *p = arg;
	struct storage *s = p->storage;

	p->call = 0;
	p->answered = true;
	if (reply->failed)
		part_failed(p, reply->error.text);
	else
		part_counted(p, reply->body);
	assert(s->busy > 0);
	s->busy--;
	ask_more(s);
	came(s);
}

static void
ask_part(struct part *p)
{
	struct storage       *s = p->storage;
	struct msg_file_usage usage = { .session = p->name };
	struct err            e;

	s->busy++;
	uint64_t call = ask(boxd_of(s), MSG_FILE_USAGE, &usage, on_part, p, &e);
	if (call != 0) {
		p->call = call;
		return;
	}
	p->answered = true;
	part_failed(p, e.text);
	s->busy--;
	assert(s->due > 1); /* ask_more's caller holds one */
	s->due--;
}

static void
ask_more(struct storage *s)
{
	while (s->next < s->n && s->busy < LIM_USAGE_BUSY)
		ask_part(&s->parts[s->next++]);
}

/* ---- the answer -------------------------------------------------------------------------- */

struct sums {
	struct msg_amount inside[INSIDE], managed;
	uint64_t          sessions, managed_sessions, errors, processes;
};

static void
sum(struct msg_amount *to, const struct msg_amount *a)
{
	to->exists |= a->exists;
	to->size_bytes += a->size_bytes;
	to->files += a->files;
}

static bool
is_whole(const struct part *p)
{
	for (int i = p->on_host; i < INSIDE; i++)
		if (p->amounts[i].cut || p->amounts[i].errors > 0)
			return false;
	return true;
}

/* A workspace on the host was counted there. */
static void
add_part(struct sums *t, const struct part *p)
{
	t->processes += p->processes;
	t->errors += p->failed || !is_whole(p);
	if (p->failed)
		return;
	t->sessions++;
	for (int i = p->on_host; i < INSIDE; i++)
		sum(&t->inside[i], &p->amounts[i]);
	if (!p->on_host && p->processes > 0) {
		t->managed_sessions++;
		sum(&t->managed, &p->amounts[0]);
	}
}

static void
put(struct msg_box_storage_result *r, const struct msg_box_directory *d)
{
	assert(r->directories.n < ON_HOST + INSIDE + 1); /* the room in finish() */
	r->directories.v[r->directories.n++] = *d;
	if (*d->parent_key == '\0')
		r->size_bytes += d->amount.size_bytes;
}

static void
put_host(struct msg_box_storage_result *r, const struct storage *s, char paths[ON_HOST][LIM_PATH + 16])
{
	static const struct {
		const char *key, *below;
	} rows[ON_HOST] = { { "workspace", "" }, { "mcp", "/.mcp" }, { "inbox", "/inbox" }, { "outbox", "/outbox" } };

	for (int i = 0; s->has_host && i < ON_HOST; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s%s", s->path, rows[i].below);
		put(r, &(struct msg_box_directory){
			   .key = rows[i].key,
			   .path = paths[i],
			   .parent_key = i > 0 ? rows[0].key : "",
			   .amount = s->host[i],
		       });
	}
}

static void
put_inside(struct msg_box_storage_result *r, const struct sums *t, char paths[INSIDE + 1][64])
{
	static const struct {
		const char *key, *path;
	} rows[INSIDE] = { { "session_workspaces", "/workspace" }, { "session_caches", "/root/.cache" },
		{ "session_temp", "/tmp" } };
	struct msg_box_directory d = { .path = paths[INSIDE], .inside = true, .parent_key = "" };

	for (int i = 0; i < INSIDE; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s (%lu sandbox sessions)", rows[i].path, t->sessions);
		d.key = rows[i].key;
		d.path = paths[i];
		d.amount = t->inside[i];
		d.amount.errors = t->errors;
		put(r, &d);
	}
	if (t->managed_sessions == 0)
		return;
	snprintf(
	    paths[INSIDE], sizeof(paths[INSIDE]), "/workspace (%lu managed-process sessions)", t->managed_sessions);
	d.key = "managed_process_workspaces";
	d.path = paths[INSIDE];
	d.parent_key = rows[0].key;
	d.amount = t->managed;
	d.amount.errors = t->errors;
	put(r, &d);
}

static void
finish(struct storage *s)
{
	struct msg_box_directory      v[ON_HOST + INSIDE + 1];
	char                          host_paths[ON_HOST][LIM_PATH + 16], inside_paths[INSIDE + 1][64];
	struct sums                   total = { 0 };
	struct msg_box_storage_result r = { .directories = { 0, v }, .active_sessions = s->n };

	drop_calls(s);
	for (size_t i = 0; i < s->n; i++)
		add_part(&total, &s->parts[i]);
	r.managed_processes = total.processes;
	put_host(&r, s, host_paths);
	if (s->n > 0)
		put_inside(&r, &total, inside_paths);
	action_reply(s->action, MSG_BOX_STORAGE_RESULT, &r); /* frees s */
}

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct storage *s = t->data;

	if (s->host_call != 0)
		host_failed(s, "box-store did not answer in time");
	for (size_t i = 0; i < s->n; i++)
		if (!s->parts[i].answered)
			part_failed(&s->parts[i], "box-files did not answer in time");
	finish(s);
}

/* ---- the question ------------------------------------------------------------------------ */

struct listing {
	struct storage *storage;
	size_t          room;
};

static bool
list_one(struct session *session, void *arg)
{
	struct listing *l = arg;
	struct storage *s = l->storage;

	if (s->n == l->room || session_is_closing(session))
		return true;
	struct part *p = &s->parts[s->n++];
	p->storage = s;
	snprintf(p->name, sizeof(p->name), "%s", session_name(session));
	p->on_host = *session_spec(session)->host_path != '\0';
	p->processes = session_info(session).processes + session_ended_processes(session);
	return true;
}

void
on_box_storage(struct action *a)
{
	struct boxd    *h = a->langbot->boxd;
	size_t          room = langbot_owned_sessions(a->langbot, &a->context);
	struct storage *s = calloc(1, sizeof(*s) + room * sizeof(s->parts[0]));
	struct err      e;
	char            text[LIM_NAME + 1];

	if (s == NULL) {
		err_set(&e, E_SYS, "no memory for a storage analysis");
		action_fail(a, &e);
		return;
	}
	s->action = a;
	a->storage = s;
	registry_each_of(h->registry, tenancy_group(&a->context, text), list_one, &(struct listing){ s, room });
	ev_timer_init(&s->late, on_late, LIM_USAGE_WAIT_SEC, 0.);
	s->late.data = s;
	ev_timer_start(h->loop, &s->late);
	s->due = s->n + 1; /* the one is ours, until all are asked */
	ask_host(s);
	ask_more(s);
	came(s);
}
