/* Managed processes. */
#include <string.h>

#include "langbot/action.h"
#include "langbot/models.h"
#include "langbot/pytext.h"

static const char DEFAULT_PROCESS[] = "default";
static const char DEFAULT_DIR[] = "/workspace";

enum outcome
read_process_start(struct job *j)
{
	struct msg_box_process_start *b = j->body;
	struct misfits                m = { .zone = j->zone };
	enum outcome                  o = job_session(j, &b->session_id);

	if (o != ASK)
		return o;
	const msgpack_object *spec = job_need(j, "spec");
	if (spec == NULL)
		return REFUSED;
	b->process_id = DEFAULT_PROCESS;
	b->cwd = DEFAULT_DIR;
	model_read(&m, &model_process, spec, b);
	return job_judge(j, &m, model_process.title);
}

/* Which process, of which session.  A process whose name no message can hold does not exist. */
static enum outcome
read_which(struct job *j, const char **session, const char **process)
{
	const msgpack_object *o = json_get(j->data, "process_id");
	enum outcome          r = job_session(j, session);

	*process = DEFAULT_PROCESS;
	if (r != ASK || o == NULL || job_text(j, o, MSG_BOX_PROCESS_GET, "process_id", "None", process) == ASK)
		return r;
	struct buf name = { 0 };
	py_str(&name, o);
	refuse(j, "BoxManagedProcessNotFoundError", "session %s has no managed process with process_id=%.*s", *session,
	    (int)name.len, name.data != NULL ? name.data : "");
	buf_clear(&name);
	return REFUSED;
}

enum outcome
read_process_get(struct job *j)
{
	struct msg_box_process_get *b = j->body;

	return read_which(j, &b->session_id, &b->process_id);
}

enum outcome
read_process_stop(struct job *j)
{
	struct msg_box_process_stop *b = j->body;
	const msgpack_object        *o = json_get(j->data, "process_id");
	enum outcome                 r = read_which(j, &b->session_id, &b->process_id);

	if (r != ASK)
		return r;
	json_open(&j->answer, '{');
	json_key(&j->answer, "stopped");
	if (o != NULL)
		json_write(&j->answer, o);
	else
		json_str(&j->answer, DEFAULT_PROCESS);
	json_close(&j->answer, '}');
	return ASK;
}
