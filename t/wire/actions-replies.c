/* Every reply has the shape that LangBot's reference shows, byte for byte: keys, order, times, floats. */
#include "actbox.h"
#include "tap.h"

static const uint64_t AT = 1794786150855903; /* 2026-11-15T23:42:30.855903Z */

static struct msg_box_result
result(void)
{
	struct msg_box_result r;

	msg_defaults(MSG_BOX_RESULT, &r);
	r.session_id = "person_u1";
	r.backend = "docker";
	r.duration_ms = 8;
	return r;
}

TEST(exec)
{
	struct msg_box_result r = result();

	act_say("box_exec", "{\"session_id\": \"person_u1\", \"cmd\": \"x\"}");
	r.exit_code = 3;
	r.stdout = blob_of(" \nhi\n", 5);
	r.stderr = blob_of("err\n", 4);
	r.stdout_bytes = 5;
	r.stderr_bytes = 4;
	is(act_reply(&r),
	    SUCCESS("{\"session_id\": \"person_u1\", \"backend_name\": \"docker\", \"status\": \"completed\", "
		    "\"exit_code\": 3, "
		    "\"stdout\": \"hi\", \"stderr\": \"err\", \"duration_ms\": 8}"),
	    "as the reference shows it");

	r = result();
	act_say("box_exec", "{\"session_id\": \"s\", \"timeout_sec\": \"1\"}");
	r.timed_out = true;
	r.notice = "Command timed out after 1 seconds.";
	r.stdout = blob_of("part\n", 5);
	r.stdout_bytes = 5;
	like(act_reply(&r),
	    "\"status\": \"timed_out\", \"exit_code\": null, \"stdout\": \"part\", \"stderr\": \"Command timed out "
	    "after 1 seconds\\.\"",
	    "timed out");
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.notice = "";
	r.stderr = blob_of("x", 1);
	r.stderr_bytes = 1;
	like(act_reply(&r), "\"stderr\": \"x\", ", "what it said itself stays");

	r = result();
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.exit_code = 137;
	r.stderr = blob_of("oops", 4);
	r.stderr_bytes = 4;
	r.notice = "killed: over the memory limit";
	like(act_reply(&r),
	    "\"exit_code\": 137, \"stdout\": \"\", \"stderr\": \"oops\\\\nkilled: over the memory limit\"",
	    "a notice is the last line");
	r.stderr = blob_of(NULL, 0);
	r.stderr_bytes = 0;
	act_say("box_exec", "{\"session_id\": \"s\"}");
	like(act_reply(&r), "\"stderr\": \"killed: over the memory limit\"", "or the only one");
}

TEST(bytes)
{
	static const struct {
		const char *bytes;
		size_t      n;
		const char *text;
	} rows[] = {
		{ "\xff\xfe"
		  "ab\n\n",
		    6,
		    "\xef\xbf\xbd\xef\xbf\xbd"
		    "ab" },
		{ "a\0b", 3, "a\\u0000b" },
		{ "\xe2\x82", 2, "\xef\xbf\xbd" },
		{ "\xf0\x9f\x98", 3, "\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82x", 3, "\xef\xbf\xbdx" },
		{ "\xf0\x80\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\x1b[0m\x7f", 5, "\\u001b[0m\\u007f" },
		{ "\xe3\x80\x80 x \xe3\x80\x80", 9, "x" },
	};
	char want[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct msg_box_result r = result();

		act_say("box_exec", "{\"session_id\": \"s\"}");
		r.stdout = blob_of(rows[i].bytes, rows[i].n);
		r.stdout_bytes = rows[i].n;
		snprintf(want, sizeof(want), "\"stdout\": \"%s\", \"stderr\"", rows[i].text);
		ok(strstr(act_reply(&r), want) != NULL, "bytes %zu as Python decodes them", i);
	}
}

TEST(clip)
{
	static const char     notice[] = "a\\n... [raw output clipped at 1048576 bytes, 4 bytes discarded]\"";
	struct msg_box_result r = result();
	char                 *bytes = malloc(1048580);

	memset(bytes, 'a', 1048580);
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.stdout = blob_of(bytes, 1048576);
	r.stdout_bytes = 1048580;
	const char *reply = act_reply(&r), *begin = strstr(reply, "\"stdout\": \"") + 11, *end = strstr(begin, notice);
	ok(end != NULL && end - begin == 1048575, "clipped, with the reference's notice");
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.stdout = blob_of(bytes, 1048576);
	r.stdout_bytes = 1048576;
	ok(strstr(act_reply(&r), "clipped") == NULL, "and not at the limit");
	free(bytes);
}

