/*
 * Options of boxctl agent: each is a field of agent_exec, passed on as it was written.  What it means, and what is
 * wrong with it, is for boxd to say, as it would to any other client.
 */
#include "args.h"
#include "python/lax.h"
#include "text.h"

static int
set_lax(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	*(struct lax *)opt_target(a, o) = lax_text(v);
	return 0;
}

static int
set_limit(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	const struct lax given = lax_text(v);
	int64_t          n;

	if (lax_int(&given, &n, e) == -1 || n < 0 || n > (int64_t)MIB)
		return err_set(e, E_INVALID, "'%s' is not a number of characters up to %lu", text_safe(v), MIB);
	a->agent.limit = (uint64_t)n;
	return 0;
}

const struct opt agent_options[] = {
	{ 'c', "command", "STRING", "exec: run STRING instead of CMD", TEXT(agent.command) },
	{ 'e', "env", "NAME[=VALUE]", "exec: set a variable; without a value, pass our own", BY(args_set_env) },
	{ 'w', "workdir", "DIR", "exec: directory to run in (default /workspace)", TEXT(agent.workdir) },
	{ 't', "timeout", "SECONDS", "exec: at most what the profile has", AT(set_lax, agent.timeout_sec) },
	{ 0, "profile", "NAME", "exec: see boxctl agent profiles", TEXT(agent.profile) },
	{ 0, "session-id", "ID", "exec: session id; else the template gives one", TEXT(agent.session_id) },
	{ 0, "template", "TEMPLATE", "exec: such as {launcher_type}_{launcher_id}", TEXT(agent.template) },
	{ 0, "query-id", "ID", "exec: for the template, as the next ones", TEXT(agent.query_id) },
	{ 0, "launcher-type", "TYPE", "exec: person, group", TEXT(agent.launcher_type) },
	{ 0, "launcher-id", "ID", "exec", TEXT(agent.launcher_id) },
	{ 0, "sender-id", "ID", "exec", TEXT(agent.sender_id) },
	{ 0, "conversation-id", "ID", "exec", TEXT(agent.conversation_id) },
	{ 0, "image", "NAME", "exec: image of the session", TEXT(agent.image) },
	{ 0, "network", "off|on", "exec", TEXT(agent.network) },
	{ 0, "host-path", "DIR", "exec: work in this directory of the host", TEXT(agent.host_path) },
	{ 0, "host-path-mode", "none|ro|rw", "exec", TEXT(agent.host_path_mode) },
	{ 0, "cpus", "N", "exec: cpu limit in cores", AT(set_lax, agent.cpus) },
	{ 0, "memory", "MB", "exec: memory limit in MiB", AT(set_lax, agent.memory_mb) },
	{ 0, "pids", "N", "exec: most processes and threads", AT(set_lax, agent.pids_limit) },
	{ 0, "read-only-rootfs", "yes|no", "exec", AT(set_lax, agent.read_only_rootfs) },
	{ 0, "workspace-quota", "MB", "exec: most MiB in the directory of the host",
	    AT(set_lax, agent.workspace_quota_mb) },
	{ 0, "limit", "N", "exec: characters of each stream (4000)", BY(set_limit) },
	{ 0, "instance", "ID", "whose workspace, for a host that has several", TEXT(agent.instance) },
	{ 0, "workspace", "ID", "", TEXT(agent.workspace) },
	{ 0, "all", NULL, "errors: of all workspaces", FLAG(all_workspaces) },
	{ .name = NULL },
};
