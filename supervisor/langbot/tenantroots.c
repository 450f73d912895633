#include "langbot/tenantroots.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "core/dirs.h"
#include "core/journal.h"
#include "auth/auth.h"
#include "langbot/langbot.h"
#include "langbot/readiness_trial.h"
#include "langbot/tenancy.h"

#define AGENT "agent@"

struct tenantroots {
	struct boxd    *boxd;
	struct journal *journal;             /* owned */
	char           *v[LIM_TENANT_ROOTS]; /* owned, and each */
	size_t          n;
	char            own[LIM_TENANT_ROOTS][LIM_PATH + 1]; /* lent to the rules that were added last */
	char            agents_default[LIM_PATH + 1]; /* workspace of agents that name none; "": not configured */
};

/* ---- the list ---- */

static bool
is_known(const struct tenantroots *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i], path) == 0)
			return true;
	return false;
}

static int
remember(struct tenantroots *t, const char *path, struct err *e)
{
	if (t->n == LIM_TENANT_ROOTS)
		return err_set(e, E_CAPACITY,
		    "%s: %d directories with workspaces are known, and there is room for no more", path,
		    LIM_TENANT_ROOTS);
	if ((t->v[t->n] = strdup(path)) == NULL)
		return err_set(e, E_SYS, "no memory for a directory with workspaces");
	t->n++;
	return 0;
}

/* Directories that are gone from the disk are forgotten. */
static int
on_record(void *arg, const struct msg *m, struct err *e)
{
	struct tenantroots *t = arg;
	const char         *path = ((const struct msg_tenant_root *)m->body)->path;
	struct stat         st;

	if (m->type != MSG_TENANT_ROOT)
		return err_set(e, E_PROTO, "%s does not belong there", msg_name(m->type));
	if (is_known(t, path) || (lstat(path, &st) == -1 && errno == ENOENT))
		return 0;
	return remember(t, path, e);
}

static int
write_all(void *arg, struct journal *j, struct err *e)
{
	const struct tenantroots *t = arg;

	for (size_t i = 0; i < t->n; i++)
		if (journal_append(j, MSG_TENANT_ROOT, &(struct msg_tenant_root){ .path = t->v[i] }, e) == -1)
			return -1;
	return 0;
}

static int
add(struct tenantroots *t, const char *path, struct err *e)
{
	if (is_known(t, path))
		return 0;
	if (remember(t, path, e) == -1)
		return -1;
	return journal_append(t->journal, MSG_TENANT_ROOT, &(struct msg_tenant_root){ .path = path }, e);
}

void
tenantroots_learn(struct tenantroots *t, const char *directory)
{
	char       path[LIM_PATH + 1];
	struct err e = { 0 };

	if (*directory == '\0')
		return;
	if (snprintf(path, sizeof(path), "%s/tenants", strcmp(directory, "/") == 0 ? "" : directory) > (int)LIM_PATH)
		log_error("the path of the workspaces in %s is too long", directory);
	else if (add(t, path, &e) == -1)
		log_error("workspaces in %s: %s", path, e.text);
}

void
tenantroots_observe(struct tenantroots *t, const char *directory)
{
	if (t->n >= LIM_TENANT_ROOTS / 2)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (path_within(directory, t->v[i]))
			return;
	tenantroots_learn(t, directory);
}

/* ---- rules ---- */

static void
rule(struct msg_worker_start *w, enum mount_rule kind, const char *path)
{
	if (w->rules.n < LIM_ALL_RULES) /* which is room for all of them */
		w->rules.v[w->rules.n++] = (struct msg_path_rule){ .rule = kind, .path = path };
}

static bool
is_agent(const char *session)
{
	return strncmp(session, AGENT, strlen(AGENT)) == 0;
}

/* The workspace in a session's name; false: the name has none. */
static bool
workspace_of(const char *session, char ns[NAMESPACE_LEN + 1])
{
	if (is_agent(session)) {
		session += strlen(AGENT);
		if (strncmp(session, "ws-", 3) != 0 || strcspn(session, "@") != NAMESPACE_LEN ||
		    session[NAMESPACE_LEN] != '@')
			return false;
	} else if (!tenancy_is_ours(session))
		return false;
	snprintf(ns, NAMESPACE_LEN + 1, "%s", session);
	return true;
}

