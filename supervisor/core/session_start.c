/* How a session's worker is started: all that it must know, in one message. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/artifact.h"
#include "config/mountrules.h"
#include "config/mountspec.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/session_impl.h"
#include "langbot/langbot.h"
#include "langbot/tenantroots.h"

/* What the next worker must know about running commands. */
static size_t
resume_list(const struct session *s, struct msg_resume *list)
{
	const struct request *r;
	size_t                n = 0;

	TAILQ_FOREACH (r, &s->pending.list, next)
		if (r->type == MSG_EXEC && r->held.bytes.len == 0)
			list[n++] = (struct msg_resume){
				.exec = r->exec,
				.stdout_offset = r->streamed_to[STREAM_STDOUT],
				.stderr_offset = r->streamed_to[STREAM_STDERR],
				.wanted = r->conn != 0,
			};
	return n;
}

/* And about attachments, also those whose client has left. */
static size_t
follower_list(const struct session *s, struct msg_follower *list)
{
	const struct request *r;
	size_t                n = 0;

	TAILQ_FOREACH (r, &s->pending.list, next) {
		if (r->attachment == NULL || r->held.bytes.len > 0 || n == LIM_EXECS)
			continue;
		uint64_t seen = r->streamed_to[STREAM_STDOUT];
		list[n++] = (struct msg_follower){
			.call = r->exec,
			.process = r->attachment->process,
			.stdout_offset = seen > 0 ? seen : r->attachment->offset,
			.stdout_acked = r->attachment->acked,
			.window = r->attachment->window,
			.go_on = r->attachment->go_on && seen == 0,
			.again = r->attachment->again,
			.wanted = r->conn != 0,
		};
	}
	return n;
}

void
session_retention(const struct session *s, uint64_t *sec, uint64_t *count)
{
	*sec = s->boxd->config->process_retention_sec;
	*count = s->boxd->config->process_retained;
	langbot_retention(s->boxd->langbot, s->name, sec, count);
}

void
session_fill_start(const struct session *s, const struct msg_spec *spec, enum work work,
    struct msg_path_rule rules[LIM_ALL_RULES], struct msg_worker_start *start)
{
	const struct machine *m = s->boxd->machine;

	msg_defaults(MSG_WORKER_START, start);
	start->work = work;
	start->id = s->id;
	start->session = s->name;
	start->spec = *spec;
	start->cgroups = s->cgroups;
	start->dir = s->dir;
	start->uid_base = s->uid_base;
	start->uid_count = m->root ? 65536 : 1;
	start->created_ms = s->created_ms;
	start->tmp_mb = policy_tmp_mb(spec, s->boxd->config);
	start->overlay_mb = policy_overlay_mb(spec, s->boxd->config);
	start->inodes = s->boxd->config->inodes;
	if (mountspec_wants_host(spec) || s->counted.n > 0) {
		mountrules_fill(s->boxd->mountrules, rules, start);
		tenantroots_add_rules(s->boxd->tenantroots, s->name, start);
		langbot_add_rules(s->boxd->langbot, s->name, start);
	}
	start->nofile = s->boxd->config->nofile;
	start->fsize_mb = s->boxd->config->fsize_mb;
	start->landlock = s->boxd->config->landlock;
	start->sockets_counted = s->boxd->machine->walls.in_force[WALL_SOCKETS];
	start->entries = s->boxd->config->workspace_entries;
	start->backend = policy_backend(spec, s->boxd->config);
	if (work != WORK_SWEEP)
		start->files = m->files;
	if (work == WORK_BUILD || work == WORK_ADOPT)
		start->calls = m->worker_calls;
	start->root = m->root ? s->boxd->dirs->empty : "";
	session_retention(s, &start->process_retention_sec, &start->process_retained);
	start->net_mode = s->net_mode;
	if (work == WORK_BUILD) {
		start->templates = s->boxd->dirs->templates;
		start->skeleton = m->skeleton.dir;
		start->skeleton_ns = m->skeleton.ns;
		start->init = m->init;
		start->filter = m->filter;
	}
}

int
session_start_worker(struct session *s, enum work work, struct err *e)
{
	struct msg_worker_start start;
	struct msg_resume       list[LIM_EXECS];
	struct msg_follower     followers[LIM_EXECS];
	const char             *counted[2 * LIM_MOUNTS];
	struct msg_path_rule    rules[LIM_ALL_RULES];

	assert(s->child == NULL);
	s->child = child_start(s->boxd, "box-session", FROM_WORKER, &session_worker_ops, s, e);
	if (s->child == NULL)
		return -1;
	session_fill_start(s, &s->spec, work, rules, &start);
	AUTO_FD int artifacts = work == WORK_BUILD && s->artifacts != NULL ? artifact_dir(s->boxd, s->name) : -1;
	start.artifacts = artifacts;
	AUTO_FD int image = work == WORK_BUILD ? dirs_image(s->boxd->dirs, s->spec.image) : -1;
	start.image = image;
	if (work == WORK_BUILD)
		session_note_image(s, image == -1 && *s->spec.image != '\0');
	start.resume.v = list;
	start.resume.n = work == WORK_ADOPT ? resume_list(s, list) : 0;
	struct strs *opened = work == WORK_BUILD ? session_net_plan(s, &start) : NULL;
	start.counted.v = counted;
	start.counted.n = work == WORK_ADOPT ? session_counted(s, NULL, 0, counted) : 0;
	session_forget_measured(s);
	start.followers.v = followers;
	start.followers.n = work == WORK_ADOPT ? follower_list(s, followers) : 0;
	log_debug(
	    "session=%lu worker=%d %s", s->id, child_pid(s->child), msg_enum_name(MSG_WORKER_START, "work", (int)work));
	int r = link_send(child_link(s->child), MSG_WORKER_START, 0, 0, &start, e);
	free(opened);
	if (r == 0)
		requests_drop_deaf(&s->pending); /* the worker now knows where they ended */
	return r;
}
