#include "agent_result.h"

#include <string.h>

#include "outtext.h"

/* A last line for whoever reads only the output, where the exit code does not tell. */
static void
explain(struct buf *err, const struct msg_exec_result *x, uint64_t timeout_sec)
{
	static const char *const lines[] = {
		[CAUSE_MEMORY] = "Command was killed: the memory limit of the session is reached.",
		[CAUSE_PIDS] = "The limit of processes of the session is reached.",
		[CAUSE_CANCELLED] = "Command was cancelled.",
		[CAUSE_SPAWN] = NULL, /* tells its own */
	};
	const char *line = x->cause < sizeof(lines) / sizeof(*lines) ? lines[x->cause] : NULL;

	if (x->cause == CAUSE_TIMEOUT && err->len == 0)
		buf_printf(err, "Command timed out after %lu seconds.", timeout_sec);
	if (x->cause == CAUSE_SPAWN)
		line = x->error;
	if (line != NULL)
		buf_printf(err, "%s%s", err->len > 0 ? "\n" : "", line);
}

/* Negative: the signal, as LangBot has it. */
static int64_t
exit_code(const struct msg_exec_result *x)
{
	enum { NOT_EXECUTABLE = 126 };

	if (x->exit_code >= 0)
		return x->exit_code;
	return x->cause == CAUSE_SPAWN ? NOT_EXECUTABLE : -(int64_t)x->signal;
}

static int
text_of(struct buf *text, const struct blob *b, uint64_t total, struct err *e)
{
	struct buf raw = { 0 };
	int        r = blob_read(b, &raw, e);

	if (r == 0)
		outtext_clean(text, raw.data, raw.len, total);
	buf_clear(&raw);
	return r;
}

static bool
shorten(struct buf *to, const struct buf *text, size_t limit)
{
	return outtext_truncate(to, text->data, text->len, limit);
}

int
agent_result(struct msg_agent_result *r, struct agent_output *o, const struct agent_plan *p,
    const struct msg_exec_result *x, size_t limit, struct err *e)
{
	struct buf out = { 0 }, err = { 0 };

	msg_defaults(MSG_AGENT_RESULT, r);
	r->session_id = p->session_id;
	r->session = p->session;
	r->backend = "native";
	r->status = x->cause == CAUSE_TIMEOUT ? AGENT_END_TIMED_OUT : AGENT_END_COMPLETED;
	r->cause = x->cause;
	r->exit_code = exit_code(x);
	r->ok = x->cause == CAUSE_EXIT && x->exit_code == 0;
	r->duration_ms = x->duration_us / 1000;
	int done = text_of(&out, &x->stdout, x->stdout_bytes, e);
	if (done == 0)
		done = text_of(&err, &x->stderr, x->stderr_bytes, e);
	if (done == 0) {
		explain(&err, x, p->timeout_sec);
		r->stdout_truncated = shorten(&o->out, &out, limit);
		r->stderr_truncated = shorten(&o->err, &err, limit);
		r->stdout = blob_of(o->out.data, o->out.len);
		r->stderr = blob_of(o->err.data, o->err.len);
	}
	if (out.failed || err.failed || o->out.failed || o->err.failed)
		done = err_set(e, E_SYS, "no memory for the output");
	buf_clear(&out);
	buf_clear(&err);
	return done;
}

void
agent_output_clear(struct agent_output *o)
{
	buf_clear(&o->out);
	buf_clear(&o->err);
}
