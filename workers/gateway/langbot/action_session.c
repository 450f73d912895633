/* Sessions: exec, create, get, delete. */
#include <string.h>

#include "langbot/action.h"
#include "langbot/models.h"

static const char DEFAULT_IMAGE[] = "rockchin/langbot-sandbox:latest";
static const char DEFAULT_DIR[] = "/workspace";

static enum outcome
read_spec(struct job *j, struct msg_box_spec *s)
{
	struct misfits m = { .zone = j->zone };

	s->image = DEFAULT_IMAGE;
	s->workdir = s->mount_path = DEFAULT_DIR;
	model_read(&m, &model_spec, spec_with_workdir(j->zone, j->data), s);
	bool         nul = m.n == 0 && !m.starved && m.nul;
	enum outcome o = job_judge(j, &m, model_spec.title);
	return nul ? refuse(j, "BoxValidationError", "embedded null byte") : o; /* the one ValueError of a spec */
}

enum outcome
read_exec(struct job *j)
{
	return read_spec(j, &((struct msg_box_exec *)j->body)->spec);
}

enum outcome
read_create(struct job *j)
{
	struct msg_box_create *b = j->body;

	return read_spec(j, &b->spec);
}

enum outcome
read_get(struct job *j)
{
	struct msg_box_get *b = j->body;

	return job_session(j, &b->session_id);
}

enum outcome
read_delete(struct job *j)
{
	struct msg_box_delete *b = j->body;
	enum outcome           o = job_session(j, &b->session_id);

	if (o != ASK)
		return o;
	json_open(&j->answer, '{');
	json_key(&j->answer, "deleted");
	json_write(&j->answer, json_get(j->data, "session_id")); /* as it was sent */
	json_close(&j->answer, '}');
	return ASK;
}