/* Both streams at their most, and characters that JSON escapes: the reply is cut, not lost. */
TEST(room)
{
	static const char     notice[] = " bytes discarded]\"";
	struct msg_box_result r = result();
	char                 *bytes = malloc(LIM_OUTPUT);

	memset(bytes, 1, LIM_OUTPUT);
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.stdout = r.stderr = blob_of(bytes, LIM_OUTPUT);
	r.stdout_bytes = r.stderr_bytes = LIM_OUTPUT + 5;
	const char *reply = act_reply(&r);
	ok(reply != NULL && strlen(reply) <= LIM_WS_MESSAGE && strlen(reply) > LIM_WS_MESSAGE - 80 * KIB,
	    "32 MiB of control characters fill a reply and no more");
	ok(reply != NULL && strstr(reply, notice) != NULL && strstr(strstr(reply, notice) + 1, notice) != NULL,
	    "both streams say that they were cut");
	memset(bytes, 'a', LIM_OUTPUT);
	act_say("box_exec", "{\"session_id\": \"s\"}");
	r.stderr = blob_of("x", 1);
	r.stderr_bytes = 1;
	reply = act_reply(&r);
	ok(reply != NULL && strlen(reply) <= LIM_WS_MESSAGE && strlen(reply) > LIM_WS_MESSAGE - 80 * KIB,
	    "what standard error leaves is standard output's");
	free(bytes);
}

static struct msg_box_process
process(void)
{
	static const char     *argv[] = { "cat", "-", NULL }, *keys[] = { "B", "A", NULL };
	struct msg_box_process p;

	msg_defaults(MSG_BOX_PROCESS, &p);
	p.session_id = "mcp-shared";
	p.info.session = "ws-9d14934957e7ea8dcfa33291-g1-mcp-shared";
	p.info.process = "default";
	p.info.state = PROCESS_RUNNING;
	p.info.argv = (struct strs){ 2, argv };
	p.info.env_keys = (struct strs){ 2, keys };
	p.info.workdir = "/workspace";
	p.info.started_ms = AT / 1000;
	return p;
}

#define PROCESS_HEAD "{\"session_id\": \"mcp-shared\", \"process_id\": \"default\", \"status\": "
#define PROCESS_BODY                                                                                         \
	", \"command\": \"cat\", \"args\": [\"-\"], \"cwd\": \"/workspace\", \"env_keys\": [\"A\", \"B\"], " \
	"\"attached\": "
#define PROCESS_RUNS                                                                                       \
	PROCESS_HEAD "\"running\"" PROCESS_BODY "false, \"started_at\": \"2026-11-15T23:42:30.855000Z\", " \
		     "\"exited_at\": null, \"exit_code\": null, \"stderr_preview\": \"\"}"

