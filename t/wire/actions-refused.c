/*
 * What is wrong with an action's data is told in the words of LangBot's own classes; a tenant's only when the
 * supervisor has nothing against its context.
 */
#include "actbox.h"
#include "tap.h"

TEST(layout)
{
	is(act_refusal("box_exec", "{\"session_id\": \"s\", \"workdir\": \"rel\", \"timeout_sec\": \"abc\"}"),
	    "BoxValidationError: 2 validation errors for BoxSpec\n"
	    "workdir\n"
	    "  Value error, workdir must be an absolute path inside the sandbox\n"
	    "timeout_sec\n"
	    "  Input should be a valid integer, unable to parse string as an integer",
	    "the reference's own example, without what only its library tells");
	is(act_refusal("box_exec", "{\"extra_mounts\": [{\"host_path\": \"a\"}, 5], \"env\": {\"A\": 1}}"),
	    "BoxValidationError: 5 validation errors for BoxSpec\n"
	    "session_id\n"
	    "  Field required\n"
	    "env.A\n"
	    "  Input should be a valid string\n"
	    "extra_mounts.0.host_path\n"
	    "  Value error, host_path must be an absolute host path\n"
	    "extra_mounts.0.mount_path\n"
	    "  Field required\n"
	    "extra_mounts.1\n"
	    "  Input should be a valid dictionary or instance of BoxMountSpec",
	    "all that is wrong, in the order of declaration, with its place");
	is(act_refusal("box_exec", "{\"session_id\": \"s\", \"host_path\": \"/h\", \"workdir\": \"/workspacex\"}"),
	    "BoxValidationError: 1 validation error for BoxSpec\n"
	    "  Value error, workdir must stay under mount_path when host_path is provided",
	    "fields that are right each by itself");
	unlike(
	    act_refusal("box_exec", "{\"session_id\": \"s\", \"host_path\": \"/h\", \"workdir\": \"/x\", \"cpus\": 0}"),
	    "must stay under", "are looked at together only then");
}

#define DIGITS "86d45b4acbf7fba51dd0ac4c61ce3d9527024373edff9b3d9a6aeb1b0a7d0a21"
#define PLACE "/opt/langbot-artifacts"

/* What is said of one mount with these fields beside its host_path. */
static const char *
of_mount(const char *fields)
{
	static char data[1024];

	snprintf(
	    data, sizeof(data), "{\"session_id\": \"s\", \"extra_mounts\": [{\"host_path\": \"/h\", %s}]}", fields);
	return act_refusal("box_exec", data);
}

/* Texts of upstream's own, as its version 0.7.16 gives them. */
TEST(mounts)
{
	static const char *const fields[][3] = {
		{ "\"mount_path\": \"/m/\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"/m//n\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"/m/../n\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"/m/.\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"///m\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"/..\"", "mount_path", "mount_path must be normalized" },
		{ "\"mount_path\": \"/m\", \"content_digest\": \"\"", "content_digest",
		    "content_digest must use sha256:<hex>" },
		{ "\"mount_path\": \"/m\", \"content_digest\": \"md5:1\"", "content_digest",
		    "content_digest must use sha256:<hex>" },
		{ "\"mount_path\": \"/m\", \"content_digest\": \"sha256:12\"", "content_digest",
		    "content_digest must use sha256:<64 lowercase hex>" },
		{ "\"mount_path\": \"/m\", \"content_digest\": "
		  "\"sha256:A6d45b4acbf7fba51dd0ac4c61ce3d9527024373edff9b3d9a6aeb1b0a7d0a21\"",
		    "content_digest", "content_digest must use sha256:<64 lowercase hex>" },
		{ "\"mount_path\": \"/m\", \"manifest_path\": \"\"", "manifest_path",
		    "manifest_path must be an absolute host path" },
		{ "\"mount_path\": \"/m\", \"manifest_path\": \"x/y\"", "manifest_path",
		    "manifest_path must be an absolute host path" },
	};
	char want[512];

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		snprintf(want, sizeof(want),
		    "BoxValidationError: 1 validation error for BoxSpec\nextra_mounts.0.%s\n  Value error, %s",
		    fields[i][1], fields[i][2]);
		is(of_mount(fields[i][0]), want, "%s", fields[i][0]);
	}
	is(of_mount("\"mount_path\": \"" PLACE "\""),
	    "BoxValidationError: 1 validation error for BoxSpec\nextra_mounts.0\n"
	    "  Value error, Artifact paths require a read-only digest-addressed mount and manifest",
	    "an ordinary mount where artifacts are");
}

