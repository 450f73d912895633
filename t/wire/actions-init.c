/* box_init: the whole section is read, what is wrong in it refused before anything is asked, admission fails closed. */
#include "actbox.h"
#include "tap.h"

/* LangBot's shipped defaults, as it sends them. */
static const char shipped[] =
    "{\"enabled\": true, \"backend\": \"local\", \"limits\": {\"max_sessions\": 64, \"max_managed_processes\": 64, "
    "\"max_completed_processes\": 256, \"max_workspace_entries\": 100000, \"max_admission_records\": 100000, "
    "\"max_rpc_file_bytes\": 20971520}, \"admission\": {\"required\": false, \"logical_session_id\": \"global\", "
    "\"required_backend\": \"nsjail\", \"max_sessions\": 1, \"max_managed_processes\": 0, \"max_grant_ttl_sec\": 300, "
    "\"max_timeout_sec\": 120, \"cpus\": 1.0, \"memory_mb\": 512, \"pids_limit\": 128, \"read_only_rootfs\": true, "
    "\"workspace_quota_mb\": 0, \"readiness_cache_sec\": 15}, \"local\": {\"profile\": \"default\", \"image\": \"\", "
    "\"host_root\": \"./data/box\", \"default_workspace\": \"\", \"skills_root\": \"skills\", \"allowed_mount_roots\": "
    "[\"./data/box\", \"/tmp\"], \"workspace_quota_mb\": null}, \"default_memory_mb\": 1536, \"docker\": "
    "{\"cpu_limit_enabled\": true}, \"e2b\": {\"api_key\": \"\", \"api_url\": \"\", \"template\": \"\"}}";

static const struct msg_box_init *
init(const char *data)
{
	return act_asks("box_init", data, MSG_BOX_INIT);
}

TEST(shipped)
{
	const struct msg_box_init *b = init(shipped);

	ok(b->has_backend && b->has_limits && b->has_local && b->has_admission, "all four parts are there");
	is(b->backend, "local", "backend");
	is(b->admission_error, "", "admission is good");
	ok(!b->admission.required && b->admission.max_grant_ttl_sec == 300 && b->admission.cpus == 1.0, "admission");
	ok(b->limits.max_sessions == 64 && b->limits.max_rpc_file_bytes == 20971520, "limits");
	ok(b->limits_given.n == 5 && strcmp(b->limits_given.v[4], "max_rpc_file_bytes") == 0,
	    "five of them are known and given");
	is(b->local.host_root, "./data/box", "host_root");
	is(b->local.skills_root, "skills", "skills_root");
	is(b->local.default_workspace, "", "default_workspace");
	ok(b->local.allowed_mount_roots.n == 2 && strcmp(b->local.allowed_mount_roots.v[1], "/tmp") == 0,
	    "allowed_mount_roots");
	is(b->local.profile, "default", "profile");
	cmp_ok(b->local.workspace_quota_mb, "==", 0, "workspace_quota_mb");
}

TEST(absent)
{
	const struct msg_box_init *b = init("{}");

	ok(!b->has_backend && !b->has_limits && !b->has_local && !b->has_admission, "nothing given, nothing said");
	b = init("{\"limits\": null, \"admission\": null, \"local\": null, \"backend\": null}");
	ok(!b->has_limits && !b->has_admission && b->has_local && b->has_backend, "null limits and admission are none");
	b = init("{\"limits\": {\"completed_process_retention_sec\": 0}, \"local\": {}}");
	ok(b->limits_given.n == 1 && b->limits.completed_process_retention_sec == 0 && b->limits.max_sessions == 64,
	    "one limit");
}

TEST(quirks)
{
	const struct msg_box_init *b = init("{\"local\": {\"allowed_mount_roots\": \" /a , ,/b,\", "
					    "\"workspace_quota_mb\": \"x\", \"host_root\": \" /h \"}, "
					    "\"docker\": {\"cpu_limit_enabled\": \"false\"}}");

	ok(b->local.allowed_mount_roots.n == 2 && strcmp(b->local.allowed_mount_roots.v[0], "/a") == 0 &&
		strcmp(b->local.allowed_mount_roots.v[1], "/b") == 0,
	    "roots with commas between them");
	is(b->local.host_root, "/h", "stripped");
	cmp_ok(b->local.workspace_quota_mb, "==", 0, "the host's own quota does not matter");
	b = init("{\"local\": {\"allowed_mount_roots\": [null, \"\", \" /c \"]}}");
	ok(b->local.allowed_mount_roots.n == 1, "blank roots are none");
}

