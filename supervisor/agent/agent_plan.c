/*
 * In LangBot's order: workspace, quota, image, profile, the clamp, and then what the fields of a spec must be.
 * So boxd reports the same first error as LangBot, in the same words.
 */
#include "agent/agent_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "langbot/tenancy.h"
#include "python/lax.h"
#include "python/pystr.h"

enum { MEMORY_LEAST_MB = 32, WORKSPACE_MOST = LIM_PATH - 64 /* as config.def has it */ };

/* ---- which session ---- */

static struct msg_context
context_of(const char *instance, const char *workspace)
{
	return (struct msg_context){ .instance = instance, .workspace = workspace, .generation = 1 };
}

/* An agent's ids have no @, so no id can pass for another workspace's. */
void
agent_prefix(const char *instance, const char *workspace, char prefix[LIM_NAME + 1])
{
	struct msg_context c = context_of(instance, workspace);
	char               ns[NAMESPACE_LEN + 1];

	if (*instance == '\0' && *workspace == '\0') {
		snprintf(prefix, LIM_NAME + 1, "agent@");
		return;
	}
	tenancy_namespace(&c, ns);
	snprintf(prefix, LIM_NAME + 1, "agent@%s@", ns);
}

static int
expand(const struct config *c, const struct msg_agent_exec *x, struct buf *id, struct err *e)
{
	const struct template_values values = { x->query_id, x->launcher_type, x->launcher_id, x->sender_id,
		x->conversation_id };
	const char *template = c->agent_force_session_template;

	if (*template == '\0' && *x->session_id != '\0') {
		buf_append(id, x->session_id, strlen(x->session_id));
		return id->failed ? err_set(e, E_SYS, "no memory for a session's name") : 0;
	}
	if (*template == '\0')
		template = *x->template != '\0' ? x->template : c->agent_session_template;
	return template_expand(id, template, &values, e);
}

/* The rule for what is safe in an id is tenancy's; its prefix is for LangBot's own sessions. */
static int
name_session(struct agent_plan *p, const struct msg_agent_exec *x, const char *id, struct err *e)
{
	struct msg_context c = context_of(x->instance, x->workspace);
	char               physical[LIM_NAME + 1], prefix[LIM_NAME + 1];

	if (tenancy_physical(&c, id, physical, e) == -1)
		return -1;
	snprintf(p->session_id, sizeof(p->session_id), "%s", tenancy_logical(&c, physical));
	agent_prefix(x->instance, x->workspace, prefix);
	if (snprintf(p->session, sizeof(p->session), "%s%s", prefix, p->session_id) >= (int)sizeof(p->session))
		return err_set(e, E_VALUE, "Box session_id is too long");
	return 0;
}

static int
choose_session(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x, struct err *e)
{
	struct buf id = { 0 };
	int        r = expand(c, x, &id, e);

	buf_append(&id, "", 1);
	if (r == 0 && id.failed)
		r = err_set(e, E_SYS, "no memory for a session's name");
	if (r == 0)
		r = name_session(p, x, id.data, e);
	buf_clear(&id);
	return r;
}

/* ---- fields ---- */

static int
refuse(struct err *e, const char *text)
{
	return err_set(e, E_INVALID, "Value error, %s", text);
}

static void
strip(const char *text, char out[LIM_PATH + 1])
{
	size_t n = strlen(text);

	text = py_strip(text, &n);
	snprintf(out, LIM_PATH + 1, "%.*s", (int)n, text);
}

/* Given, and the profile lets it count? */
static bool
counts(const struct agent_plan *p, const char *field, bool given)
{
	return given && !profile_locks(p->profile, field);
}

static int
whole(const struct lax *given, const char *field, int64_t least, const char *low, uint64_t most, uint64_t *out,
    struct err *e)
{
	int64_t v;

	if (lax_int(given, &v, e) == -1)
		return -1;
	if (v < least)
		return err_set(e, E_INVALID, "Value error, %s must be %s", field, low);
	if ((uint64_t)v > most)
		return err_set(e, E_INVALID, "Value error, %s must be at most %lu", field, most);
	*out = (uint64_t)v;
	return 0;
}