#define GOOD(mode, digits, digest, manifest)                                                            \
	"\"mount_path\": \"" PLACE "/" digits "\", \"mode\": \"" mode "\", \"content_digest\": " digest \
	", \"manifest_path\": " manifest

TEST(artifacts)
{
	static const char *const bad[] = {
		GOOD("rw", DIGITS, "\"sha256:" DIGITS "\"", "\"/f\""),
		GOOD("none", DIGITS, "\"sha256:" DIGITS "\"", "\"/f\""),
		GOOD("ro", DIGITS, "null", "\"/f\""),
		GOOD("ro", DIGITS, "\"sha256:" DIGITS "\"", "null"),
		GOOD("ro", "a/" DIGITS, "\"sha256:" DIGITS "\"", "\"/f\""),
		GOOD("ro", "x", "\"sha256:" DIGITS "\"", "\"/f\""),
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		like(of_mount(bad[i]),
		    "extra_mounts.0\n  Value error, Artifact paths require a read-only digest-addressed mount and "
		    "manifest",
		    "%s", bad[i]);
}

/* Action, data, and a regular expression of the text. */
static const char *const rows[][3] = {
	{ "box_exec", "{\"session_id\": \" \"}", "session_id\n  Value error, session_id must not be empty" },
	{ "box_exec", "{\"session_id\": 5}", "session_id\n  Input should be a valid string$" },
	{ "box_exec", "{\"session_id\": \"s\", \"workdir\": null}", "workdir\n  Input should be a valid string" },
	{ "box_exec", "{\"session_id\": \"s\", \"timeout_sec\": 0}",
	    "Value error, timeout_sec must be greater than 0" },
	{ "box_exec", "{\"session_id\": \"s\", \"network\": \"ON\"}", "network\n  Input should be 'off' or 'on'$" },
	{ "box_exec", "{\"session_id\": \"s\", \"env\": null}", "env\n  Input should be a valid dictionary$" },
	{ "box_exec", "{\"session_id\": \"s\", \"image\": null}", "image\n  Input should be a valid string" },
	{ "box_exec", "{\"session_id\": \"s\", \"host_path\": \"\"}",
	    "Value error, host_path must be an absolute host path" },
	{ "box_exec", "{\"session_id\": \"s\", \"host_path_mode\": \"x\"}", "Input should be 'none', 'ro' or 'rw'" },
	{ "box_exec", "{\"session_id\": \"s\", \"mount_path\": \"x\"}",
	    "mount_path must be an absolute path inside the sandbox" },
	{ "box_exec", "{\"session_id\": \"s\", \"extra_mounts\": {}}",
	    "extra_mounts\n  Input should be a valid list$" },
	{ "box_exec", "{\"session_id\": \"s\", \"skill_name\": \"a b\"}",
	    "skill_name can only contain up to 64 letters, numbers, hyphens and underscores" },
	{ "box_exec", "{\"session_id\": \"s\", \"skill_name\": \"--\"}", "skill_name can only contain" },
	{ "box_exec", "{\"session_id\": \"s\", \"persistent\": 2}",
	    "persistent\n  Input should be a valid boolean, unable to interpret input" },
	{ "box_exec", "{\"session_id\": \"s\", \"cpus\": 0}", "cpus must be greater than 0" },
	{ "box_exec", "{\"session_id\": \"s\", \"memory_mb\": 31}", "memory_mb must be at least 32" },
	{ "box_exec", "{\"session_id\": \"s\", \"pids_limit\": 0}", "pids_limit must be at least 1" },
	{ "box_exec", "{\"session_id\": \"s\", \"workspace_quota_mb\": -1}",
	    "workspace_quota_mb must be greater than or equal to 0" },
	/* what upstream takes, and no message of ours holds */
	{ "box_exec", "{\"session_id\": \"s\", \"memory_mb\": 1000000000000000000000000000000}",
	    "memory_mb\n  Value error, memory_mb must be at most 1048576$" },
	{ "box_exec", "{\"session_id\": \"s\", \"timeout_sec\": 604801}", "timeout_sec must be at most 604800" },
	{ "box_exec", "{\"session_id\": \"s\", \"cpus\": \"inf\"}", "cpus must be at most 1024" },
	{ "box_exec", "{\"session_id\": \"s\", \"cpus\": \"nan\"}", "cpus must be a number" },
	{ "box_exec", "{\"session_id\": \"s\", \"cmd\": \"a\\u0000b\"}", "^BoxValidationError: embedded null byte$" },
	{ "box_exec", "{\"session_id\": \"s\", \"env\": {\"A\\u0000\": \"\"}}",
	    "^BoxValidationError: embedded null byte$" },
	{ "box_get_session", "{}", "^KeyError: 'session_id'$" },
	{ "box_get_session", "{\"session_id\": \" \\u3000\"}", "^ValueError: Box session_id must not be empty$" },
	{ "box_get_session", "{\"session_id\": null}", "^ValueError: Box session_id must not be empty$" },
	{ "box_delete_session", "{}", "^KeyError: 'session_id'$" },
	{ "box_start_managed_process", "{\"spec\": {}}", "^KeyError: 'session_id'$" },
	{ "box_start_managed_process", "{\"session_id\": \"s\"}", "^KeyError: 'spec'$" },
	{ "box_start_managed_process", "{\"session_id\": \"s\", \"spec\": {\"command\": \" \"}}",
	    "^BoxValidationError: 1 validation error for BoxManagedProcessSpec\ncommand\n  Value error, command must "
	    "not be empty" },
	{ "box_start_managed_process", "{\"session_id\": \"s\", \"spec\": {\"command\": \"c\", \"args\": [\"a\", 1]}}",
	    "args.1\n  Input should be a valid string" },
	{ "box_start_managed_process", "{\"session_id\": \"s\", \"spec\": {\"command\": \"c\", \"cwd\": \"x\"}}",
	    "cwd must be an absolute path inside the sandbox" },
	{ "box_start_managed_process", "{\"session_id\": \"s\", \"spec\": 5}",
	    "BoxManagedProcessSpec\n  Input should be a valid dictionary or instance of BoxManagedProcessSpec" },
	{ "box_get_managed_process", "{}", "^KeyError: 'session_id'$" },
	{ "box_stop_managed_process", "{}", "^KeyError: 'session_id'$" },
	{ "box_get_skill", "{}", "^KeyError: 'name'$" },
	{ "box_create_skill", "{}", "^BoxValidationError: 'skill'$" },
	{ "box_create_skill", "{\"skill\": 5}", "^BoxValidationError: skill must be an object$" },
	{ "box_update_skill", "{}", "^BoxValidationError: 'name'$" },
	{ "box_update_skill", "{\"name\": \"x\"}", "^BoxValidationError: 'skill'$" },
	{ "box_delete_skill", "{}", "^BoxValidationError: 'name'$" },
	{ "box_scan_skill_directory", "{}", "^BoxValidationError: 'path'$" },
	{ "box_list_skill_files", "{}", "^BoxValidationError: 'name'$" },
	{ "box_read_skill_file", "{\"name\": \"x\"}", "^BoxValidationError: 'path'$" },
	{ "box_read_skill_file", "{\"name\": \"x\", \"path\": \"a\\u0000\"}",
	    "^BoxValidationError: embedded null byte$" },
	{ "box_write_skill_file", "{\"name\": \"x\"}", "^BoxValidationError: 'path'$" },
	{ "box_write_skill_file", "{\"name\": \"x\", \"path\": \"a\", \"content\": 5}",
	    "^BoxValidationError: content must be a string$" },
	{ "box_preview_skill_zip", "{}", "^BoxValidationError: 'file_key'$" },
	{ "box_install_skill_zip", "{\"file_key\": \"k.zip\"}",
	    "^BoxValidationError: \\[Errno 2\\] No such file or directory: 'k.zip'$" },
	{ "box_upsert_sandbox_admission_grant", "{}",
	    "^BoxValidationError: 7 validation errors for SandboxAdmissionGrant\ninstance_uuid\n" },
	{ "box_upsert_sandbox_admission_grant",
	    "{\"instance_uuid\": \" \", \"workspace_uuid\": \"w\", \"execution_generation\": true, "
	    "\"entitlement_revision\": 0, "
	    "\"expires_at\": \"2026-11-15T23:45:59\", \"max_sessions\": -1, \"max_managed_processes\": \"0\", \"x\": "
	    "1}",
	    "^BoxValidationError: 7 validation errors for SandboxAdmissionGrant\n"
	    "instance_uuid\n  Value error, must not be empty\n"
	    "execution_generation\n  Value error, must be an integer\n"
	    "entitlement_revision\n  Value error, must be greater than or equal to 1\n"
	    "expires_at\n  Value error, expires_at must include a timezone\n"
	    "max_sessions\n  Value error, must be greater than or equal to 0\n"
	    "max_managed_processes\n  Value error, must be an integer\n"
	    "x\n  Extra inputs are not permitted$" },
	{ "box_revoke_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"entitlement_revision\": 1.0}",
	    "SandboxAdmissionRevocation\nentitlement_revision\n  Value error, entitlement_revision must be an "
	    "integer" },
	{ "box_revoke_sandbox_admission_grant",
	    "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"entitlement_revision\": 0}",
	    "Value error, entitlement_revision must be greater than or equal to 1" },
};

TEST(rows)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		like(act_refusal(rows[i][0], rows[i][1]), rows[i][2], "%s %.60s", rows[i][0], rows[i][1]);
}

