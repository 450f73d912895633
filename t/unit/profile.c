/* Profiles, and what an agent's request becomes of them: every field, locks, clamps, and each refusal. */
#include <sodium.h>

#include "supervisor/agent/agent_plan.h"
#include "tap.h"

static struct config      config;
static struct agent_rules rules = { .config = &config };
static struct agent_plan  plan;
static struct err         e;

static struct msg_agent_exec
request(const char *profile)
{
	struct msg_agent_exec x;

	msg_defaults(MSG_AGENT_EXEC, &x);
	x.command = "true";
	x.profile = profile;
	return x;
}

static bool
takes(const struct msg_agent_exec *x)
{
	return agent_plan(&plan, &rules, x, &e) == 0;
}

static void
refuses(const struct msg_agent_exec *x, const char *words, const char *name)
{
	ok(!takes(x) && e.code == E_INVALID, "%s", name);
	is(e.text, words, "in its words");
}

/* Written down a second time, from the reference. */
static const struct {
	const char     *name;
	enum network    network;
	enum mount_mode mode;
	uint64_t        timeout, most;
	double          cpus;
	uint64_t        memory, pids;
	bool            read_only, locks;
} table[] = {
	{ "default", NETWORK_ON, MOUNT_RW, 30, 120, 1, 512, 128, true, false },
	{ "offline", NETWORK_OFF, MOUNT_RW, 30, 120, 1, 512, 128, true, false },
	{ "offline_readonly", NETWORK_OFF, MOUNT_RO, 30, 60, 0.5, 256, 64, true, true },
	{ "network_basic", NETWORK_ON, MOUNT_RW, 30, 120, 1, 512, 128, true, false },
	{ "network_extended", NETWORK_ON, MOUNT_RW, 30, 300, 2, 1024, 256, false, false },
};

_Static_assert(PROFILES == sizeof(table) / sizeof(*table), "all are here");

TEST(every_field)
{
	for (size_t i = 0; i < PROFILES; i++) {
		struct msg_agent_exec  x = request(table[i].name);
		const struct msg_spec *s = &plan.spec;

		ok(takes(&x), "%s", table[i].name);
		is(plan.profile->name, table[i].name, "has its name");
		is(s->image, "rockchin/langbot-sandbox:latest", "its image");
		cmp_ok(s->network, "==", table[i].network, "its network");
		cmp_ok(s->host_path_mode, "==", table[i].mode, "its mode");
		cmp_ok(plan.timeout_sec, "==", table[i].timeout, "its timeout");
		ok(s->cpus == table[i].cpus, "its cpus");
		cmp_ok(s->memory_mb, "==", table[i].memory, "its memory");
		cmp_ok(s->pids_limit, "==", table[i].pids, "its processes");
		cmp_ok(s->read_only_rootfs, "==", table[i].read_only, "its root");
		cmp_ok(s->workspace_quota_mb, "==", 0, "no quota");
		is(s->host_path, "", "and a private workspace");
		is(plan.workdir, "/workspace", "to work in");
	}
}

/* Each field asked for otherwise: it counts, or it is locked. */
TEST(locks_and_wishes)
{
	for (size_t i = 0; i < PROFILES; i++) {
		struct msg_agent_exec  x = request(table[i].name);
		const struct msg_spec *s = &plan.spec;
		bool                   locks = table[i].locks;

		x.network = table[i].network == NETWORK_ON ? "off" : "on";
		x.host_path_mode = table[i].mode == MOUNT_RW ? "ro" : "rw";
		x.read_only_rootfs = lax_text(table[i].read_only ? "no" : "yes");
		x.image = "other";
		x.timeout_sec = lax_number(7);
		x.cpus = lax_text("0.25");
		x.memory_mb = lax_number(64);
		x.pids_limit = lax_text("9");
		x.workspace_quota_mb = lax_number(3);
		ok(takes(&x), "%s with wishes", table[i].name);
		ok((s->network == table[i].network) == locks, "network");
		ok((s->host_path_mode == table[i].mode) == locks, "host_path_mode");
		ok((s->read_only_rootfs == table[i].read_only) == locks, "read_only_rootfs");
		is(s->image, "other", "image");
		ok(plan.timeout_sec == 7 && s->cpus == 0.25 && s->memory_mb == 64, "timeout, cpus, memory");
		ok(s->pids_limit == 9 && s->workspace_quota_mb == 3, "processes, quota");
		x.network = x.host_path_mode = "nonsense";
		ok(takes(&x) == locks, "what is locked is not even looked at");
	}
}

