/* LangBot's spec in boxd's words: which fields are compared, how a difference is reported, which host paths are LangBot's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "config/mountrules.h"
#include "core/policy.h"
#include "auth/auth.h"
#include "langbot/langbot_impl.h"
#include "langbot/tenantroots.h"
#include "python/pynum.h"

void
spec_from_box(struct msg_spec *s, const struct msg_box_spec *b)
{
	msg_defaults(MSG_SPEC, s);
	s->network = b->network;
	s->image = b->image;
	s->host_path = b->host_path;
	s->host_path_mode = b->host_path_mode;
	s->mount_path = b->mount_path;
	s->persistent = b->persistent;
	s->cpus = b->cpus;
	s->memory_mb = b->memory_mb;
	s->pids_limit = b->pids_limit;
	s->read_only_rootfs = b->read_only_rootfs;
	s->workspace_quota_mb = b->workspace_quota_mb;
	s->extra_mounts.n = b->extra_mounts.n;
	s->extra_mounts.v = b->extra_mounts.v;
}

void
spec_adopt(struct msg_spec *s, const struct msg_spec *have)
{
	s->workspace_mb = have->workspace_mb;
	s->idle_sec = have->idle_sec;
	s->require = have->require;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* As Python prints it. */
static void
value_text(const struct field *f, const void *at, char *out, size_t size)
{
	struct buf text = { 0 };

	if (f->kind == K_F64) {
		py_float(&text, *(const double *)at);
		snprintf(out, size, "%.*s", (int)text.len, text.failed ? "" : text.data);
		buf_clear(&text);
	} else if (f->kind == K_BOOL)
		snprintf(out, size, "%s", *(const bool *)at ? "True" : "False");
	else if (strcmp(f->name, "host_path") == 0 && **(const char *const *)at == '\0')
		snprintf(out, size, "None");
	else
		policy_value_text(f, at, out, size);
}

/* The rest of the table is not LangBot's. */
static bool
is_compared(const struct field *f)
{
	static const char *const ours[] = { "workspace_mb", "idle_sec", "require", "extra_mounts", "roots" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(f->name, ours[i]) == 0)
			return false;
	return true;
}

int
spec_compare(const char *logical, const struct msg_spec *have, const struct msg_spec *want, struct err *e)
{
	char text[LIM_PATH + 1];

	for (const struct field *f = msg_def(MSG_SPEC)->fields; f->name != NULL; f++) {
		if (field_equal(f, have, want) || !is_compared(f))
			continue;
		value_text(f, (const char *)have + f->offset, text, sizeof(text));
		return err_set(e, E_CONFLICT, "Box session %s already exists with %s=%.600s", logical, f->name, text);
	}
	return 0;
}

/* ---- roots ------------------------------------------------------------------------------------- */

/*
 * Relative roots are relative to LangBot's working directory.  Unless langbot_dir names it we cannot tell what they
 * mean; the rules for every session hold all the same.
 */
static bool
roots_in_force(const struct langbot *l)
{
	const struct msg_box_local *local = &l->init.local;

	if (!l->init.has_local)
		return false;
	if (*l->boxd->config->langbot_dir != '\0')
		return true;
	if (*local->host_root != '\0' && *local->host_root != '/')
		return false;
	for (size_t i = 0; i < local->allowed_mount_roots.n; i++)
		if (*local->allowed_mount_roots.v[i] != '/')
			return false;
	return local->allowed_mount_roots.n > 0;
}

static bool
is_below(const char *path, const char *root)
{
	return *root != '\0' && path_within(path, root);
}

static bool
is_allowed(const struct msg_store_ready *p, const char *path)
{
	char normal[LIM_PATH + 1];

	if (!path_normal(path, normal))
		return false;
	for (size_t i = 0; i < p->allowed_mount_roots.n; i++)
		if (is_below(normal, p->allowed_mount_roots.v[i]))
			return true;
	return is_below(normal, p->host_root) || is_below(normal, p->default_workspace) ||
	       is_below(normal, p->skills_root);
}