/* The clamp comes before the check, which refuses what is not a number. */
static int
set_timeout(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	struct lax given = x->timeout_sec;
	int64_t    v;
	struct err ignored;

	p->timeout_sec = p->profile->timeout_sec;
	if (given.kind == LAX_NONE)
		return 0;
	if (lax_int(&given, &v, &ignored) == 0 && v > (int64_t)p->profile->max_timeout_sec)
		given = lax_number((int64_t)p->profile->max_timeout_sec);
	return whole(&given, "timeout_sec", 1, "greater than 0", LIM_TIMEOUT_MS / 1000, &p->timeout_sec, e);
}

/* "Input should be 'none', 'ro' or 'rw'" */
static int
choice(enum msg_type t, const char *field, const char *given, int *out, struct err *e)
{
	const struct field *f = msg_def(t)->fields;
	char                all[128] = "";
	size_t              n = 0;

	while (strcmp(f->name, field) != 0)
		f++;
	for (int i = 0; f->names[i] != NULL; i++) {
		const char *between = i == 0 ? "" : f->names[i + 1] == NULL ? " or " : ", ";

		if (strcmp(f->names[i], given) == 0) {
			*out = i;
			return 0;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s'%s'", between, f->names[i]);
	}
	return err_set(e, E_INVALID, "Input should be %s", all);
}

static int
set_workdir(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	strip(*x->workdir != '\0' ? x->workdir : DEFAULT_MOUNT_PATH, p->workdir);
	return *p->workdir == '/' ? 0 : refuse(e, "workdir must be an absolute path inside the sandbox");
}

static int
set_network(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	int v = p->profile->network;

	if (counts(p, "network", *x->network != '\0') && choice(MSG_SPEC, "network", x->network, &v, e) == -1)
		return -1;
	p->spec.network = (enum network)v;
	p->spec.network_set = p->spec.network == NETWORK_ON ? p->profile->name : "";
	return 0;
}

static int
set_image(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x)
{
	p->spec.image = *x->image != '\0' ? x->image : *c->agent_image != '\0' ? c->agent_image : p->profile->image;
	return 0;
}

/* The caller's alone: it contains nothing of another tenant's. */
static void
default_host_path(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x)
{
	struct msg_context context = context_of(x->instance, x->workspace);
	char               ns[NAMESPACE_LEN + 1];

	p->host_path[0] = '\0';
	if (*c->agent_default_workspace == '\0')
		return;
	if (*x->instance == '\0' && *x->workspace == '\0') {
		snprintf(
		    p->host_path, sizeof(p->host_path), "%.*s/default", WORKSPACE_MOST, c->agent_default_workspace);
		return;
	}
	tenancy_namespace(&context, ns);
	snprintf(p->host_path, sizeof(p->host_path), "%.*s/tenants/%s", WORKSPACE_MOST, c->agent_default_workspace, ns);
}

static int
set_host_path(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x, struct err *e)
{
	if (*x->host_path == '\0')
		default_host_path(p, c, x);
	else
		strip(x->host_path, p->host_path);
	if (*x->host_path != '\0' && *p->host_path != '/')
		return refuse(e, "host_path must be an absolute host path");
	p->spec.host_path = p->host_path;
	return 0;
}

static int
set_host_path_mode(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	int v = p->profile->host_path_mode;

	if (counts(p, "host_path_mode", *x->host_path_mode != '\0') &&
	    choice(MSG_SPEC, "host_path_mode", x->host_path_mode, &v, e) == -1)
		return -1;
	p->spec.host_path_mode = (enum mount_mode)v;
	return 0;
}

static int
set_cpus(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	p->spec.cpus = p->profile->cpus;
	if (x->cpus.kind == LAX_NONE)
		return 0;
	if (lax_float(&x->cpus, &p->spec.cpus, e) == -1)
		return -1;
	if (isnan(p->spec.cpus) || p->spec.cpus <= 0)
		return refuse(e, "cpus must be greater than 0");
	if (p->spec.cpus > LIM_CPUS)
		return err_set(e, E_INVALID, "Value error, cpus must be at most %d", LIM_CPUS);
	return 0;
}

static int
set_memory(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	p->spec.memory_mb = p->profile->memory_mb;
	if (x->memory_mb.kind == LAX_NONE)
		return 0;
	return whole(&x->memory_mb, "memory_mb", MEMORY_LEAST_MB, "at least 32", LIM_MEMORY_MB, &p->spec.memory_mb, e);
}

static int
set_pids(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	p->spec.pids_limit = p->profile->pids_limit;
	if (x->pids_limit.kind == LAX_NONE)
		return 0;
	return whole(&x->pids_limit, "pids_limit", 1, "at least 1", LIM_PIDS, &p->spec.pids_limit, e);
}

static int
set_read_only_rootfs(struct agent_plan *p, const struct msg_agent_exec *x, struct err *e)
{
	p->spec.read_only_rootfs = p->profile->read_only_rootfs;
	if (!counts(p, "read_only_rootfs", x->read_only_rootfs.kind != LAX_NONE))
		return 0;
	return lax_bool(&x->read_only_rootfs, &p->spec.read_only_rootfs, e);
}

static int
set_quota(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x, struct err *e)
{
	p->spec.workspace_quota_mb = p->profile->workspace_quota_mb;
	if (lax_is_blank(&x->workspace_quota_mb)) {
		if (c->agent_workspace_quota_mb > 0)
			p->spec.workspace_quota_mb = c->agent_workspace_quota_mb;
		return 0;
	}
	return whole(&x->workspace_quota_mb, "workspace_quota_mb", 0, "greater than or equal to 0", LIM_DISK_MB,
	    &p->spec.workspace_quota_mb, e);
}

/* ---- the whole ---- */

/* In the order of the fields of LangBot's spec: of several wrong ones the first is reported. */
static int
set_fields(struct agent_plan *p, const struct config *c, const struct msg_agent_exec *x, struct err *e)
{
	if (set_workdir(p, x, e) == -1 || set_timeout(p, x, e) == -1 || set_network(p, x, e) == -1)
		return -1;
	if (set_image(p, c, x) == -1 || set_host_path(p, c, x, e) == -1 || set_host_path_mode(p, x, e) == -1)
		return -1;
	if (set_cpus(p, x, e) == -1 || set_memory(p, x, e) == -1 || set_pids(p, x, e) == -1)
		return -1;
	return set_read_only_rootfs(p, x, e) == -1 ? -1 : set_quota(p, c, x, e);
}

static bool
is_mounted(const struct agent_plan *p)
{
	return *p->host_path != '\0' && p->spec.host_path_mode != MOUNT_NONE;
}

static int
check_workdir(const struct agent_plan *p, struct err *e)
{
	size_t n = strlen(DEFAULT_MOUNT_PATH);
	bool below = strncmp(p->workdir, DEFAULT_MOUNT_PATH, n) == 0 && (p->workdir[n] == '\0' || p->workdir[n] == '/');

	return below || !is_mounted(p) ? 0 : refuse(e, "workdir must stay under mount_path when host_path is provided");
}

/*
 * The session's worker checks whether it is below a root, by what it has opened: text does not show where a symlink
 * leads.
 */
static int
bound_host_path(struct agent_plan *p, const struct agent_rules *rules, const struct msg_agent_exec *x, struct err *e)
{
	if (*x->host_path == '\0' || !is_mounted(p))
		return 0;
	if (rules->roots.n == 0)
		return err_set(
		    e, E_INVALID, "host_path mounting is disabled because no allowed_mount_roots are configured");
	p->spec.roots = rules->roots;
	return 0;
}

int
agent_plan(struct agent_plan *p, const struct agent_rules *rules, const struct msg_agent_exec *x, struct err *e)
{
	const struct config *c = rules->config;
	enum profile         which = c->agent_profile;

	if (*x->profile != '\0' && profile_find(c->agent_profiles, x->profile, &which, e) == -1)
		return -1;
	p->profile = profile_get(c->agent_profiles, which);
	msg_defaults(MSG_SPEC, &p->spec);
	if (set_fields(p, c, x, e) == -1 || check_workdir(p, e) == -1 || bound_host_path(p, rules, x, e) == -1)
		return -1;
	if (choose_session(p, c, x, e) == -1)
		return -1;
	return py_is_blank(x->command, strlen(x->command)) ? err_set(e, E_INVALID, "cmd must not be empty") : 0;
}