/* n times c between two texts. */
static char *
stretched(const char *before, char c, size_t n, const char *after)
{
	size_t head = strlen(before);
	char  *s = malloc(head + n + strlen(after) + 1);

	memcpy(s, before, head);
	memset(s + head, c, n);
	strcpy(s + head + n, after);
	return s;
}

TEST(long)
{
	static const struct {
		const char *action, *before, *after, *why;
		size_t      n;
	} longs[] = {
		{ "box_exec", "{\"session_id\": \"", "\"}", "Value error, session_id must be at most 255 bytes", 256 },
		{ "box_create_session", "{\"session_id\": \"s\", \"image\": \"", "\"}",
		    "image must be at most 255 bytes", 256 },
		{ "box_exec", "{\"session_id\": \"s\", \"cmd\": \"", "\"}", "cmd must be at most 1048576 bytes",
		    1048577 },
		{ "box_delete_session", "{\"session_id\": \"", "\"}",
		    "^BoxSessionNotFoundError: session x{256} not found$", 256 },
		{ "box_get_managed_process", "{\"session_id\": \"s\", \"process_id\": \"", "\"}",
		    "^BoxManagedProcessNotFoundError: session s has no managed process with process_id=x{200}", 300 },
		{ "box_delete_skill", "{\"name\": \"", "\"}", "^BoxValidationError: Skill \"x{200}.*\" not found$",
		    600 },
		{ "box_create_skill", "{\"skill\": {\"name\": \"", "\"}}",
		    "^BoxValidationError: Skill name cannot exceed 64 characters$", 600 },
		{ "box_read_skill_file", "{\"name\": \"n\", \"path\": \"", "\"}",
		    "^BoxValidationError: path must be at most 4095 bytes$", 4096 },
		{ "box_get_sessions_x", "{\"a\": \"", "\"}", "^ValueError: Action box_get_sessions_x not found$", 10 },
	};

	for (size_t i = 0; i < sizeof(longs) / sizeof(*longs); i++) {
		char *data = stretched(longs[i].before, 'x', longs[i].n, longs[i].after);

		like(
		    act_refusal(longs[i].action, data), longs[i].why, "%s with %zu bytes", longs[i].action, longs[i].n);
		free(data);
	}
	char *data = stretched("{\"name\": \"", 'x', 600, "\"}");
	act_say("box_get_skill", data);
	ok(fakews_asked(&act_ws)->type == MSG_BOX_INVALID, "a skill that no message can name is not asked for");
	struct msg_done done;
	is(act_reply(&done), SUCCESS("{\"skill\": null}"), "and not there");
	free(data);
}