TEST(process)
{
	struct msg_box_process p = process();

	act_say("box_start_managed_process", "{\"session_id\": \"s\", \"spec\": {\"command\": \"cat\"}}");
	is(act_reply(&p), SUCCESS(PROCESS_RUNS), "a process that runs");
	static const enum process_state runs[] = { PROCESS_STARTING, PROCESS_BACKOFF, PROCESS_STOPPING };
	for (size_t i = 0; i < 3; i++) {
		p.info.state = runs[i];
		act_say("box_get_managed_process", "{\"session_id\": \"s\"}");
		like(act_reply(&p), "\"status\": \"running\"", "state %d is running", runs[i]);
	}
	p.info.state = PROCESS_EXITED;
	p.info.exited_ms = 1794786151000;
	p.info.attached = true;
	p.exit_code = -15;
	p.info.stderr_preview = blob_of("bad\xff\n", 5);
	act_say("box_get_managed_process", "{\"session_id\": \"s\"}");
	is(act_reply(&p),
	    SUCCESS(PROCESS_HEAD
		"\"exited\"" PROCESS_BODY
		"true, \"started_at\": \"2026-11-15T23:42:30.855000Z\", \"exited_at\": \"2026-11-15T23:42:31Z\", "
		"\"exit_code\": -15, \"stderr_preview\": \"bad\xef\xbf\xbd\"}"),
	    "one that has ended; a time without a fraction");
	p.info.state = PROCESS_FAILED;
	act_say("box_get_managed_process", "{\"session_id\": \"s\"}");
	like(act_reply(&p), "\"status\": \"exited\"", "failed is exited");

	struct buf text = { 0 };
	for (int i = 0; i < 5000; i++)
		buf_append(&text, i < 1000 ? "x" : "\xc3\xa9", i < 1000 ? 1 : 2);
	p.info.stderr_preview = blob_of(text.data, text.len);
	act_say("box_get_managed_process", "{\"session_id\": \"s\"}");
	const char *preview = strstr(act_reply(&p), "\"stderr_preview\": \"") + 19;
	cmp_ok(strcspn(preview, "\""), "==", 8000, "the last 4000 characters of standard error");
	buf_clear(&text);

	struct msg_done done;
	act_say("box_stop_managed_process", "{\"session_id\": \"s\"}");
	is(act_reply(&done), SUCCESS("{\"stopped\": \"default\"}"), "stopped");
	act_say("box_stop_managed_process", "{\"session_id\": \"s\", \"process_id\": \"5b\\u00e9\"}");
	is(act_reply(&done), SUCCESS("{\"stopped\": \"5b\xc3\xa9\"}"), "stopped by name");
}

#define SESSION SESSION_UP_TO_NOW "\"status\": "
#define SESSION_UP_TO_NOW                                                                                            \
	"{\"session_id\": \"mcp-shared\", \"backend_name\": \"docker\", \"backend_session_id\": \"langbot-box-1\", " \
	"\"image\": \"rockchin/langbot-sandbox:latest\", \"network\": \"off\", \"host_path\": null, "                \
	"\"host_path_mode\": \"rw\", "                                                                               \
	"\"mount_path\": \"/workspace\", \"persistent\": true, \"cpus\": 1.0, \"memory_mb\": 512, \"pids_limit\": "  \
	"128, "                                                                                                      \
	"\"read_only_rootfs\": true, \"workspace_quota_mb\": 0, \"created_at\": \"2026-11-15T23:42:30.855903Z\", "   \
	"\"last_used_at\": \"2026-11-15T23:42:30.855903Z\", "
#define IDLE SESSION "\"idle\""

TEST(session)
{
	struct msg_box_session s;
	struct msg_done        done;
	struct msg_box_process p[2] = { process(), process() };

	msg_defaults(MSG_BOX_SESSION, &s);
	s.session_id = "mcp-shared";
	s.backend = "docker";
	s.backend_session_id = "langbot-box-1";
	s.spec.image = "rockchin/langbot-sandbox:latest";
	s.spec.mount_path = "/workspace";
	s.spec.persistent = true;
	s.spec.cpus = 1;
	s.spec.memory_mb = 512;
	s.spec.pids_limit = 128;
	s.created_us = s.last_used_us = AT;
	act_say("box_create_session", "{\"session_id\": \"mcp-shared\"}");
	is(act_reply(&s), SUCCESS(IDLE "}"), "a session, without a key for processes");
	s.notice = "image x is not in the store";
	act_say("box_create_session", "{\"session_id\": \"mcp-shared\"}");
	is(act_reply(&s),
	    SUCCESS(SESSION_UP_TO_NOW "\"notice\": \"image x is not in the store\", \"status\": \"idle\"}"),
	    "one with a notice");
	s.notice = "";
	struct msg_box_sessions all = { .sessions = { 1, &s } };
	act_say("box_get_sessions", "{}");
	is(act_reply(&all), SUCCESS("{\"sessions\": [" IDLE "}]}"), "a list");
	s.running = true;
	act_say("box_get_sessions", "{}");
	is(act_reply(&all), SUCCESS("{\"sessions\": [" SESSION "\"running\"}]}"), "where a command runs");
	s.running = false;
	all.sessions.n = 0;
	act_say("box_get_sessions", "{}");
	is(act_reply(&all), SUCCESS("{\"sessions\": []}"), "an empty one");
	p[1].info.process = "x";
	s.processes.n = 1;
	s.processes.v = p;
	act_say("box_get_session", "{\"session_id\": \"mcp-shared\"}");
	is(act_reply(&s),
	    SUCCESS(IDLE ", \"managed_processes\": {\"default\": " PROCESS_RUNS "}, \"managed_process\": " PROCESS_RUNS
			 "}"),
	    "with its processes");
	s.processes.v = p + 1;
	act_say("box_get_session", "{\"session_id\": \"mcp-shared\"}");
	unlike(act_reply(&s), "\"managed_process\":", "none of them is the default one");
	act_say("box_delete_session", "{\"session_id\": \" a/b \"}");
	is(act_reply(&done), SUCCESS("{\"deleted\": \" a/b \"}"), "deleted, as it was sent");
}

