/* boxctl agent: what a host gets that lets agents run commands. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

/* ---- exec ---- */

/* The shell gets one line, as with ssh: words stand behind each other with blanks between them. */
static void
join(struct buf *line, const char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(line, "%s%s", i > 0 ? " " : "", words[i]);
	buf_append(line, "", 1);
}

static void
print_text(FILE *f, const struct blob *b)
{
	if (b->len == 0)
		return;
	fwrite(b->data, 1, b->len, f);
	putc('\n', f);
}

static int
exit_code(const struct msg_agent_result *r)
{
	if (r->status == AGENT_END_TIMED_OUT)
		return EXIT_TIMEOUT;
	return r->exit_code < 0 ? 128 - (int)r->exit_code : (int)r->exit_code;
}

static int
agent_run(const struct args *a, const struct msg_agent_exec *ask)
{
	struct client c;
	struct msg    reply;

	int code = cmd_ask(a, MSG_AGENT_EXEC, ask, &c, &reply);
	if (code != EXIT_OK)
		return EXIT_BOXD; /* another code would be taken for the command's */
	const struct msg_agent_result *r = reply.body;
	code = exit_code(r);
	if (a->json) {
		render_print_json(render_json(MSG_AGENT_RESULT, r));
	} else {
		print_text(stdout, &r->stdout);
		fflush(stdout);
		print_text(stderr, &r->stderr);
	}
	cmd_done(&c, &reply);
	return code;
}

static int
on_exec(const struct args *a)
{
	struct msg_agent_exec ask = a->agent;
	struct buf            line = { 0 };
	struct err            e;

	if ((*ask.command != '\0') == (a->n > 1)) {
		err_set(&e, E_INVALID, "give a command, or a command line with -c");
		return usage_error("agent", &e);
	}
	join(&line, a->v + 1, a->n - 1);
	if (line.failed) {
		complain("no memory");
		buf_clear(&line);
		return EXIT_BOXD;
	}
	if (a->n > 1)
		ask.command = line.data;
	ask.env = a->exec.env;
	int code = agent_run(a, &ask);
	buf_clear(&line);
	return code;
}

/* ---- looking ---- */

static int
on_status(const struct args *a)
{
	return cmd_show(a, MSG_AGENT_STATUS,
	    &(struct msg_agent_status){ .instance = a->agent.instance, .workspace = a->agent.workspace }, NULL);
}

static void
print_errors(const void *body)
{
	static const char *const           heads[] = { "TIME", "TYPE", "QUERY", "WORKSPACE", "MESSAGE", NULL };
	const struct msg_agent_error_list *l = body;
	struct table                      *t = table_open(heads);

	for (size_t i = 0; t != NULL && i < l->errors.n; i++) {
		const struct msg_agent_error *e = &l->errors.v[i];

		table_cell(t, PLAIN, "%s", e->timestamp);
		table_cell(t, PLAIN, "%s", e->type);
		table_cell(t, PLAIN, "%s", e->query_id);
		table_cell(t, PLAIN, "%s", e->workspace);
		table_cell(t, PLAIN, "%s", e->message);
	}
	if (t != NULL)
		table_print(t);
	table_close(&t);
}

static int
on_errors(const struct args *a)
{
	const struct msg_agent_errors ask = { a->agent.instance, a->agent.workspace, a->all_workspaces };

	return cmd_show(a, MSG_AGENT_ERRORS, &ask, print_errors);
}

static void
add_locked(struct table *t, const struct strs *locked)
{
	char   all[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < locked->n && n < sizeof(all); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i > 0 ? "," : "", locked->v[i]);
	table_cell(t, PLAIN, "%s", all);
}

static void
print_profiles(const void *body)
{
	static const char *const heads[] = { "PROFILE", "NETWORK", "HOST PATH", "TIMEOUT", "MOST", "CPUS", "MEM",
		"PIDS", "ROOT", "LOCKED", NULL };
	const struct msg_agent_profile_list *l = body;
	struct table                        *t = table_open(heads);

	for (size_t i = 0; t != NULL && i < l->profiles.n; i++) {
		const struct msg_agent_profile *p = &l->profiles.v[i];

		table_cell(t, strcmp(p->name, l->configured) == 0 ? GREEN : PLAIN, "%s", p->name);
		table_cell(t, PLAIN, "%s", msg_enum_name(MSG_AGENT_PROFILE, "network", (int)p->network));
		table_cell(t, PLAIN, "%s", msg_enum_name(MSG_AGENT_PROFILE, "host_path_mode", (int)p->host_path_mode));
		table_cell(t, PLAIN, "%s", text_duration(p->timeout_sec * 1000000));
		table_cell(t, PLAIN, "%s", text_duration(p->max_timeout_sec * 1000000));
		table_cell(t, PLAIN, "%s", text_double(p->cpus));
		table_cell(t, PLAIN, "%s", text_size(p->memory_mb * MIB));
		table_cell(t, PLAIN, "%lu", p->pids_limit);
		table_cell(t, PLAIN, "%s", p->read_only_rootfs ? "ro" : "rw");
		add_locked(t, &p->locked);
	}
	if (t != NULL)
		table_print(t);
	table_close(&t);
}

static int
on_profiles(const struct args *a)
{
	return cmd_show(a, MSG_AGENT_PROFILES, &(struct msg_agent_profiles){}, print_profiles);
}

/* ---- the actions ---- */

static const struct {
	const char *name;
	int (*run)(const struct args *);
	size_t most; /* words, itself included */
} actions[] = {
	{ "exec", on_exec, SIZE_MAX },
	{ "status", on_status, 1 },
	{ "errors", on_errors, 1 },
	{ "profiles", on_profiles, 1 },
};

int
cmd_agent(const struct args *a)
{
	struct err e;

	err_set(&e, E_INVALID, "there is no action '%s'", text_safe(a->v[0]));
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (strcmp(actions[i].name, a->v[0]) != 0)
			continue;
		if (a->n <= actions[i].most)
			return actions[i].run(a);
		err_set(&e, E_INVALID, "'%s' is one argument too many", text_safe(a->v[actions[i].most]));
	}
	return usage_error("agent", &e);
}