TEST(clamps)
{
	for (size_t i = 0; i < PROFILES; i++) {
		struct msg_agent_exec x = request(table[i].name);
		const struct lax far[] = { lax_number(999), lax_text("999"), lax_text(" 1_000 "), lax_text("999.0"),
			{ .kind = LAX_FLOAT, .real = 999.0 }, lax_number(INT64_MAX),
			lax_number((int64_t)table[i].most + 1) };

		for (size_t k = 0; k < sizeof(far) / sizeof(*far); k++) {
			x.timeout_sec = far[k];
			ok(takes(&x) && plan.timeout_sec == table[i].most, "%s: timeout %zu is clamped", table[i].name,
			    k);
		}
		x.timeout_sec = lax_number((int64_t)table[i].most);
		ok(takes(&x) && plan.timeout_sec == table[i].most, "the most itself");
		x.timeout_sec = lax_number((int64_t)table[i].most - 1);
		ok(takes(&x) && plan.timeout_sec == table[i].most - 1, "and one less");
		x.timeout_sec = (struct lax){ .kind = LAX_BOOL, .boolean = true };
		ok(takes(&x) && plan.timeout_sec == 1, "true is 1");
	}
}

TEST(refusals)
{
	struct msg_agent_exec x = request("magic");

	refuses(&x,
	    "unknown box profile 'magic', available profiles: default, network_basic, network_extended, offline, "
	    "offline_readonly",
	    "an unknown profile");
	x = request("");
	x.timeout_sec = lax_number(0);
	refuses(&x, "Value error, timeout_sec must be greater than 0", "no time");
	x.timeout_sec = lax_number(-1);
	refuses(&x, "Value error, timeout_sec must be greater than 0", "less than none");
	x.timeout_sec = lax_text("abc");
	refuses(&x, "Input should be a valid integer, unable to parse string as an integer", "what is no number");
	x.timeout_sec = (struct lax){ .kind = LAX_FLOAT, .real = 30.5 };
	refuses(&x, "Input should be a valid integer, got a number with a fractional part", "half a second");
	x = request("");
	x.memory_mb = lax_number(31);
	refuses(&x, "Value error, memory_mb must be at least 32", "little memory");
	x.memory_mb = lax_number(1 << 21);
	refuses(&x, "Value error, memory_mb must be at most 1048576", "much");
	x.memory_mb = lax_number(32);
	ok(takes(&x), "the least is enough");
	x.pids_limit = lax_number(0);
	refuses(&x, "Value error, pids_limit must be at least 1", "no process");
	x.pids_limit = lax_number(1);
	ok(takes(&x), "one");
	x.cpus = lax_number(0);
	refuses(&x, "Value error, cpus must be greater than 0", "no cpu");
	x.cpus = lax_text("nan");
	refuses(&x, "Value error, cpus must be greater than 0", "not a number of them");
	x.cpus = lax_text("inf");
	refuses(&x, "Value error, cpus must be at most 1024", "all there are");
	x = request("");
	x.workspace_quota_mb = lax_number(-1);
	refuses(&x, "Value error, workspace_quota_mb must be greater than or equal to 0", "a negative quota");
	x = request("");
	x.read_only_rootfs = lax_text("perhaps");
	refuses(&x, "Input should be a valid boolean, unable to interpret input", "neither yes nor no");
	x = request("");
	x.network = "On";
	refuses(&x, "Input should be 'off' or 'on'", "another network");
	x = request("");
	x.host_path_mode = "wo";
	refuses(&x, "Input should be 'none', 'ro' or 'rw'", "another mode");
	x = request("");
	x.workdir = "src";
	refuses(&x, "Value error, workdir must be an absolute path inside the sandbox", "a relative workdir");
	x = request("");
	x.command = " \n\t";
	refuses(&x, "cmd must not be empty", "no command");
	/* the first of several, in the order of LangBot's fields */
	x.memory_mb = lax_number(1);
	x.timeout_sec = lax_number(0);
	refuses(&x, "Value error, timeout_sec must be greater than 0", "of several the first");
}