#define CHECKS "{\"configuration\": true, \"cgroup_v2\": false}"
#define STRICT                                                                                                       \
	"{\"ready\": false, \"mode\": \"grant_enforced\", \"backend\": {\"name\": \"nsjail\", \"available\": true, " \
	"\"details\": "                                                                                              \
	"{\"available\": true}}, \"checks\": " CHECKS ", \"unsafe_soft_storage_limits\": false, \"error\": \"why\"}"

TEST(readiness)
{
	struct msg_check checks[] = { { "configuration", true }, { "cgroup_v2", false } },
			 details[] = { { "available", true } };
	struct msg_readiness r;

	msg_defaults(MSG_READINESS, &r);
	act_say("box_get_backend_info", "{}");
	is(act_reply(&r), SUCCESS("{\"name\": null, \"available\": false}"), "no backend");
	r.backend = "docker";
	r.available = r.ready = true;
	act_say("box_health", "{}");
	is(act_reply(&r), SUCCESS("{\"name\": \"docker\", \"available\": true}"), "health is the backend's");
	r.backend = "nsjail";
	r.ready = false;
	r.enforced = true;
	r.checks.n = 2;
	r.checks.v = checks;
	r.details.n = 1;
	r.details.v = details;
	r.error = "why";
	act_say("box_get_backend_info", "{}");
	is(act_reply(&r), SUCCESS("{\"name\": \"nsjail\", \"available\": false, \"readiness\": " STRICT "}"),
	    "enforced");
	act_say("box_health", "{}");
	is(act_reply(&r), SUCCESS(STRICT), "and its health");
}

TEST(status)
{
	struct msg_box_status_result s;

	msg_defaults(MSG_BOX_STATUS_RESULT, &s);
	s.readiness.backend = "docker";
	s.readiness.available = true;
	s.active_sessions = 2;
	s.session_ttl_sec = 300;
	s.capacity = (struct msg_box_capacity){ .limit = 64, .used = 2, .remaining = 62 };
	act_say("box_status", "{}");
	is(act_reply(&s),
	    SUCCESS("{\"backend\": {\"name\": \"docker\", \"available\": true}, \"active_sessions\": 2, "
		    "\"managed_processes\": 0, "
		    "\"session_ttl_sec\": 300, \"limits\": {\"max_sessions\": 64, \"max_managed_processes\": 64, "
		    "\"max_completed_processes\": 256, \"max_admission_records\": 100000, \"max_rpc_file_bytes\": "
		    "20971520}, \"capacity\": {\"limit\": 64, \"used\": 2, \"remaining\": 62}}"),
	    "status");
}