/* The topmost of LangBot's directories that contains this path and that mounts.allow can open; NULL: none. */
static const char *
own_directory(const struct langbot *l, const char *path)
{
	const struct strs *roots = &l->paths.allowed_mount_roots;
	const char        *own[] = { l->paths.host_root, l->paths.default_workspace, l->paths.skills_root };
	const char        *found = NULL;

	for (size_t i = 0; i < roots->n + sizeof(own) / sizeof(*own); i++) {
		const char *dir = i < roots->n ? roots->v[i] : own[i - roots->n];

		if (is_below(path, dir) && mountrules_opens(l->boxd->mountrules, dir) &&
		    (found == NULL || strlen(dir) < strlen(found)))
			found = dir;
	}
	return found;
}

/* LangBot is often installed in root's home: the line that opens its directory there. */
static void
say_opening(const struct langbot *l, const char *path, char *out, size_t size)
{
	const struct mountrules *rules = l->boxd->mountrules;
	const char              *allow = l->boxd->config->mounts_allow, *dir = own_directory(l, path);
	const char              *tenants = strstr(path, "/tenants/");
	char                     above[LIM_PATH + 1];

	*out = '\0';
	if (!mountrules_block(rules, path) || !mountrules_opens(rules, path))
		return;
	snprintf(above, sizeof(above), "%.*s", tenants != NULL ? (int)(tenants - path) : LIM_PATH, path);
	if (dir == NULL)
		dir = mountrules_opens(rules, above) ? above : path;
	snprintf(out, size, "; the operator can open it with mounts.allow = %.300s%s%.500s in boxd.conf", allow,
	    *allow != '\0' ? ", " : "", dir);
}

int
spec_refuse_blocked(const struct langbot *l, const char *field, const char *path, struct err *e)
{
	char open[LIM_PATH];

	say_opening(l, path, open, sizeof(open));
	return err_set(e, E_INVALID, "%s %.900s is blocked for security%s", field, path, open);
}

static int
check_root(const struct langbot *l, const char *field, const char *path, struct err *e)
{
	const struct strs *roots = &l->paths.allowed_mount_roots;
	char               list[700] = "";
	size_t             n = 0;

	if (is_allowed(&l->paths, path))
		return 0;
	if (mountrules_block(l->boxd->mountrules, path)) /* the reason that no root can remove */
		return spec_refuse_blocked(
		    l, strcmp(field, "host_path") == 0 ? field : "extra_mounts.host_path", path, e);
	if (roots->n == 0)
		return err_set(
		    e, E_INVALID, "%s mounting is disabled because no allowed_mount_roots are configured", field);
	for (size_t i = 0; i < roots->n && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i > 0 ? ", " : "", roots->v[i]);
	return err_set(e, E_INVALID, "%s is outside allowed_mount_roots: %s", field, list);
}

/* Paths that are not to be mounted are checked as well, as upstream does; no worker sees them. */
static int
check_unmounted(const struct langbot *l, const struct msg_spec *s, struct err *e)
{
	const struct mountrules *rules = l->boxd->mountrules;

	if (*s->host_path != '\0' && s->host_path_mode == MOUNT_NONE && mountrules_block(rules, s->host_path))
		return spec_refuse_blocked(l, "host_path", s->host_path, e);
	for (size_t i = 0; i < s->extra_mounts.n; i++)
		if (s->extra_mounts.v[i].mode == MOUNT_NONE && mountrules_block(rules, s->extra_mounts.v[i].host_path))
			return spec_refuse_blocked(l, "extra_mounts.host_path", s->extra_mounts.v[i].host_path, e);
	return 0;
}

int
spec_check_roots(const struct langbot *l, const struct msg_spec *s, struct err *e)
{
	char field[64];

	if (check_unmounted(l, s, e) == -1)
		return -1;
	if (!roots_in_force(l))
		return 0;
	if (*s->host_path != '\0' && s->host_path_mode != MOUNT_NONE &&
	    check_root(l, "host_path", s->host_path, e) == -1)
		return -1;
	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		snprintf(field, sizeof(field), "extra_mounts.%zu.host_path", i);
		if (s->extra_mounts.v[i].mode != MOUNT_NONE &&
		    check_root(l, field, s->extra_mounts.v[i].host_path, e) == -1)
			return -1;
	}
	return 0;
}