TEST(host_paths)
{
	const char           *roots[] = { "/srv/a", "/srv/b", NULL };
	struct msg_agent_exec x = request("");

	x.host_path = "srv/a";
	refuses(&x, "Value error, host_path must be an absolute host path", "a relative host_path");
	x.host_path = "/srv/a/x";
	refuses(&x, "host_path mounting is disabled because no allowed_mount_roots are configured", "without roots");
	x.host_path_mode = "none";
	ok(takes(&x) && plan.spec.roots.n == 0, "what is not mounted needs none");
	x.host_path_mode = "";
	rules.roots = (struct strs){ 2, roots };
	ok(takes(&x), "with roots");
	is(plan.spec.host_path, "/srv/a/x", "it is asked for");
	ok(plan.spec.roots.n == 2, "bound to them, which its worker looks after");
	x.workdir = "/tmp";
	refuses(&x, "Value error, workdir must stay under mount_path when host_path is provided", "working elsewhere");
	x.workdir = "/workspaces";
	refuses(&x, "Value error, workdir must stay under mount_path when host_path is provided", "or beside it");
	x.workdir = " /workspace/src ";
	ok(takes(&x), "below it");
	is(plan.workdir, "/workspace/src", "blanks do not count");
	rules.roots = (struct strs){ 0 };
}

TEST(default_workspaces)
{
	struct msg_agent_exec x = request("");

	config_set(&config, "agent.default_workspace", "/srv/ws", &e);
	ok(takes(&x), "a configured workspace");
	is(plan.spec.host_path, "/srv/ws/default", "of nobody in particular");
	cmp_ok(plan.spec.roots.n, "==", 0, "is the operator's own word");
	is(plan.session, "agent@query_unknown", "with a session of that name");
	x.instance = "inst-1";
	x.workspace = "ws-1";
	x.session_id = "\xe7\xbe\xa4\xe8\x81\x8a 42/a";
	ok(takes(&x), "a tenant");
	is(plan.spec.host_path, "/srv/ws/tenants/ws-9d14934957e7ea8dcfa33291", "has its own directory");
	is(plan.session_id, "42-a", "a safe id");
	is(plan.session, "agent@ws-9d14934957e7ea8dcfa33291@42-a", "in a name nobody else can have");
	x.host_path_mode = "none";
	x.workdir = "/tmp";
	ok(takes(&x), "and with mode none a private workspace after all");
	x = request("");
	x.session_id = "ws-9d14934957e7ea8dcfa33291@42-a";
	ok(takes(&x) && strcmp(plan.session, "agent@ws-9d14934957e7ea8dcfa33291-42-a") == 0,
	    "no id passes for a tenant's");
	x.session_id = "!!!";
	ok(!takes(&x) && e.code == E_VALUE, "an id without any character");
	is(e.text, "Box session_id must contain a valid character", "in its words");
	x.session_id = "  ";
	ok(!takes(&x) && e.code == E_VALUE, "an empty one");
	is(e.text, "Box session_id must not be empty", "in its words");
	char id[300];
	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	x.session_id = id;
	ok(!takes(&x), "one that is too long");
	config_set(&config, "agent.default_workspace", "", &e);
}

