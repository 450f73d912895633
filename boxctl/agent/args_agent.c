/*
 * Options of boxctl agent: each is a field of agent_exec, passed on as it was written.  What it means, and what is
 * wrong with it, is for boxd to say, as it would to any other client.
 */
#include "args.h"
#include "python/lax.h"
#include "text.h"

#define TEXT(name)                                                          \
	static int set_##name(struct args *a, const char *v, struct err *e) \
	{                                                                   \
		(void)e;                                                    \
		a->agent.name = v;                                          \
		return 0;                                                   \
	}

#define LAX(name)                                                           \
	static int set_##name(struct args *a, const char *v, struct err *e) \
	{                                                                   \
		(void)e;                                                    \
		a->agent.name = lax_text(v);                                \
		return 0;                                                   \
	}

TEXT(command)
TEXT(workdir)
TEXT(profile)
TEXT(instance)
TEXT(workspace)
TEXT(session_id)
TEXT(template)
TEXT(query_id)
TEXT(launcher_type)
TEXT(launcher_id)
TEXT(sender_id)
TEXT(conversation_id)
TEXT(image)
TEXT(network)
TEXT(host_path)
TEXT(host_path_mode)
LAX(timeout_sec)
LAX(cpus)
LAX(memory_mb)
LAX(pids_limit)
LAX(read_only_rootfs)
LAX(workspace_quota_mb)

static int
set_limit(struct args *a, const char *v, struct err *e)
{
	const struct lax given = lax_text(v);
	int64_t          n;

	if (lax_int(&given, &n, e) == -1 || n < 0 || n > (int64_t)MIB)
		return err_set(e, E_INVALID, "'%s' is not a number of characters up to %lu", text_safe(v), MIB);
	a->agent.limit = (uint64_t)n;
	return 0;
}

static int
set_all(struct args *a, const char *v, struct err *e)
{
	a->all_workspaces = true;
	return 0;
}

const struct opt agent_options[] = {
	{ 'c', "command", "STRING", "exec: run STRING instead of CMD", set_command },
	{ 'e', "env", "NAME[=VALUE]", "exec: set a variable; without a value, pass our own", args_set_env },
	{ 'w', "workdir", "DIR", "exec: directory to run in (default /workspace)", set_workdir },
	{ 't', "timeout", "SECONDS", "exec: at most what the profile has", set_timeout_sec },
	{ 0, "profile", "NAME", "exec: see boxctl agent profiles", set_profile },
	{ 0, "session-id", "ID", "exec: session id; else the template gives one", set_session_id },
	{ 0, "template", "TEMPLATE", "exec: such as {launcher_type}_{launcher_id}", set_template },
	{ 0, "query-id", "ID", "exec: for the template, as the next ones", set_query_id },
	{ 0, "launcher-type", "TYPE", "exec: person, group", set_launcher_type },
	{ 0, "launcher-id", "ID", "exec", set_launcher_id },
	{ 0, "sender-id", "ID", "exec", set_sender_id },
	{ 0, "conversation-id", "ID", "exec", set_conversation_id },
	{ 0, "image", "NAME", "exec: image of the session", set_image },
	{ 0, "network", "off|on", "exec", set_network },
	{ 0, "host-path", "DIR", "exec: work in this directory of the host", set_host_path },
	{ 0, "host-path-mode", "none|ro|rw", "exec", set_host_path_mode },
	{ 0, "cpus", "N", "exec: cpu limit in cores", set_cpus },
	{ 0, "memory", "MB", "exec: memory limit in MiB", set_memory_mb },
	{ 0, "pids", "N", "exec: most processes and threads", set_pids_limit },
	{ 0, "read-only-rootfs", "yes|no", "exec", set_read_only_rootfs },
	{ 0, "workspace-quota", "MB", "exec: most MiB in the directory of the host", set_workspace_quota_mb },
	{ 0, "limit", "N", "exec: characters of each stream (4000)", set_limit },
	{ 0, "instance", "ID", "whose workspace, for a host that has several", set_instance },
	{ 0, "workspace", "ID", "", set_workspace },
	{ 0, "all", NULL, "errors: of all workspaces", set_all },
	{ 0, NULL, NULL, NULL, NULL },
};
