/* Each of LangBot's actions becomes its request, with the fields that were given and the defaults of the others. */
#include "actbox.h"
#include "tap.h"

#define DIGITS "86d45b4acbf7fba51dd0ac4c61ce3d9527024373edff9b3d9a6aeb1b0a7d0a21"

TEST(spec_defaults)
{
	const struct msg_box_exec *b = act_asks("box_exec", "{\"session_id\": \" s \"}", MSG_BOX_EXEC);
	const struct msg_box_spec *s = &b->spec;

	is(b->context.instance, "inst-1", "the instance");
	is(b->context.workspace, "ws-1", "the workspace");
	cmp_ok(b->context.generation, "==", 1, "the generation");
	is(s->session_id, "s", "session_id, stripped");
	is(s->cmd, "", "cmd");
	is(s->workdir, "/workspace", "workdir");
	cmp_ok(s->timeout_sec, "==", 30, "timeout_sec");
	ok(s->network == NETWORK_OFF && s->env.n == 0, "network, env");
	is(s->image, "rockchin/langbot-sandbox:latest", "image");
	is(s->host_path, "", "host_path");
	ok(s->host_path_mode == MOUNT_RW && s->extra_mounts.n == 0, "host_path_mode, extra_mounts");
	is(s->mount_path, "/workspace", "mount_path");
	is(s->skill_name, "", "skill_name");
	ok(!s->persistent && s->cpus == 1.0 && s->memory_mb == 512 && s->pids_limit == 128, "limits");
	ok(s->read_only_rootfs && s->workspace_quota_mb == 0, "read_only_rootfs, workspace_quota_mb");
}

TEST(spec)
{
	const struct msg_box_create *b = act_asks("box_create_session",
	    "{\"cmd\": \"\\u3000echo hi\\n\", \"workdir\": \" /w/x \", \"timeout_sec\": \"1_0\", \"network\": \"on\", "
	    "\"session_id\": "
	    "\"\xe7\xbe\xa4\xe8\x81\x8a 42/a\", \"env\": {\"A\": \"1\", \"B\": \"\"}, \"image\": \"\", \"host_path\": "
	    "\"/srv\", "
	    "\"host_path_mode\": \"ro\", \"mount_path\": \"/w\", \"extra_mounts\": [{\"host_path\": \"/a\", "
	    "\"mount_path\": \"/b\", "
	    "\"mode\": \"none\", \"x\": 1}, {\"host_path\": \"C:\\\\x\", \"mount_path\": \"/c\"}], \"skill_name\": \" "
	    "\", "
	    "\"persistent\": \"yes\", \"cpus\": \".5\", \"memory_mb\": 64.0, \"pids_limit\": true, "
	    "\"read_only_rootfs\": 0, "
	    "\"workspace_quota_mb\": \"5\", \"whatever\": []}",
	    MSG_BOX_CREATE);
	const struct msg_box_spec   *s = &b->spec;

	is(s->cmd, "echo hi", "cmd, stripped");
	is(s->workdir, "/w/x", "workdir");
	cmp_ok(s->timeout_sec, "==", 10, "timeout_sec");
	ok(s->network == NETWORK_ON, "network");
	is(s->session_id, "\xe7\xbe\xa4\xe8\x81\x8a 42/a", "session_id as it was: the supervisor maps it");
	ok(s->env.n == 2 && strcmp(s->env.v[0].name, "A") == 0 && strcmp(s->env.v[1].value, "") == 0, "env");
	is(s->image, "", "an empty image");
	is(s->host_path, "/srv", "host_path");
	ok(s->host_path_mode == MOUNT_RO, "host_path_mode");
	ok(s->extra_mounts.n == 2 && s->extra_mounts.v[0].mode == MOUNT_NONE && s->extra_mounts.v[1].mode == MOUNT_RW,
	    "extra_mounts");
	is(s->extra_mounts.v[1].host_path, "C:\\x", "a path of Windows");
	is(s->skill_name, "", "a blank skill_name is none");
	ok(s->persistent && s->cpus == 0.5 && s->memory_mb == 64 && s->pids_limit == 1, "limits");
	ok(!s->read_only_rootfs && s->workspace_quota_mb == 5, "read_only_rootfs, workspace_quota_mb");
}