TEST(templates)
{
	struct msg_agent_exec x = request("");

	x.launcher_type = "person";
	x.launcher_id = "42";
	ok(takes(&x) && strcmp(plan.session_id, "person_42") == 0, "the default template");
	x.template = "{global}";
	ok(takes(&x) && strcmp(plan.session_id, "global") == 0, "the request's");
	x.session_id = "mine";
	ok(takes(&x) && strcmp(plan.session_id, "mine") == 0, "an id goes before it");
	x.template = "{";
	x.session_id = "";
	ok(!takes(&x) && e.code == E_INVALID, "what is no template");
	like(e.text, "^session template '\\{': ", "is told");
	ok(config_set(&config, "agent.session_template", "s-{launcher_id}", &e) == 0, "a configured one");
	x.template = "";
	ok(takes(&x) && strcmp(plan.session_id, "s-42") == 0, "is used");
	config_set(&config, "agent.force_session_template", "{global}", &e);
	x.session_id = "mine";
	x.template = "{launcher_id}";
	ok(takes(&x) && strcmp(plan.session_id, "global") == 0, "a forced one is, whatever a request says");
	config_set(&config, "agent.force_session_template", "", &e);
	config_set(&config, "agent.session_template", DEFAULT_TEMPLATE, &e);
}

TEST(configured)
{
	struct msg_agent_exec x = request("");

	config_set(&config, "agent.profile", "offline_readonly", &e);
	config_set(&config, "agent.image", "debian", &e);
	config_set(&config, "agent.workspace_quota_mb", "5", &e);
	ok(takes(&x), "from the configuration");
	is(plan.profile->name, "offline_readonly", "profile");
	is(plan.spec.image, "debian", "image");
	cmp_ok(plan.spec.workspace_quota_mb, "==", 5, "quota");
	x.workspace_quota_mb = lax_text("");
	ok(takes(&x) && plan.spec.workspace_quota_mb == 5, "an empty quota is none asked for");
	x.workspace_quota_mb = lax_number(0);
	ok(takes(&x) && plan.spec.workspace_quota_mb == 0, "0 is");
	x.profile = "default";
	ok(takes(&x) && plan.spec.host_path_mode == MOUNT_RW, "a request may choose");
	ok(config_set(&config, "agent.profile", "magic", &e) == -1, "an unknown profile in the configuration");
	like(e.text, "^agent.profile: unknown box profile 'magic', available profiles: default, ", "is told");
	ok(config_set(&config, "agent.session_template", "{", &e) == -1, "so is a malformed template");
	like(e.text, "^agent.session_template: session template", "by name");
	config_defaults(&config);
}

/* The table of before LangBot 4.11. */
TEST(old_table)
{
	struct msg_agent_exec x = request("offline");

	ok(config_set(&config, "agent.profiles", "0.5", &e) == 0, "agent.profiles = 0.5");
	refuses(&x,
	    "unknown box profile 'offline', available profiles: default, network_basic, network_extended, "
	    "offline_readonly",
	    "has no offline");
	for (size_t i = 0; i < PROFILES; i++) {
		x = request(table[i].name);
		if (strcmp(table[i].name, "offline") != 0)
			ok(takes(&x) && plan.spec.network ==
					    (strncmp(table[i].name, "network", 7) == 0 ? NETWORK_ON : NETWORK_OFF),
			    "%s", table[i].name);
	}
	ok(config_set(&config, "agent.profile", "offline", &e) == 0 && config_check(&config, &e) == -1,
	    "which cannot be configured either");
	is(e.text, "agent.profile: the table of agent.profiles = 0.5 has no offline", "and is told");
	ok(config_set(&config, "agent.profiles", "0.6", &e) == -1, "there is no other table");
	config_defaults(&config);
}

int
main(void)
{
	must(sodium_init() != -1, "libsodium");
	config_defaults(&config);
	run_tests();
	done_testing();
}