TEST(storage)
{
	struct msg_box_directory v[] = {
		{ "workspace", "/w/tenants/ws-1", "", false, { true, false, 20, 3, 0 } },
		{ "mcp", "/w/tenants/ws-1/.mcp", "workspace", false, { .errors = 1 } },
		{ "session_temp", "/tmp (2 sandbox sessions)", "", true, { true, true, 11455012864, 422732, 1 } },
		{ "managed_process_workspaces", "/workspace (1 managed-process sessions)", "session_workspaces", true,
		    { true, false, 16384, 2, 1 } },
	};
	struct msg_box_storage_result r = { 11455012884, { 4, v }, 2, 1 };

	act_say("box_get_storage_analysis", "{}");
	is(act_reply(&r),
	    SUCCESS("{\"size_bytes\": 11455012884, \"directories\": ["
		    "{\"key\": \"workspace\", \"path\": \"/w/tenants/ws-1\", \"kind\": \"root\", \"exists\": true, "
		    "\"size_bytes\": 20, \"file_count\": 3, \"error_count\": 0, \"scope\": \"runtime_host\"}, "
		    "{\"key\": \"mcp\", \"path\": \"/w/tenants/ws-1/.mcp\", \"kind\": \"detail\", \"exists\": false, "
		    "\"size_bytes\": 0, \"file_count\": 0, \"error_count\": 1, \"parent_key\": \"workspace\", "
		    "\"scope\": \"runtime_host\"}, "
		    "{\"key\": \"session_temp\", \"path\": \"/tmp (2 sandbox sessions)\", \"kind\": \"root\", "
		    "\"exists\": true, \"size_bytes\": 11455012864, \"file_count\": 422732, \"error_count\": 1, "
		    "\"scope\": \"sandbox_sessions\"}, "
		    "{\"key\": \"managed_process_workspaces\", \"path\": \"/workspace (1 managed-process sessions)\", "
		    "\"kind\": \"detail\", \"parent_key\": \"session_workspaces\", \"exists\": true, \"size_bytes\": "
		    "16384, \"file_count\": 2, \"error_count\": 1, \"scope\": \"sandbox_sessions\"}], "
		    "\"active_sessions\": 2, \"managed_processes\": 1}"),
	    "what a workspace occupies, each part with its order of keys");
	r.directories.n = 0;
	act_say("box_get_storage_analysis", "{}");
	like(act_reply(&r), "\"directories\": \\[\\], \"active", "nothing");
}

TEST(receipts)
{
	struct msg_box_grant  g = { .instance = "i",
		 .workspace = "ws-1",
		 .generation = 2,
		 .revision = 3,
		 .max_sessions = 1,
		 .expires_us = 1794786359831204 };
	struct msg_box_marker m = { .sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		.size_bytes = 64 };
	struct msg_done       done;

	act_say("box_upsert_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"ws-1\", \"execution_generation\": 2, "
	    "\"entitlement_revision\": 3, "
	    "\"expires_at\": 1794786359, \"max_sessions\": 1, \"max_managed_processes\": 0}");
	is(act_reply(&g),
	    SUCCESS("{\"installed\": true, \"workspace_uuid\": \"ws-1\", \"execution_generation\": 2, "
		    "\"entitlement_revision\": 3, "
		    "\"max_sessions\": 1, \"max_managed_processes\": 0, \"expires_at\": "
		    "\"2026-11-15T23:45:59.831204+00:00\"}"),
	    "the grant in force");
	act_say("box_revoke_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"ws-1\", \"entitlement_revision\": 3}");
	is(act_reply(&done), SUCCESS("{\"revoked\": true, \"workspace_uuid\": \"ws-1\", \"entitlement_revision\": 3}"),
	    "revoked");
	act_say("box_verify_shared_workspace", "{\"marker_name\": \".m\"}");
	is(act_reply(&m),
	    SUCCESS("{\"marker_name\": \".m\", \"sha256\": "
		    "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\", \"size\": 64}"),
	    "the marker");
	act_say("box_init", "{}");
	is(act_reply(&done), SUCCESS("{\"initialized\": true}"), "init");
	act_say("box_shutdown", "{}");
	is(act_reply(&done), SUCCESS("{}"), "shutdown");
}

#define SKILL                                                                                                         \
	"{\"name\": \"demo\", \"display_name\": \"D\xc3\xa9mo 1\", \"description\": \"d: x\", \"instructions\": \"# " \
	"Hi\\nbody\\n\", "                                                                                            \
	"\"package_root\": \"/srv/demo\", \"entry_file\": \"SKILL.md\", \"python_project\": false, \"created_at\": "  \
	"\"2026-11-15T23:42:30.855903+00:00\", \"updated_at\": \"2026-11-15T23:42:30+00:00\""

