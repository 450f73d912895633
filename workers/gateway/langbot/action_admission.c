/* Grants and their end, and the proof of a shared volume. */
#include <string.h>

#include "langbot/action.h"
#include "langbot/models.h"

enum outcome
read_grant(struct job *j)
{
	struct msg_box_upsert_grant *b = j->body;
	struct misfits               m = { .zone = j->zone };

	model_read(&m, &model_grant, j->data, &b->grant);
	return job_judge(j, &m, model_grant.title);
}

enum outcome
read_revoke(struct job *j)
{
	struct msg_box_revoke_grant *b = j->body;
	struct misfits               m = { .zone = j->zone };

	model_read(&m, &model_revocation, j->data, b);
	enum outcome o = job_judge(j, &m, model_revocation.title);
	if (o != ASK)
		return o;
	json_open(&j->answer, '{');
	json_key_bool(&j->answer, "revoked", true);
	json_key_str(&j->answer, "workspace_uuid", b->workspace);
	json_key_u64(&j->answer, "entitlement_revision", b->revision);
	json_close(&j->answer, '}');
	return ASK;
}

/* What cannot be a marker's name is no name at all: the same refusal comes of both. */
enum outcome
read_verify(struct job *j)
{
	struct msg_box_verify_workspace *b = j->body;
	const msgpack_object            *o = json_get(j->data, "marker_name");

	if (job_text(j, o, MSG_BOX_VERIFY_WORKSPACE, "marker_name", "", &b->marker_name) != ASK)
		b->marker_name = "";
	j->answer.len = 0;
	json_str(&j->answer, b->marker_name);
	return ASK;
}

enum outcome
read_chunk(struct job *j)
{
	return uploads_chunk(j->uploads, j->data, &j->class, &j->answer) == 0 ? GIVEN : REFUSED;
}