static bool
is_legacy(const struct boxd *h, const char *ns)
{
	struct msg_context c;
	char               legacy[NAMESPACE_LEN + 1];

	auth_legacy_context(&c);
	tenancy_namespace(&c, legacy);
	return h->config->legacy_clients && strcmp(ns, legacy) == 0;
}

/* Clients that predate workspaces work in the directory that now holds the workspaces. */
static bool
is_langbots(const struct boxd *h, const char *root)
{
	const struct msg_store_ready *p = langbot_paths(h->langbot);
	const char                   *both[] = { p->default_workspace, p->skills_root };

	for (size_t i = 0; i < 2; i++)
		if (*both[i] != '\0' && path_within(root, both[i]) && strcmp(root + strlen(both[i]), "/tenants") == 0)
			return true;
	return false;
}

/* entry: its directory among them */
static void
own_rules(struct tenantroots *t, const char *entry, struct msg_worker_start *w)
{
	for (size_t i = 0; i < t->n; i++)
		if (snprintf(t->own[i], sizeof(t->own[i]), "%s/%s", t->v[i], entry) <= (int)LIM_PATH)
			rule(w, RULE_MINE, t->own[i]);
}

/* For a session without a workspace in its name.  A trial for readiness works in a directory of its own name. */
static void
nameless_rules(struct tenantroots *t, const char *session, struct msg_worker_start *w)
{
	if (strncmp(session, TRIAL_PREFIX, strlen(TRIAL_PREFIX)) == 0)
		own_rules(t, session, w);
	else if (is_agent(session) && *t->agents_default != '\0')
		rule(w, RULE_MINE, t->agents_default);
}

void
tenantroots_add_rules(struct tenantroots *t, const char *session, struct msg_worker_start *w)
{
	char            ns[NAMESPACE_LEN + 1] = "";
	bool            of_workspace = workspace_of(session, ns);
	bool            legacy = of_workspace && !is_agent(session) && is_legacy(t->boxd, ns);
	enum mount_rule usual = of_workspace || is_agent(session) ? RULE_TENANTS : RULE_WORKSPACES;

	for (size_t i = 0; i < t->n; i++)
		rule(w, legacy && is_langbots(t->boxd, t->v[i]) ? RULE_BESIDE : usual, t->v[i]);
	if (*t->agents_default != '\0')
		rule(w, usual, t->agents_default);
	if (of_workspace)
		own_rules(t, ns, w);
	else
		nameless_rules(t, session, w);
}

/* ---- open and close ---- */

static int
add_agents(struct tenantroots *t, struct err *e)
{
	const char *given = t->boxd->config->agent_default_workspace;
	char       *real = *given == '\0' ? NULL : realpath(given, NULL), path[LIM_PATH + 1];
	const char *root = real != NULL ? real : given;
	int         r = 0;

	if (*given != '\0' &&
	    (snprintf(t->agents_default, sizeof(t->agents_default), "%s/default", root) > (int)LIM_PATH ||
		snprintf(path, sizeof(path), "%s/tenants", root) > (int)LIM_PATH))
		r = err_set(e, E_INVALID, "agent.default_workspace: %s is too long", root);
	if (r == 0 && *given != '\0')
		r = add(t, path, e);
	free(real);
	return r;
}

struct tenantroots *
tenantroots_open(struct boxd *h, struct err *e)
{
	struct tenantroots *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	t->boxd = h;
	t->journal = journal_open(h->dirs->state, "tenant-roots", on_record, t, e);
	if (t->journal == NULL || journal_compact(t->journal, write_all, t, e) == -1 || add_agents(t, e) == -1)
		tenantroots_close(&t);
	return t;
}

void
tenantroots_close(struct tenantroots **tp)
{
	struct tenantroots *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	journal_close(&t->journal);
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t);
}