TEST(skills)
{
	struct msg_skill       s = { .name = "demo",
		      .display_name = "D\xc3\xa9mo 1",
		      .description = "d: x",
		      .instructions = blob_of("# Hi\nbody\n", 10),
		      .package_root = "/srv/demo",
		      .entry_file = "SKILL.md",
		      .created_us = AT,
		      .updated_us = 1794786150000000,
		      .source_path = "a/b" };
	struct msg_skills      all = { .skills = { 1, &s } };
	struct msg_skill_found found = { .found = true, .skill = { 1, &s } }, none = { 0 };
	struct msg_done        done;

	act_say("box_list_skills", "{}");
	is(act_reply(&all), SUCCESS("{\"skills\": [" SKILL "}]}"), "list");
	act_say("box_get_skill", "{\"name\": \"demo\"}");
	is(act_reply(&found), SUCCESS("{\"skill\": " SKILL "}}"), "get");
	act_say("box_get_skill", "{\"name\": \"demo\"}");
	is(act_reply(&none), SUCCESS("{\"skill\": null}"), "get what is not there");
	act_say("box_create_skill", "{\"skill\": {\"name\": \"demo\"}}");
	is(act_reply(&s), SUCCESS("{\"skill\": " SKILL "}}"), "create");
	act_say("box_update_skill", "{\"name\": \"demo\", \"skill\": {}}");
	is(act_reply(&s), SUCCESS("{\"skill\": " SKILL "}}"), "update");
	act_say("box_scan_skill_directory", "{\"path\": \"x\"}");
	is(act_reply(&s), SUCCESS(SKILL "}"), "scan: the skill itself");
	act_say("box_delete_skill", "{\"name\": \"demo\"}");
	is(act_reply(&done), SUCCESS("{\"deleted\": \"demo\"}"), "delete");
}

TEST(skill_files)
{
	struct msg_skill_entry   entries[] = { { .path = "SKILL.md", .name = "SKILL.md", .size_bytes = 59 },
		  { .path = "scripts", .name = "scripts", .is_dir = true } };
	struct msg_skill_entries list = { .name = "demo", .base_path = ".", .entries = { 2, entries } };
	struct msg_skill_file f = { .name = "demo", .path = "a/b", .content = blob_of("x\n", 2), .bytes_written = 2 };

	act_say("box_list_skill_files", "{\"name\": \"demo\"}");
	is(act_reply(&list),
	    SUCCESS("{\"skill\": {\"name\": \"demo\"}, \"base_path\": \".\", \"entries\": [{\"path\": \"SKILL.md\", "
		    "\"name\": \"SKILL.md\", "
		    "\"is_dir\": false, \"size\": 59}, {\"path\": \"scripts\", \"name\": \"scripts\", \"is_dir\": "
		    "true, \"size\": null}], "
		    "\"truncated\": false}"),
	    "files");
	act_say("box_read_skill_file", "{\"name\": \"demo\", \"path\": \"a/b\"}");
	is(act_reply(&f), SUCCESS("{\"skill\": {\"name\": \"demo\"}, \"path\": \"a/b\", \"content\": \"x\\n\"}"),
	    "read");
	act_say("box_write_skill_file", "{\"name\": \"demo\", \"path\": \"a/b\", \"content\": \"x\\n\"}");
	is(act_reply(&f), SUCCESS("{\"skill\": {\"name\": \"demo\"}, \"path\": \"a/b\", \"bytes_written\": 2}"),
	    "written");
}

/* Twenty skills of a megabyte each. */
TEST(too_large)
{
	static struct msg_skill s[20];
	char                   *text = malloc(MIB);

	memset(text, 'x', MIB);
	for (int i = 0; i < 20; i++) {
		msg_defaults(MSG_SKILL, &s[i]);
		s[i].name = "n";
		s[i].description = "";
		s[i].instructions = blob_of(text, i < 10 ? LIM_BLOB_INLINE : MIB);
	}
	struct msg_skills all = { .skills = { 10, s } };
	act_say("box_list_skills", "{}");
	ok(strlen(act_reply(&all)) > 10 * LIM_BLOB_INLINE, "a large reply goes");
	/* descriptors beside one message are few, so the bytes are in texts */
	for (int i = 0; i < 20; i++) {
		text[MIB - 1] = '\0';
		s[i].instructions = blob_of(NULL, 0);
		s[i].description = text;
	}
	all.skills.n = 17;
	act_say("box_list_skills", "{}");
	is(act_reply(&all), FAILURE("ValueError: Runtime message exceeds 16777216 byte limit"),
	    "one that is too large is told");
	free(text);
}

int
main(void)
{
	act_open();
	run_tests();
	act_close();
	done_testing();
}
