#include "serve.h"

#include <stdlib.h>
#include <string.h>

#include "fs/files.h"
#include "fs/probe.h"
#include "fs/workspace.h"
#include "skills/skills.h"
#include "sources.h"
#include "zip/upload.h"

/* ---- answers ----------------------------------------------------------------------------- */

/* What a handler works with: the request, where it may look, and where its answer goes. */
struct job {
	const struct store *store;
	const struct scope *scope; /* of a skill request */
	const struct msg   *m;
	struct packet      *out;
};

static int
job_reply(const struct job *j, const void *body, struct err *e)
{
	return msg_encode_reply(j->out, msg_def(j->m->type)->result, j->m->id, 0, body, e);
}

static int
answer_skill(const struct job *j, struct skill *s, struct err *e)
{
	struct msg_skill m;

	skill_tell(s, &m);
	int r = job_reply(j, &m, e);
	skill_clear(s);
	return r;
}

static int
answer_skills(const struct job *j, struct skills *s, struct err *e)
{
	struct msg_skills m = { .skills = { s->n, calloc(s->n + 1, sizeof(*m.skills.v)) } };
	int               r = m.skills.v == NULL ? err_set(e, E_SYS, "no memory") : 0;

	for (size_t i = 0; r == 0 && i < s->n; i++)
		skill_tell(&s->v[i], &m.skills.v[i]);
	if (r == 0)
		r = job_reply(j, &m, e);
	free(m.skills.v);
	skills_clear(s);
	return r;
}

/* ---- skills ------------------------------------------------------------------------------ */

static int
on_list(const struct job *j, struct err *e)
{
	struct skills s;

	return skills_list(j->scope, &s, e) == -1 ? -1 : answer_skills(j, &s, e);
}

static int
on_get(const struct job *j, struct err *e)
{
	const struct msg_skill_get *m = j->m->body;
	struct msg_skill_found      found;
	struct msg_skill            told;
	struct skill                s = { 0 };
	int                         r = skills_find(j->scope, m->name, &s, e);

	if (r == -1)
		return -1;
	msg_defaults(MSG_SKILL_FOUND, &found);
	if (r == 0) {
		skill_tell(&s, &told);
		found.found = true;
		found.skill.n = 1;
		found.skill.v = &told;
	}
	r = job_reply(j, &found, e);
	skill_clear(&s);
	return r;
}

static int
on_create(const struct job *j, struct err *e)
{
	struct skill s;

	return skills_create(j->scope, j->m->body, &s, e) == -1 ? -1 : answer_skill(j, &s, e);
}

static int
on_update(const struct job *j, struct err *e)
{
	struct skill s;

	return skills_update(j->scope, j->m->body, &s, e) == -1 ? -1 : answer_skill(j, &s, e);
}

static int
on_delete(const struct job *j, struct err *e)
{
	const struct msg_skill_delete *m = j->m->body;

	return skills_delete(j->scope, m->name, e) == -1 ? -1 : job_reply(j, &(struct msg_done){}, e);
}

static int
on_scan(const struct job *j, struct err *e)
{
	const struct msg_skill_scan *m = j->m->body;
	struct skill                 s;

	return skills_scan(j->scope, m->path, &s, e) == -1 ? -1 : answer_skill(j, &s, e);
}

static int
on_preview(const struct job *j, struct err *e)
{
	struct skills s;

	return upload_preview(j->scope, j->m->body, &s, e) == -1 ? -1 : answer_skills(j, &s, e);
}

static int
on_install(const struct job *j, struct err *e)
{
	struct skills s;

	return upload_install(j->scope, j->m->body, &s, e) == -1 ? -1 : answer_skills(j, &s, e);
}

/* ---- their files ------------------------------------------------------------------------- */

static int
on_files(const struct job *j, struct err *e)
{
	struct msg_skill_entries m;

	if (files_list(j->scope, j->m->body, &m, e) == -1)
		return -1;
	int r = job_reply(j, &m, e);
	files_clear(&m);
	return r;
}

static int
on_read(const struct job *j, struct err *e)
{
	const struct msg_skill_read *m = j->m->body;
	struct msg_skill_file        file = { .name = m->name };
	struct buf                   content = { 0 };
	char                         path[LIM_PATH + 1];
	int                          r = files_read(j->scope, m, path, &content, e);

	file.path = path;
	file.content = blob_of(content.data, content.len);
	if (r == 0)
		r = job_reply(j, &file, e);
	buf_clear(&content);
	return r;
}

static int
on_write(const struct job *j, struct err *e)
{
	const struct msg_skill_write *m = j->m->body;
	char                          path[LIM_PATH + 1];
	struct msg_skill_file         file = { .name = m->name, .path = path, .content = blob_of(NULL, 0) };

	if (files_write(j->scope, m, path, &file.bytes_written, e) == -1)
		return -1;
	return job_reply(j, &file, e);
}

/* ---- directories ------------------------------------------------------------------------- */