/* Is it "tenants/<namespace of the session>", or below that? */
static bool
is_own_part(const char *below, const char *session)
{
	char own[sizeof("tenants/") + NAMESPACE_LEN];

	snprintf(own, sizeof(own), "tenants/%.*s", NAMESPACE_LEN, session);
	return path_within(below, own);
}

/* Where LangBot's own directory is not known: does the path end as LangBot names the workspace of this session? */
static bool
is_named_for(const char *path, const char *session, char normal[LIM_PATH + 1])
{
	size_t tail = strlen("tenants/") + NAMESPACE_LEN, n;

	if (!path_normal(path, normal) || (n = strlen(normal)) <= tail)
		return false;
	return normal[n - tail - 1] == '/' && is_own_part(normal + n - tail, session);
}

void
spec_observe_workspace(const struct langbot *l, const struct msg_spec *s, const char *session)
{
	char normal[LIM_PATH + 1];

	if (roots_in_force(l) || s->host_path_mode == MOUNT_NONE || !is_named_for(s->host_path, session, normal))
		return;
	normal[strlen(normal) - strlen("/tenants/") - NAMESPACE_LEN] = '\0';
	tenantroots_observe(l->boxd->tenantroots, normal);
}

/* Only what belongs to the session's workspace; a client without one may make everything but other workspaces. */
static bool
may_make(const struct langbot *l, const char *below, const char *session)
{
	struct msg_context c;

	auth_legacy_context(&c);
	if (l->boxd->config->legacy_clients && tenancy_owns(&c, session))
		return !path_within(below, "tenants") || is_own_part(below, session);
	return is_own_part(below, session);
}

const char *
spec_below_workspace(const struct langbot *l, const struct msg_spec *s, const char *session, char normal[LIM_PATH + 1])
{
	const char *root = l->paths.default_workspace, *below;

	if (*root == '\0' || *s->host_path == '\0' || s->host_path_mode == MOUNT_NONE)
		return NULL;
	if (!path_normal(s->host_path, normal) || !path_within(normal, root) || strcmp(normal, root) == 0)
		return NULL;
	below = normal + strlen(root) + (root[1] != '\0'); /* a root of "/" has its slash already */
	return may_make(l, below, session) ? below : NULL;
}

/* ---- what goes to the worker of a session of LangBot's ------------------------------------------------ */

static void
add_rule(struct msg_worker_start *w, enum mount_rule rule, const char *path)
{
	if (*path != '\0' && w->rules.n < LIM_ALL_RULES)
		w->rules.v[w->rules.n++] = (struct msg_path_rule){ .rule = rule, .path = path };
}

void
langbot_add_rules(const struct langbot *l, const char *name, struct msg_worker_start *w)
{
	char normal[LIM_PATH + 1];

	if (!tenancy_is_ours(name))
		return;
	if (!roots_in_force(l)) {
		if (is_named_for(w->spec.host_path, name, normal))
			add_rule(w, RULE_MAKE, w->spec.host_path);
		return;
	}
	for (size_t i = 0; i < l->paths.allowed_mount_roots.n; i++)
		add_rule(w, RULE_ROOT, l->paths.allowed_mount_roots.v[i]);
	add_rule(w, RULE_ROOT, l->paths.host_root);
	add_rule(w, RULE_ROOT, l->paths.default_workspace);
	add_rule(w, RULE_ROOT, l->paths.skills_root);
}

void
langbot_retention(const struct langbot *l, const char *name, uint64_t *sec, uint64_t *count)
{
	const struct msg_box_limits *limits = &l->init.limits;

	if (!tenancy_is_ours(name) || !l->init.has_limits)
		return;
	*sec = limits->completed_process_retention_sec;
	*count = limits->max_completed_processes < LIM_PROCESSES ? limits->max_completed_processes : LIM_PROCESSES;
}
