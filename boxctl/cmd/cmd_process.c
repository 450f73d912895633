/* boxctl process: one table of actions, each on a session and mostly on one process of it. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "cmd/relay.h"
#include "render.h"
#include "text.h"

/* ---- showing ---- */

static enum colour
state_colour(enum process_state s)
{
	return s == PROCESS_RUNNING ? GREEN : s == PROCESS_FAILED ? RED : s == PROCESS_EXITED ? PLAIN : YELLOW;
}

enum { END_TEXT = 64 };

/* "exit 3", "signal 9 (memory)"; nothing while it has never ended. */
static const char *
end_of(const struct msg_process_info *p, char text[END_TEXT])
{
	const char *cause = msg_enum_name(MSG_PROCESS_INFO, "cause", (int)p->cause);
	bool        plain = p->cause == CAUSE_EXIT || p->cause == CAUSE_SIGNAL;

	if (p->exited_ms == 0)
		return "";
	if (p->exit_code >= 0)
		snprintf(text, END_TEXT, "exit %ld%s%s%s", p->exit_code, plain ? "" : " (", plain ? "" : cause,
		    plain ? "" : ")");
	else
		snprintf(text, END_TEXT, "signal %lu%s%s%s", p->signal, plain ? "" : " (", plain ? "" : cause,
		    plain ? "" : ")");
	return text;
}

static void
add_row(struct table *t, const struct msg_process_info *p)
{
	bool live = p->state != PROCESS_EXITED && p->state != PROCESS_FAILED;

	table_cell(t, PLAIN, "%s", p->process);
	table_cell(t, state_colour(p->state), "%s", msg_enum_name(MSG_PROCESS_INFO, "state", (int)p->state));
	table_cell(t, PLAIN, "%s", text_duration(text_age_us(live ? p->started_ms : p->exited_ms)));
	table_cell(t, PLAIN, "%s", end_of(p, (char[END_TEXT]){ 0 }));
	table_cell(t, PLAIN, "%lu", p->restarts);
	table_cell(t, PLAIN, "%s", text_size(p->stdout_bytes));
	table_cell(t, p->stdout_dropped > 0 ? YELLOW : PLAIN, "%s", text_size(p->stdout_dropped));
	table_cell(t, PLAIN, "%s", p->attached ? "yes" : "no");
	table_cell(t, PLAIN, "%s", p->argv.n > 0 ? p->argv.v[0] : "");
}

static void
print_table(const void *body)
{
	const struct msg_processes *all = body;
	static const char *const heads[] = { "PROCESS", "STATE", "SINCE", "LAST END", "RESTARTS", "OUTPUT", "DROPPED",
		"ATTACHED", "PROGRAM", NULL };
	struct table            *t = table_open(heads);

	if (t == NULL)
		return;
	for (size_t i = 0; i < all->processes.n; i++)
		add_row(t, &all->processes.v[i]);
	table_print(t);
	table_close(&t);
}

/* ---- the actions ---- */

static int
on_start(const struct args *a)
{
	struct msg_process_start ask;
	struct client            c;
	struct msg               reply;

	msg_defaults(MSG_PROCESS_START, &ask);
	ask.session = a->v[1];
	ask.spec = a->process;
	ask.spec.process = a->v[2];
	ask.spec.argv = (struct strs){ a->n - 3, a->v + 3 };
	ask.spec.env = a->exec.env;
	ask.spec.workdir = a->exec.workdir;
	ask.spec.memory_mb = a->spec.memory_mb;
	if (a->json)
		return cmd_show(a, MSG_PROCESS_START, &ask, NULL);
	int code = cmd_ask(a, MSG_PROCESS_START, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	const struct msg_process_info *p = reply.body;
	printf("%s\n", text_safe(p->process));
	if (*p->error != '\0')
		complain("%s", p->error);
	code = *p->error != '\0' ? EXIT_REFUSED : EXIT_OK;
	cmd_done(&c, &reply);
	return code;
}

static int
on_ls(const struct args *a)
{
	return cmd_show(a, MSG_PROCESS_LIST, &(struct msg_process_list){ .session = a->v[1] }, print_table);
}

static int
on_get(const struct args *a)
{
	const struct msg_process_get ask = { .session = a->v[1], .process = a->v[2] };

	return cmd_show(a, MSG_PROCESS_GET, &ask, NULL);
}

static int
on_stop(const struct args *a)
{
	const struct msg_process_stop ask = { .session = a->v[1], .process = a->v[2] };

	return cmd_show(a, MSG_PROCESS_STOP, &ask, NULL);
}

/* Bytes as they are: a log is for a file or a pager as well. */
static int
on_logs(const struct args *a)
{
	struct msg_process_get ask = { .session = a->v[1], .process = a->v[2], .stdout_last = a->logs.stdout_last };
	struct client          c;
	struct msg             reply;

	int code = cmd_ask(a, MSG_PROCESS_GET, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	const struct msg_process_info *p = reply.body;
	fwrite(p->stdout_preview.data, 1, p->stdout_preview.len, stdout);
	fflush(stdout);
	fwrite(p->stderr_preview.data, 1, p->stderr_preview.len, stderr);
	cmd_done(&c, &reply);
	return EXIT_OK;
}

static int
relay(struct client *c, const struct args *a, void *what)
{
	return relay_run(c, a, what);
}

static int
on_attach(const struct args *a)
{
	struct relay what = { a->v[1], a->v[2], .reads = true, .feeds = a->send_stdin, .eof = true };

	return cmd_interruptible(a, relay, &what);
}

static int
on_write(const struct args *a)
{
	struct relay what = { a->v[1], a->v[2], .feeds = true, .eof = a->eof };

	return cmd_interruptible(a, relay, &what);
}

static const struct {
	const char *name;
	size_t      least, most; /* words, itself included */
	int (*run)(const struct args *);
	const char *usage;
} actions[] = {
	{ "start", 4, SIZE_MAX, on_start, "start SESSION NAME [OPTION...] [--] CMD [ARG...]" },
	{ "ls", 2, 2, on_ls, "ls SESSION" },
	{ "get", 3, 3, on_get, "get SESSION NAME" },
	{ "stop", 3, 3, on_stop, "stop SESSION NAME" },
	{ "attach", 3, 3, on_attach, "attach SESSION NAME [-i] [--from OFFSET|end]" },
	{ "write", 3, 3, on_write, "write SESSION NAME [--eof]" },
	{ "logs", 3, 3, on_logs, "logs SESSION NAME [--last BYTES]" },
};

int
cmd_process(const struct args *a)
{
	struct err e;

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		if (strcmp(actions[i].name, a->v[0]) != 0)
			continue;
		if (a->n >= actions[i].least && a->n <= actions[i].most)
			return actions[i].run(a);
		err_set(&e, E_INVALID, "usage: boxctl process %s", actions[i].usage);
		return usage_error("process", &e);
	}
	err_set(&e, E_INVALID, "there is no action '%s'", text_safe(a->v[0]));
	return usage_error("process", &e);
}
