#include "agent/agent_result.h"

#include "langbot/exec_notice.h"
#include "python/outtext.h"

static void
explain(struct buf *err, const struct agent_plan *p, const struct msg_exec_result *x)
{
	char line[LIM_TEXT];

	exec_notice(x, &p->spec, p->timeout_sec, line, sizeof(line));
	if (*line != '\0')
		buf_printf(err, "%s%s", err->len > 0 ? "\n" : "", line);
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
	r->exit_code = exec_exit_code(x);
	r->ok = x->cause == CAUSE_EXIT && x->exit_code == 0;
	r->duration_ms = x->duration_us / 1000;
	int done = text_of(&out, &x->stdout, x->stdout_bytes, e);
	if (done == 0)
		done = text_of(&err, &x->stderr, x->stderr_bytes, e);
	if (done == 0) {
		explain(&err, p, x);
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