/* What is echoed, or told, is bounded: 128 of them may wait. */
TEST(huge)
{
	char *blanks = stretched("{\"session_id\": \"s", ' ', MIB, "\"}"),
	     *name = stretched("{\"name\": \"", 'x', MIB, "\"}");
	char *key = stretched("{\"", 'k', MIB, "\": 1}"),
	     *seq = stretched("{\"action\": \"__ping\", \"data\": {}, \"seq_id\": \"", '1', MIB, "\"}");

	is(act_refusal("box_delete_session", blanks), "ValueError: a name of that length is not taken",
	    "a name with a megabyte of blanks");
	act_refusal("box_delete_skill", name);
	like(act_ws.sent.data, "x\\.\\.\\. \\[protocol error truncated\\]\"", "a refusal of a megabyte is cut");
	cmp_ok(act_ws.sent.len, "<", 270000, "at a quarter of it");
	act_refusal("box_upsert_sandbox_admission_grant", key);
	cmp_ok(act_ws.sent.len, "<", 270000, "also when it is about a key");
	fakews_text(&act_ws, seq);
	like(fakews_sent(&act_ws), "^\\{\"seq_id\": -1, \"code\": 1", "a seq_id of a megabyte is none");
	free(blanks);
	free(name);
	free(key);
	free(seq);
}