TEST(workdir)
{
	const struct msg_box_exec *b;

	b = act_asks("box_exec",
	    "{\"session_id\": \"s\", \"extra_mounts\": [{\"host_path\": \"/h\", \"mount_path\": "
	    "\"/opt/langbot-artifacts/" DIGITS "\", \"mode\": \"ro\", \"content_digest\": \" sha256:" DIGITS
	    " \", \"manifest_path\": \"/h.json\"}, "
	    "{\"host_path\": \"/h\", \"mount_path\": \"//m\", \"content_digest\": null, \"manifest_path\": null}]}",
	    MSG_BOX_EXEC);
	is(b->spec.extra_mounts.v[0].content_digest, "sha256:" DIGITS, "content_digest");
	is(b->spec.extra_mounts.v[0].manifest_path, "/h.json", "manifest_path");
	is(b->spec.extra_mounts.v[1].content_digest, "", "or none");
	b = act_asks("box_exec", "{\"session_id\": \"s\", \"mount_path\": \"/m\"}", MSG_BOX_EXEC);
	is(b->spec.workdir, "/m", "workdir is mount_path when there is none");
	b = act_asks("box_exec", "{\"session_id\": \"s\", \"mount_path\": \"/m\", \"workdir\": null}", MSG_BOX_EXEC);
	is(b->spec.workdir, "/m", "or null");
	b = act_asks("box_exec", "{\"workdir\": \"\", \"session_id\": \"s\", \"mount_path\": \"/m\"}", MSG_BOX_EXEC);
	is(b->spec.workdir, "/m", "or empty");
	b = act_asks("box_exec",
	    "{\"session_id\": \"s\", \"host_path\": \"/h\", \"mount_path\": \"/m\", \"workdir\": \"/m/x\"}",
	    MSG_BOX_EXEC);
	is(b->spec.workdir, "/m/x", "it may be below");
	b = act_asks("box_exec",
	    "{\"session_id\": \"s\", \"host_path\": \"/h\", \"host_path_mode\": \"none\", \"workdir\": \"/x\"}",
	    MSG_BOX_EXEC);
	is(b->spec.workdir, "/x", "and anywhere when nothing is mounted");
}

TEST(sessions)
{
	const struct msg_box_get *get = act_asks("box_get_session", "{\"session_id\": \" a/b \"}", MSG_BOX_GET);
	is(get->session_id, "a/b", "its session");
	get = act_asks("box_get_session", "{\"session_id\": 42}", MSG_BOX_GET);
	is(get->session_id, "42", "a number is a name too");
	get = act_asks("box_get_session", "{\"session_id\": \"a\\u0000/b\"}", MSG_BOX_GET);
	is(get->session_id, "a-b", "a NUL is one of the characters that become a dash");
	act_asks("box_get_sessions", "{\"x\": 1}", MSG_BOX_LIST);
	act_asks("box_status", "{}", MSG_BOX_STATUS);
	act_asks("box_get_storage_analysis", "{}", MSG_BOX_STORAGE);
	const struct msg_box_delete *del = act_asks("box_delete_session", "{\"session_id\": \"d\"}", MSG_BOX_DELETE);
	is(del->session_id, "d", "its session");

	char long_id[2000] = "{\"session_id\": \"";
	for (int i = 0; i < 200; i++)
		strcat(long_id, "\xe7\xbe\xa4");
	strcat(long_id, "x\"}");
	get = act_asks("box_get_session", long_id, MSG_BOX_GET);
	is(get->session_id, "-x", "a long name that becomes a short one is that");
}

TEST(processes)
{
	const struct msg_box_process_start *s = act_asks("box_start_managed_process",
	    "{\"session_id\": \"s\", \"spec\": {\"command\": \" cat \", \"args\": [\"-\", \"\"], \"env\": {\"B\": "
	    "\"2\"}, \"cwd\": "
	    "\"/tmp\", \"memory_mb\": -5, \"process_id\": \"p\"}}",
	    MSG_BOX_PROCESS_START);
	is(s->session_id, "s", "its session");
	is(s->command, "cat", "command, stripped");
	ok(s->args.n == 2 && strcmp(s->args.v[0], "-") == 0 && s->env.n == 1, "args, env");
	is(s->cwd, "/tmp", "cwd");
	is(s->process_id, "p", "process_id");
	cmp_ok(s->memory_mb, "==", 0, "memory_mb under 0 is the session's");
	s = act_asks("box_start_managed_process", "{\"session_id\": \"s\", \"spec\": {\"command\": \"c\"}}",
	    MSG_BOX_PROCESS_START);
	is(s->process_id, "default", "process_id");
	is(s->cwd, "/workspace", "cwd");
	const struct msg_box_process_get *g = act_asks(
	    "box_get_managed_process", "{\"session_id\": \"s\"}", MSG_BOX_PROCESS_GET);
	is(g->process_id, "default", "process_id");
	const struct msg_box_process_stop *t = act_asks(
	    "box_stop_managed_process", "{\"session_id\": \"s\", \"process_id\": \"5b0c\"}", MSG_BOX_PROCESS_STOP);
	is(t->process_id, "5b0c", "process_id");
}