TEST(refused)
{
	static const char *const rows[][2] = {
		{ "{\"limits\": 5}", "^ValueError: box.limits must be an object$" },
		{ "{\"limits\": [1]}", "^ValueError: box.limits must be an object$" },
		{ "{\"limits\": {\"max_sessions\": true}}",
		    "^ValueError: box.limits.max_sessions must be an integer$" },
		{ "{\"limits\": {\"max_sessions\": \"5\"}}",
		    "^ValueError: box.limits.max_sessions must be an integer$" },
		{ "{\"limits\": {\"max_sessions\": 5.0}}", "^ValueError: box.limits.max_sessions must be an integer$" },
		{ "{\"limits\": {\"max_sessions\": 5001}}",
		    "^ValueError: box.limits.max_sessions must be between 0 and 5000$" },
		{ "{\"limits\": {\"max_managed_processes\": -1}}",
		    "^ValueError: box.limits.max_managed_processes must be between 0 and 1024$" },
		{ "{\"limits\": {\"max_completed_processes\": 10001}}", "between 0 and 10000$" },
		{ "{\"limits\": {\"max_admission_records\": 0}}",
		    "^ValueError: box.limits.max_admission_records must be between 1 and 250000$" },
		{ "{\"limits\": {\"max_rpc_file_bytes\": 104857601}}", "between 1 and 104857600$" },
		{ "{\"limits\": {\"completed_process_retention_sec\": 1000000000000000000000000}}",
		    "between 0 and 86400$" },
		{ "{\"local\": 5}", "^ValueError: box.local must be an object$" },
		{ "{\"local\": {\"host_root\": \"a\\u0000\"}}", "^BoxValidationError: embedded null byte$" },
		{ "{\"local\": {\"allowed_mount_roots\": 5}}", "allowed_mount_roots must be a list$" },
		{ "{\"local\": {\"allowed_mount_roots\": [\"a\\u0000\"]}}",
		    "allowed_mount_roots has an entry that is no path$" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		like(act_refusal("box_init", rows[i][0]), rows[i][1], "%s", rows[i][0]);
}

TEST(admission)
{
	static const char *const rows[][2] = {
		{ "5", "^1 validation error for SandboxAdmissionPolicy\n  Input should be a valid dictionary or "
		       "instance of" },
		{ "[]", "Input should be a valid dictionary" },
		{ "{\"x\": 1}", "x\n  Extra inputs are not permitted" },
		{ "{\"required\": \"maybe\"}", "required\n  Input should be a valid boolean, unable" },
		{ "{\"logical_session_id\": \"x\"}", "logical_session_id\n  Input should be 'global'$" },
		{ "{\"required_backend\": \"docker\"}", "Input should be 'nsjail'" },
		{ "{\"max_sessions\": 2}", "Value error, max_sessions must be between 0 and 1" },
		{ "{\"max_managed_processes\": 1}", "Value error, max_managed_processes must be 0" },
		{ "{\"max_grant_ttl_sec\": 0}", "max_grant_ttl_sec\n  Value error, must be greater than 0" },
		{ "{\"max_timeout_sec\": \"5\"}", "max_timeout_sec\n  Value error, must be an integer" },
		{ "{\"cpus\": true}", "Value error, cpus must be a number" },
		{ "{\"cpus\": 0}", "Value error, cpus must be greater than 0" },
		{ "{\"memory_mb\": 31}", "Value error, memory_mb must be at least 32" },
		{ "{\"pids_limit\": 0}", "pids_limit\n  Value error, must be greater than 0" },
		{ "{\"read_only_rootfs\": null}", "read_only_rootfs\n  Input should be a valid boolean" },
		{ "{\"workspace_quota_mb\": -1}", "Value error, must be greater than or equal to 0" },
		{ "{\"readiness_cache_sec\": 1.5}", "readiness_cache_sec\n  Value error, must be an integer" },
	};
	char data[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(data, sizeof(data), "{\"admission\": %s}", rows[i][0]);
		const struct msg_box_init *b = init(data);
		like(b->admission_error, rows[i][1], "%s", rows[i][0]);
		ok(b->has_admission, "and is there");
	}
	const struct msg_box_init *b = init(
	    "{\"admission\": {\"required\": \"yes\", \"cpus\": 2, \"read_only_rootfs\": 0}}");
	ok(*b->admission_error == '\0' && b->admission.required && b->admission.cpus == 2 &&
		!b->admission.read_only_rootfs,
	    "a good one");
}

int
main(void)
{
	act_open();
	run_tests();
	act_close();
	done_testing();
}