/* Many wrong values are counted, and the first of them told. */
TEST(many)
{
	struct buf data = { 0 };

	buf_printf(&data, "{\"session_id\": \"s\", \"env\": {\"A0\": 1");
	for (int i = 1; i < 4000; i++)
		buf_printf(&data, ", \"A%d\": %d", i, i);
	buf_append(&data, "}}", 3);
	const char *text = act_refusal("box_exec", data.data);
	like(
	    text, "^BoxValidationError: 4000 validation errors for BoxSpec\nenv.A0\n", "4000 wrong values are counted");
	cmp_ok(strlen(text), "<", 70000, "and the text is bounded");
	buf_clear(&data);
	buf_printf(&data, "{\"session_id\": \"s\", \"env\": {\"A\": \"\"");
	for (int i = 0; i < 4096; i++)
		buf_printf(&data, ", \"B%d\": \"\"", i);
	buf_append(&data, "}}", 3);
	like(act_refusal("box_exec", data.data), "env must have at most 4096 entries", "too many are refused at once");
	buf_clear(&data);
}

TEST(who_is_first)
{
	act_say("box_exec", "{}");
	const struct fake_ask *a = fakews_asked(&act_ws);
	ok(a != NULL && a->type == MSG_BOX_INVALID && act_ws.nsent == 0, "wrong data: the context is shown first");
	const struct msg_box_invalid *b = a->msg.body;
	is(b->context.workspace, "ws-1", "and is whole");
	fakews_fail(&act_ws, a, E_DENIED, "Stale Box placement generation");
	is(fakews_sent(&act_ws), FAILURE("PermissionError: Stale Box placement generation"),
	    "the supervisor's error wins");
	act_say("box_init", "{\"limits\": 5}");
	ok(fakews_asked(&act_ws) == NULL, "the host's own actions are refused at once");
}

int
main(void)
{
	act_open();
	run_tests();
	act_close();
	done_testing();
}