static int
on_verify(const struct job *j, struct err *e)
{
	const struct msg_box_verify_workspace *m = j->m->body;
	struct msg_box_marker                  marker;
	char                                   sha256[65];

	if (workspace_verify(j->store, m->marker_name, &marker, sha256, e) == -1)
		return -1;
	return job_reply(j, &marker, e);
}

static int
on_workspace(const struct job *j, struct err *e)
{
	const struct msg_store_workspace *m = j->m->body;
	char                              path[LIM_PATH + 1];

	if (workspace_make(j->store, m->path, path, e) == -1)
		return -1;
	return job_reply(j, &(struct msg_store_path){ .path = path }, e);
}

static int
on_sources(const struct job *j, struct err *e)
{
	struct sources s;

	if (sources_find(j->m->body, &s, e) == -1)
		return -1;
	int r = job_reply(j, &(struct msg_store_sources_found){ .sources = { s.n, s.v } }, e);
	sources_clear(&s);
	return r;
}

static int
on_usage(const struct job *j, struct err *e)
{
	const struct msg_store_usage *m = j->m->body;
	struct msg_amount             v[WORKSPACE_AMOUNTS];
	struct msg_amounts            all;
	char                          path[LIM_PATH + 1];

	msg_defaults(MSG_AMOUNTS, &all);
	all.path = path;
	all.amounts.v = v;
	if (workspace_measure(j->store, m->ns, path, v, &all.amounts.n, e) == -1)
		return -1;
	return job_reply(j, &all, e);
}

static int
on_probe(const struct job *j, struct err *e)
{
	struct msg_store_disk disk;
	char                  why[LIM_TEXT + 1];

	return probe(j->store, &disk, why, e) == -1 ? -1 : job_reply(j, &disk, e);
}

/* ---- all of them ------------------------------------------------------------------------- */

/* Every failure of most skill actions is the client's; the first two have codes of their own. */
enum fails { AS_IT_IS, AS_VALUE, AS_INVALID };

static const struct {
	int (*fn)(const struct job *, struct err *);
	enum fails fails;
	bool       scoped; /* has a namespace in it, behind the context */
	bool       alone;
} on[MSG__COUNT] = {
	[MSG_SKILL_LIST] = { on_list, AS_VALUE, true, false },
	[MSG_SKILL_GET] = { on_get, AS_VALUE, true, false },
	[MSG_SKILL_CREATE] = { on_create, AS_INVALID, true, false },
	[MSG_SKILL_UPDATE] = { on_update, AS_INVALID, true, false },
	[MSG_SKILL_DELETE] = { on_delete, AS_INVALID, true, false },
	[MSG_SKILL_SCAN] = { on_scan, AS_INVALID, true, false },
	[MSG_SKILL_FILES] = { on_files, AS_INVALID, true, false },
	[MSG_SKILL_READ] = { on_read, AS_INVALID, true, false },
	[MSG_SKILL_WRITE] = { on_write, AS_INVALID, true, false },
	[MSG_SKILL_PREVIEW] = { on_preview, AS_INVALID, true, false },
	[MSG_SKILL_INSTALL] = { on_install, AS_INVALID, true, false },
	[MSG_BOX_VERIFY_WORKSPACE] = { on_verify, AS_IT_IS, false, false },
	[MSG_STORE_WORKSPACE] = { on_workspace, AS_IT_IS, false, false },
	[MSG_STORE_SOURCES] = { on_sources, AS_IT_IS, false, false },
	[MSG_STORE_USAGE] = { on_usage, AS_IT_IS, false, false },
	/* the disk is full for a moment: no other request may run then */
	[MSG_STORE_PROBE] = { on_probe, AS_IT_IS, false, true },
};

/* By the table of the message: the field is where its name says. */
static const char *
namespace_of(const struct msg *m)
{
	for (const struct field *f = msg_def(m->type)->fields; f->name != NULL; f++)
		if (strcmp(f->name, "ns") == 0)
			return *(const char *const *)((const char *)m->body + f->offset);
	return "";
}

const char *
serve_lane(const struct msg *m)
{
	if (m->envelope != ENV_REQUEST || on[m->type].fn == NULL)
		return NULL;
	return namespace_of(m);
}

bool
serve_alone(enum msg_type t)
{
	return on[t].alone;
}

static int
handle(struct job *j, struct err *e)
{
	struct scope scope;

	if (!on[j->m->type].scoped)
		return on[j->m->type].fn(j, e);
	if (scope_open(&scope, j->store, namespace_of(j->m), e) == -1)
		return -1;
	j->scope = &scope;
	int r = on[j->m->type].fn(j, e);
	scope_close(&scope);
	return r;
}

int
serve(const struct store *st, const struct msg *m, struct packet *out, struct err *e)
{
	struct job j = { .store = st, .m = m, .out = out };
	struct err why = { 0 };

	if (handle(&j, &why) == 0)
		return 0;
	packet_clear(out);
	if (on[m->type].fails == AS_INVALID)
		why.code = E_INVALID;
	if (on[m->type].fails == AS_VALUE && why.code == E_INVALID)
		why.code = E_VALUE;
	return msg_encode_error(out, m->id, 0, &why, e);
}
