/* box_exec: a session, a command in it, and how that ended. */
#include <assert.h>

#include "core/registry.h"
#include "langbot/exec_notice.h"
#include "langbot/langbot_impl.h"
#include "wire/detail.h"

/* ---- its result -------------------------------------------------------------------------- */

static struct msg_box_result
result_of(const struct action *a, const struct msg_exec_result *x, const char *notice)
{
	return (struct msg_box_result){
		.session_id = action_logical(a),
		.backend = langbot_backend(a->langbot),
		.timed_out = x->cause == CAUSE_TIMEOUT,
		.exit_code = x->cause == CAUSE_TIMEOUT ? 0 : exec_exit_code(x),
		.stdout = x->stdout,
		.stderr = x->stderr,
		.stdout_bytes = x->stdout_bytes,
		.stderr_bytes = x->stderr_bytes,
		.notice = notice,
		.duration_ms = x->duration_us / 1000,
	};
}

/* ---- its end --------------------------------------------------------------------------------------- */

static void
on_dropped(struct action *a, const struct msg *reply)
{
	action_reply(a, MSG_BOX_RESULT, &a->request->result);
}

/* LangBot takes a timeout for the end of the session, unless servers run in it. */
static bool
is_dropped_by_timeout(const struct action *a)
{
	struct err            e;
	const struct session *s = action_session(a, &e);

	return s != NULL && session_info(s).processes == 0;
}

static void
on_over_quota(struct action *a, const struct msg *reply)
{
	struct err e;

	err_set(&e, E_QUOTA, "%s", a->request->result.notice);
	action_fail(a, &e);
}

/* Keep the result, then end the session, then go on. */
static void
end_session_first(struct action *a, struct msg_box_result *r, step_fn *then)
{
	struct err e;

	assert(a->request->result_kept.msg.body == NULL); /* a command has one result */
	a->request->result = *r;
	if (owned_msg_copy(&a->request->result_kept, MSG_BOX_RESULT, &a->request->result, &e) == -1)
		action_fail(a, &e);
	else
		action_end_session(a, then);
}

static void
exec_failed(struct action *a, const struct err *why)
{
	struct err e = *why, gone;

	if (why->code == E_UNSTARTED && !a->request->again && a->conn != 0) {
		session_request_again(a); /* nothing ran */
		return;
	}
	if (why->code == E_STATE && action_session(a, &gone) == NULL)
		err_set(&e, E_NOTFOUND, "session %s is being deleted", action_logical(a));
	action_fail(a, &e);
}

/* The files that the command left stay, but its result is an error. */
static void
withhold(struct action *a, const struct msg_exec_result *x)
{
	struct msg_box_result over = { .session_id = action_logical(a), .backend = "" };
	struct err            e;

	err_set(&e, E_QUOTA, "%s", x->error);
	detail_take(&e, &x->detail);
	action_use_logical(a, &e);
	over.notice = e.text;
	over.stdout = over.stderr = blob_of("", 0);
	end_session_first(a, &over, on_over_quota);
}

static void
on_result(struct action *a, const struct msg *reply)
{
	const struct msg_exec_result *x = reply->body;
	char                          notice[LIM_TEXT];

	if (reply->failed) {
		exec_failed(a, &reply->error);
		return;
	}
	if (x->cause == CAUSE_DISK) {
		withhold(a, x);
		return;
	}
	exec_notice(x, &a->request->native, a->request->spec.timeout_sec, notice, sizeof(notice));
	struct msg_box_result r = result_of(a, x, notice);
	if (r.timed_out && is_dropped_by_timeout(a))
		end_session_first(a, &r, on_dropped);
	else
		action_reply(a, MSG_BOX_RESULT, &r);
}

/* ---- its beginning ----------------------------------------------------------------------------------- */

static void
on_standing(struct action *a, const struct msg *reply)
{
	const struct msg_box_spec *b = &a->request->spec;
	struct msg_exec            x;

	msg_defaults(MSG_EXEC, &x);
	x.session = a->name;
	x.command = b->cmd;
	x.env = b->env;
	x.workdir = b->workdir;
	x.timeout_ms = b->timeout_sec * 1000;
	x.keep_bytes = a->langbot->boxd->config->langbot_output_bytes;
	x.extra_mounts.n = a->request->native.extra_mounts.n;
	x.extra_mounts.v = a->request->native.extra_mounts.v;
	x.only_mounts = true;
	action_ask(a, MSG_EXEC, &x, on_result);
}

bool
exec_is_started(const struct action *a)
{
	const struct session *s = registry_find(a->langbot->boxd->registry, a->name);

	if (a->type != MSG_BOX_EXEC || a->request == NULL)
		return false;
	if (a->request->result_kept.msg.body != NULL)
		return true; /* it has ended, and its session is ending too */
	return a->asked != 0 && a->step == on_result && (s == NULL || !session_exec_waits(s, a->asked));
}

void
on_box_exec(struct action *a)
{
	const struct msg_box_spec *spec = &((const struct msg_box_exec *)a->body)->spec;
	struct err                 e;
	char                       name[LIM_NAME + 1];

	if (tenancy_physical(&a->context, spec->session_id, name, &e) == -1) {
		action_fail(a, &e);
	} else if (*spec->cmd == '\0') {
		err_set(&e, E_INVALID, "cmd must not be empty");
		action_fail(a, &e);
	} else {
		session_request_start(a, spec, on_standing);
	}
}
