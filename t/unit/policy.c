/* Names, defaults, and when two specs are the same. */
#include <sodium.h>

#include "supervisor/config/mountspec.h"
#include "supervisor/core/policy.h"
#include "tap.h"

static struct config config;

TEST(checks_names)
{
	static const char *const good[] = { "a", "A9", "person_u1", "ws-1.2:x@y" };
	static const char *const bad[] = { "-a", ".", "a b", "a/b", "a\n", "\xc3\xa4", "a\"" };
	struct err               e;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ok(policy_check_name(good[i], &e) == 0, "good: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(policy_check_name(bad[i], &e) == -1 && e.code == E_INVALID, "bad name %zu", i);
	char name[LIM_NAME + 1], other[LIM_NAME + 1];
	policy_make_name(name);
	policy_make_name(other);
	ok(policy_check_name(name, &e) == 0 && strlen(name) == 8, "a made name is a good one");
	isnt(name, other, "and never the same twice");
}

TEST(fills_and_bounds)
{
	struct msg_spec s;
	struct err      e;

	msg_defaults(MSG_SPEC, &s);
	ok(policy_fill_spec(&s, &config, &e) == 0, "an empty spec is filled");
	cmp_ok((int)s.memory_mb, "==", 512, "with the configured memory");
	s.memory_mb = 1;
	ok(policy_fill_spec(&s, &config, &e) == -1, "too little memory is refused");
	like(e.text, "spec.memory_mb", "by name");
	s.memory_mb = 64;
	s.cpus = 0.001;
	ok(policy_fill_spec(&s, &config, &e) == -1, "too little cpu is refused");
	s.cpus = 1;
	const char *walls[] = { "netns", "moat" };
	s.require = (struct strs){ 2, walls };
	ok(policy_fill_spec(&s, &config, &e) == -1 && e.code == E_INVALID, "an unknown wall is refused");
	like(e.text, "^spec.require: there is no wall 'moat'; there are: userns, ", "by name, with those there are");
	s.require.n = 1;
	ok(policy_fill_spec(&s, &config, &e) == 0, "a known one is not");
	s.network = NETWORK_ON;
	ok(policy_fill_spec(&s, &config, &e) == 0 && policy_net_mode(&s, &config) == NET_MODE_EGRESS, "network on");
	strcpy(config.network_on, "refuse");
	ok(policy_fill_spec(&s, &config, &e) == -1, "is refused where the operator says so");
	like(e.text, "^spec.network: 'on' is refused here", "and told how");
	strcpy(config.network_on, "slirp");
	const char *rules[] = { "deny all" };
	s.network_rules = (struct strs){ 1, rules };
	ok(policy_fill_spec(&s, &config, &e) == -1, "slirp4netns knows no rules");
	like(e.text, "^spec.network_rules: not with network_on = slirp", "which is told");
	strcpy(config.network_on, "loopback");
	ok(policy_fill_spec(&s, &config, &e) == 0 && policy_net_mode(&s, &config) == NET_MODE_LOOPBACK, "loopback");
	strcpy(config.network_on, "egress");
	s.network = NETWORK_OFF;
	ok(policy_fill_spec(&s, &config, &e) == -1 && policy_net_mode(&s, &config) == NET_MODE_OFF,
	    "rules without a network");
	like(e.text, "^spec.network_rules: only with network on", "are refused");
}

TEST(leaves_memory_for_processes)
{
	struct msg_spec s = { .memory_mb = 512 };

	config_defaults(&config);
	cmp_ok((int)policy_tmp_mb(&s, &config), "==", 64, "a session of usual size has the configured /tmp");
	s.memory_mb = 64;
	cmp_ok((int)policy_tmp_mb(&s, &config), "==", 8, "a small one no more than an eighth of its memory");
	cmp_ok((int)policy_overlay_mb(&s, &config), "==", 16, "and a quarter for a writable root");
	s.memory_mb = 4;
	cmp_ok((int)policy_tmp_mb(&s, &config), "==", 1, "but never nothing");
}

TEST(compares_every_field)
{
	const char *other[] = { "other", NULL };

	for (const struct field *f = msg_def(MSG_SPEC)->fields; f->name != NULL; f++) {
		struct msg_spec a, b;
		struct err      e = { 0 };

		msg_defaults(MSG_SPEC, &a);
		b = a;
		ok(policy_compare("s", &a, &b, &e) == 0, "the same spec");
		if (f->kind == K_LIST)
			continue; /* told apart elsewhere: no conflict */
		if (f->kind == K_F64)
			*(double *)((char *)&b + f->offset) = 0.5;
		else if (f->kind == K_U64)
			*(uint64_t *)((char *)&b + f->offset) = 7;
		else if (f->kind == K_STR)
			*(const char **)((char *)&b + f->offset) = "other";
		else if (f->kind == K_STRS)
			*(struct strs *)((char *)&b + f->offset) = (struct strs){ 1, other };
		else if (f->kind == K_BOOL)
			*((bool *)&b + f->offset) = !*((bool *)&a + f->offset);
		else
			*((char *)&b + f->offset) = *((char *)&b + f->offset) == 1 ? 2 : 1;
		ok(policy_compare("s", &a, &b, &e) == -1 && e.code == E_CONFLICT, "another %s", f->name);
		like(e.text, f->name, "is named");
	}
}

/* Not as they are printed: two that differ in the seventh digit are two, and a long string is compared to its end. */
TEST(compares_values)
{
	static char     longer[LIM_PATH + 8], other[LIM_PATH + 8];
	const char     *one[] = { "a,b", NULL }, *two[] = { "a", "b", NULL };
	struct msg_spec a, b;
	struct err      e = { 0 };

	msg_defaults(MSG_SPEC, &a);
	a.cpus = 1.5;
	b = a;
	b.cpus = 1.5000001;
	ok(policy_compare("s", &a, &b, &e) == -1, "cpus that differ in the seventh digit differ");
	is(e.text, "session s already exists with cpus=1.5, not 1.5000001", "and are told apart");
	b = a;
	memset(longer, 'x', sizeof(longer) - 1);
	memset(other, 'x', sizeof(other) - 2);
	other[sizeof(other) - 2] = 'y';
	a.host_path = longer;
	b.host_path = other;
	ok(policy_compare("s", &a, &b, &e) == -1, "strings that are printed the same but for the end of it");
	b = a;
	a.require = (struct strs){ 1, one };
	b.require = (struct strs){ 2, two };
	ok(policy_compare("s", &a, &b, &e) == -1, "lists that are printed the same");
	b.require = a.require;
	ok(policy_compare("s", &a, &b, &e) == 0 && msg_equal(MSG_SPEC, &a, &b), "and the same ones");
}

/* Mounts are no conflict, but no other is the same. */
TEST(compares_lists)
{
	struct msg_mount one[] = { { "/a", "/x", MOUNT_RW, "", "" }, { "/b", "/y", MOUNT_RO, "", "" } };
	struct msg_mount same[] = { { "/a", "/x", MOUNT_RW, "", "" }, { "/b", "/y", MOUNT_RO, "", "" } };
	struct msg_mount other[] = { { "/a", "/x", MOUNT_RW, "", "" }, { "/b", "/y", MOUNT_RW, "", "" } };
	struct msg_spec  a, b;
	struct err       e = { 0 };

	msg_defaults(MSG_SPEC, &a);
	b = a;
	a.extra_mounts.n = b.extra_mounts.n = 2;
	a.extra_mounts.v = one;
	b.extra_mounts.v = same;
	ok(msg_equal(MSG_SPEC, &a, &b), "lists of the same mounts");
	b.extra_mounts.v = other;
	ok(!msg_equal(MSG_SPEC, &a, &b) && policy_compare("s", &a, &b, &e) == 0, "another mode: no conflict");
	b.extra_mounts.v = same;
	b.extra_mounts.n = 1;
	ok(!msg_equal(MSG_SPEC, &a, &b), "a shorter list");
}

/* Specs with these mounts; NULL host paths end a list. */
static struct msg_spec
with_mounts(struct msg_mount *v)
{
	struct msg_spec s;

	msg_defaults(MSG_SPEC, &s);
	s.extra_mounts.v = v;
	while (v[s.extra_mounts.n].host_path != NULL)
		s.extra_mounts.n++;
	return s;
}

TEST(knows_a_mount)
{
	struct msg_mount one[] = { { "/a", "/x", MOUNT_RW, "", "" }, { "/b", "/y", MOUNT_RO, "", "" },
		{ .host_path = NULL } };
	struct msg_mount turned[] = { { "/b", "/y", MOUNT_RO, "", "" }, { "/n", "/n", MOUNT_NONE, "", "" },
		{ "/a", "/x/", MOUNT_RW, "", "" }, { "/b", "//z", MOUNT_RO, "", "" }, { .host_path = NULL } };
	struct msg_mount none[] = { { "/a", "/x", MOUNT_NONE, "", "" }, { .host_path = NULL } };
	struct msg_spec  a = with_mounts(one), b;

	ok(mountspec_has_extra(&a, &turned[2]) && !mountspec_has_extra(&a, &turned[3]),
	    "a mount is known by all it is");
	b = with_mounts(none);
	ok(!mountspec_wants_host(&b) && mountspec_wants_host(&a), "and needs nothing of the host");
}

TEST(knows_the_default)
{
	struct msg_mount one[] = { { "/a", "/x", MOUNT_RW, "", "" }, { .host_path = NULL } };
	struct msg_spec  s, other;
	struct err       e;

	msg_defaults(MSG_SPEC, &s);
	ok(policy_fill_spec(&s, &config, &e) == 0 && mountspec_is_default(&s), "an empty spec is the default");
	is(s.mount_path, "/workspace", "with its place filled in");
	other = s;
	other.host_path = "/srv";
	ok(!mountspec_is_default(&other), "a host_path is not");
	other.host_path_mode = MOUNT_NONE;
	ok(mountspec_is_default(&other), "unless its mode is none");
	other.read_only_rootfs = false;
	ok(!mountspec_is_default(&other), "a writable root is not");
	other = s;
	other.mount_path = "/data";
	ok(!mountspec_is_default(&other), "another place is not");
	other = with_mounts(one);
	other.mount_path = s.mount_path;
	ok(!mountspec_is_default(&other), "a mount is not");
}

int
main(void)
{
	must(sodium_init() != -1, "libsodium");
	config_defaults(&config);
	run_tests();
	done_testing();
}