TEST(host)
{
	static const struct {
		const char   *action;
		enum msg_type t;
	} rows[] = { { "__ping", MSG_BOX_PING }, { "box_health", MSG_BOX_HEALTH },
		{ "box_get_backend_info", MSG_BOX_BACKEND_INFO }, { "box_shutdown", MSG_BOX_SHUTDOWN } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		act_asks(rows[i].action, "{}", rows[i].t);
	const struct msg_box_verify_workspace *v = act_asks("box_verify_shared_workspace",
	    "{\"marker_name\": \".langbot-box-volume-probe-x\"}", MSG_BOX_VERIFY_WORKSPACE);
	is(v->marker_name, ".langbot-box-volume-probe-x", "its marker");
	v = act_asks("box_verify_shared_workspace", "{\"marker_name\": \"a\\u0000\"}", MSG_BOX_VERIFY_WORKSPACE);
	is(v->marker_name, "", "what is no name is none");
	v = act_asks("box_verify_shared_workspace", "{}", MSG_BOX_VERIFY_WORKSPACE);
	is(v->marker_name, "", "the same without");
	const struct msg_box_upsert_grant *g = act_asks("box_upsert_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \" w \", \"execution_generation\": 2, "
	    "\"entitlement_revision\": 3, "
	    "\"expires_at\": \"2026-11-15T23:45:59.831204+00:00\", \"max_sessions\": 1, \"max_managed_processes\": 0}",
	    MSG_BOX_UPSERT_GRANT);
	is(g->grant.workspace, "w", "its workspace");
	ok(g->grant.generation == 2 && g->grant.revision == 3 && g->grant.max_sessions == 1 &&
		g->grant.max_managed_processes == 0,
	    "its numbers");
	ok(g->grant.expires_us == 1794786359831204, "its end");
	const struct msg_box_revoke_grant *r = act_asks("box_revoke_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"entitlement_revision\": 3}", MSG_BOX_REVOKE_GRANT);
	ok(strcmp(r->instance, "i") == 0 && strcmp(r->workspace, "w") == 0 && r->revision == 3, "a revocation");
}

TEST(skills)
{
	act_asks("box_list_skills", "{}", MSG_SKILL_LIST);
	const struct msg_skill_get *g = act_asks("box_get_skill", "{\"name\": \"demo\"}", MSG_SKILL_GET);
	is(g->name, "demo", "name");
	const struct msg_skill_create *c = act_asks("box_create_skill",
	    "{\"skill\": {\"name\": \"demo\", \"display_name\": \"D\xc3\xa9mo 1\", \"description\": null, "
	    "\"instructions\": \"# Hi\\u0000\"}}",
	    MSG_SKILL_CREATE);
	is(c->name, "demo", "name");
	ok(c->has_display_name && !c->has_description && c->has_instructions, "what was told; null is not");
	is(c->display_name, "D\xc3\xa9mo 1", "display_name");
	ok(c->instructions.len == 5, "instructions, NUL and all");
	const struct msg_skill_update *u = act_asks("box_update_skill",
	    "{\"name\": \"demo\", \"skill\": {\"name\": \"\", \"description\": null, \"instructions\": null, "
	    "\"package_root\": \"/x\"}}",
	    MSG_SKILL_UPDATE);
	ok(!u->has_display_name && u->has_description && u->has_instructions && u->instructions.len == 0,
	    "null is told");
	is(u->new_name, "", "no other name");
	is(u->package_root, "/x", "package_root");
	const struct msg_skill_delete *d = act_asks("box_delete_skill", "{\"name\": \"demo\"}", MSG_SKILL_DELETE);
	is(d->name, "demo", "name");
	const struct msg_skill_scan *s = act_asks("box_scan_skill_directory", "{\"path\": \"/p\"}", MSG_SKILL_SCAN);
	is(s->path, "/p", "path");
}

TEST(skill_files)
{
	const struct msg_skill_files *f = act_asks("box_list_skill_files", "{\"name\": \"demo\"}", MSG_SKILL_FILES);
	is(f->path, ".", "path");
	ok(!f->include_hidden && f->max_entries == 200, "include_hidden, max_entries");
	f = act_asks("box_list_skill_files",
	    "{\"name\": \"demo\", \"path\": \"a\", \"include_hidden\": \"x\", \"max_entries\": \" 5 \"}",
	    MSG_SKILL_FILES);
	ok(f->include_hidden && f->max_entries == 5, "any truth, any whole number");
	f = act_asks("box_list_skill_files", "{\"name\": \"demo\", \"max_entries\": \"x\"}", MSG_SKILL_FILES);
	cmp_ok(f->max_entries, "==", 0, "what is no number the store refuses");
	const struct msg_skill_read *r = act_asks(
	    "box_read_skill_file", "{\"name\": \"demo\", \"path\": \"SKILL.md\"}", MSG_SKILL_READ);
	is(r->path, "SKILL.md", "path");
	const struct msg_skill_write *w = act_asks(
	    "box_write_skill_file", "{\"name\": \"demo\", \"path\": \"a\", \"content\": \"xy\"}", MSG_SKILL_WRITE);
	ok(w->content.len == 2, "content");
	w = act_asks("box_write_skill_file", "{\"name\": \"demo\", \"path\": \"a\"}", MSG_SKILL_WRITE);
	ok(w->content.data != NULL && w->content.len == 0, "no content is an empty one");
}

int
main(void)
{
	act_open();
	run_tests();
	act_close();
	done_testing();
}
