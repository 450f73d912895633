/* Grants, revocations, expiry and what an admitted spec becomes; the clock is ours. */
#include "supervisor/langbot/admission_book.h"
#include "supervisor/langbot/admission_spec.h"
#include "tap.h"

enum { SEC = 1000000 };

static const uint64_t        now = 1000UL * SEC;
static struct msg_box_policy policy;
static uint64_t              room = 100;

static struct msg_box_grant
grant(const char *workspace, uint64_t generation, uint64_t revision, uint64_t expires_sec)
{
	return (struct msg_box_grant){
		.instance = "inst-1",
		.workspace = workspace,
		.generation = generation,
		.revision = revision,
		.max_sessions = 1,
		.expires_us = expires_sec * SEC,
	};
}

/* Judge and install; the error's text, or what it did. */
static const char *
upsert_at(struct book *b, const struct msg_box_grant *g, uint64_t at)
{
	static const char *const    effects[] = { "kept", "renewed", "replaced" };
	static struct err           e;
	struct msg_admission_record record;
	enum grant_effect           effect;
	bool                        changed;

	if (book_judge(b, &policy, room, g, at, &record, &changed, &e) == -1 ||
	    book_install(b, g, at, &effect, &e) == -1)
		return e.text;
	return effects[effect];
}

static const char *
upsert(struct book *b, struct msg_box_grant g)
{
	return upsert_at(b, &g, now);
}

static const char *
revoke_grant(struct book *b, const char *workspace, uint64_t revision)
{
	static struct err           e;
	struct msg_box_revoke_grant v = { .instance = "inst-1", .workspace = workspace, .revision = revision };
	struct msg_admission_record record;

	if (book_judge_revocation(b, room, &v, &record, &e) == -1 || book_revoke(b, &v, &e) == -1)
		return e.text;
	return "revoked";
}

static const struct grant *
active(struct book *b, const char *workspace, uint64_t at)
{
	struct msg_context c = { "inst-1", workspace, 1 };

	return book_grant(b, &c, at);
}

/* Each of them breaks this rule and every later one that it can: the first is told. */
TEST(refuses_in_order)
{
	struct err           e;
	struct book         *b = book_open(&e);
	struct msg_box_grant g = grant("w", 5, 5, 1100);

	is(upsert(b, g), "replaced", "the first grant is installed");
	is(revoke_grant(b, "w", 5), "revoked", "and revoked");
	is(upsert(b, grant("w", 5, 6, 1100)), "replaced", "a newer one is installed");
	g = grant("w", 4, 5, 900);
	g.max_sessions = g.max_managed_processes = 7;
	is(upsert(b, g), "Cannot install an expired sandbox admission grant", "expired");
	g.expires_us = now;
	is(upsert(b, g), "Cannot install an expired sandbox admission grant", "expiring now is expired");
	g.expires_us = now + 300UL * SEC + 1;
	is(upsert(b, g), "Sandbox admission grant lifetime exceeds the configured maximum", "too long");
	g.expires_us = now + 300UL * SEC;
	is(upsert(b, g), "Sandbox admission grant exceeds the session cap", "as long as may be; too many sessions");
	g.max_sessions = 1;
	is(upsert(b, g), "Sandbox admission grant exceeds the managed-process cap", "too many processes");
	g.max_managed_processes = 0;
	is(upsert(b, g), "Sandbox admission grant revision was revoked", "revoked");
	is(revoke_grant(b, "w", 7), "revoked", "a higher revision is revoked");
	is(upsert(b, grant("w", 4, 7, 1100)), "Sandbox admission grant revision was revoked", "its own is");
	is(upsert(b, grant("w", 6, 9, 1100)), "replaced", "generation 6, revision 9");
	is(upsert(b, grant("w", 5, 8, 1100)), "Sandbox admission grant revision is stale", "an older revision");
	is(upsert(b, grant("w", 5, 9, 1100)), "Sandbox admission execution generation is stale", "an older generation");
	g = grant("w", 6, 9, 1100);
	g.max_sessions = 0;
	is(upsert(b, g), "Sandbox admission limits changed without a new entitlement revision", "other limits");
	g.revision = 10;
	is(upsert(b, g), "replaced", "with a new revision they may change; no session stays");
	book_close(&b);
}

TEST(bounds_its_records)
{
	static const char full[] =
	    "Sandbox admission record capacity reached; refusing an unbounded Workspace fence allocation";
	struct err   e;
	struct book *b = book_open(&e);

	room = 2;
	is(upsert(b, grant("a", 1, 1, 1100)), "replaced", "one of two");
	is(revoke_grant(b, "b", 1), "revoked", "a revocation of what never was is a record too");
	is(upsert(b, grant("c", 1, 1, 1100)), full, "the third is refused");
	is(revoke_grant(b, "c", 1), full, "as a revocation too");
	is(upsert(b, grant("a", 1, 2, 1100)), "renewed", "but not those that are known");
	cmp_ok(book_records(b), "==", 2, "two records");
	struct msg_box_grant other = grant("a", 1, 1, 1100);
	other.instance = "inst-2";
	is(upsert(b, other), full, "the same workspace of another instance is another");
	room = 100;
	book_close(&b);
}

TEST(keeps_the_longer_one)
{
	struct err   e;
	struct book *b = book_open(&e);

	is(upsert(b, grant("w", 1, 3, 1200)), "replaced", "revision 3");
	is(upsert(b, grant("w", 1, 3, 1100)), "kept", "again, shorter: success, and nothing changes");
	cmp_ok(active(b, "w", now)->expires_us, "==", 1200UL * SEC, "the longer one is in force");
	is(upsert(b, grant("w", 1, 3, 1250)), "renewed", "longer: the canonical session stays");
	cmp_ok(active(b, "w", now)->expires_us, "==", 1250UL * SEC, "and it lives longer");
	is(upsert(b, grant("w", 2, 3, 1100)), "replaced", "another generation: no session stays");
	is(revoke_grant(b, "w", 3), "revoked", "revision 3 is revoked");
	ok(active(b, "w", now) == NULL, "no grant is left");
	is(upsert(b, grant("w", 2, 3, 1250)), "Sandbox admission grant revision was revoked", "and it cannot return");
	is(revoke_grant(b, "w", 2), "Sandbox admission revocation is stale", "an older revocation is stale");
	is(revoke_grant(b, "w", 3), "revoked", "the same one is not");
	is(upsert(b, grant("w", 2, 8, 1250)), "replaced", "revision 8");
	is(revoke_grant(b, "w", 7), "Sandbox admission revocation is stale", "one below the highest is stale");
	ok(active(b, "w", now) != NULL, "and changes nothing");
	book_close(&b);
}

TEST(expires)
{
	struct err         e;
	struct book       *b = book_open(&e);
	struct msg_context whose;

	cmp_ok(book_next_expiry(b) == UINT64_MAX, "==", 1, "without a grant nothing expires");
	upsert(b, grant("a", 1, 1, 1100));
	upsert(b, grant("b", 7, 1, 1050));
	upsert(b, grant("c", 1, 1, 1200));
	cmp_ok(book_next_expiry(b), "==", 1050UL * SEC, "the first to expire");
	ok(!book_expire(b, 1049UL * SEC, &whose), "not before");
	ok(active(b, "b", 1050UL * SEC) == NULL, "at its time it lets nobody in, whether it was taken away or not");
	ok(book_expire(b, 1100UL * SEC, &whose), "then it is taken away");
	ok(book_expire(b, 1100UL * SEC, &whose), "and another");
	ok(!book_expire(b, 1100UL * SEC, &whose), "and no third");
	cmp_ok(book_next_expiry(b), "==", 1200UL * SEC, "the last is still to come");
	struct msg_box_grant again = grant("a", 1, 1, 1300);
	is(upsert_at(b, &again, 1100UL * SEC), "replaced", "an expired one comes back: no session stays");
	is(upsert_at(b, &again, 1301UL * SEC), "Cannot install an expired sandbox admission grant", "never too late");
	again = grant("c", 1, 1, 1201);
	is(upsert_at(b, &again, 1200UL * SEC), "replaced", "one that expires this moment is not active any more");
	book_close(&b);
}

static int
copy_record(void *arg, const struct msg_admission_record *r)
{
	struct err e;

	return book_remember(arg, r, &e);
}

TEST(remembers)
{
	struct err                  e;
	struct book                *b = book_open(&e), *next = book_open(&e);
	struct msg_box_grant        g = grant("w", 4, 6, 1100);
	struct msg_admission_record record;
	bool                        changed = false;

	upsert(b, g);
	book_judge(b, &policy, room, &g, now, &record, &changed, &e);
	ok(!changed, "the same once more need not be written down");
	g.generation = 5;
	book_judge(b, &policy, room, &g, now, &record, &changed, &e);
	ok(changed && record.generation == 5, "another generation must");
	revoke_grant(b, "r", 9);
	ok(book_each(b, copy_record, next) == 0 && book_records(next) == 2, "two records are handed over");
	ok(active(next, "w", now) == NULL, "no grant is");
	is(upsert(next, grant("w", 4, 5, 1100)), "Sandbox admission grant revision is stale",
	    "a revision is remembered");
	is(upsert(next, grant("w", 3, 6, 1100)), "Sandbox admission execution generation is stale", "a generation is");
	is(upsert(next, grant("r", 1, 9, 1100)), "Sandbox admission grant revision was revoked", "a revocation is");
	g = grant("w", 4, 6, 1100);
	g.max_sessions = 0;
	is(upsert(next, g), "Sandbox admission limits changed without a new entitlement revision", "limits are");
	book_close(&b);
	book_close(&next);
}

/* ---- specs ---- */

static const char host[] = "/srv/w/tenants/ws-1";

static const char             *root_names[] = { "/srv/skills", "/srv/more" };
static struct strs             roots = { 2, root_names };
static struct msg_store_source sources[LIM_BOX_MOUNTS];

static const char *
force(struct msg_box_spec *s, const char *skill_root)
{
	static struct err       e;
	static struct msg_mount mounts[LIM_BOX_MOUNTS + 1];
	static char             skill_path[LIM_PATH + 1];
	struct admitted         a = {
			.host_path = host,
			.skill_root = skill_root,
			.sources = sources,
			.roots = &roots,
			.mounts = mounts,
			.skill_path = skill_path,
	};

	return admission_force(&policy, s, &a, &e) == -1 ? e.text : "";
}

TEST(refuses_specs_in_order)
{
	struct msg_mount extra = { .host_path = "/x", .mount_path = "/y", .content_digest = "", .manifest_path = "" };
	struct msg_box_spec s;

	msg_defaults(MSG_BOX_SPEC, &s);
	s.session_id = "any";
	s.network = NETWORK_ON;
	s.extra_mounts.n = 1;
	s.extra_mounts.v = &extra;
	s.mount_path = "/elsewhere";
	s.workdir = "/tmp";
	s.host_path = "/etc";
	s.skill_name = "s";
	is(force(&s, ""), "Managed sandbox network access is disabled", "network");
	s.network = NETWORK_OFF;
	is(force(&s, ""), "Managed sandbox mount_path is runtime-owned", "mount_path");
	s.mount_path = "/workspace";
	is(force(&s, ""), "Managed sandbox workdir must stay under /workspace", "workdir");
	s.workdir = "/workspace/../etc";
	is(force(&s, ""), "Managed sandbox workdir must stay under /workspace", "workdir, by a way round");
	s.workdir = "/workspacex";
	is(force(&s, ""), "Managed sandbox workdir must stay under /workspace", "workdir, by a longer name");
	s.workdir = "/workspace/src";
	is(force(&s, ""), "Managed sandbox host_path is runtime-owned", "host_path");
	s.host_path = "/srv/w/tenants/ws-1/";
	is(force(&s, ""), "Managed sandbox additional mounts must be read-only", "mounts");
	s.extra_mounts.n = 0;
	is(force(&s, ""), "Managed sandbox skill is unavailable in this Workspace", "skill");
	is(force(&s, "/srv/skills/s"), "", "what is left is taken");
}

#define DIGITS "07a830eb63fbfa33299aed7c2d4cf2782bf6b16d7f68b77050d7795f95b15cb4"

static struct msg_mount
mount_at(const char *place)
{
	return (struct msg_mount){
		.host_path = "/given", .mount_path = place, .mode = MOUNT_RO, .content_digest = "", .manifest_path = ""
	};
}

TEST(refuses_mounts_in_order)
{
	struct msg_mount    m[LIM_BOX_MOUNTS];
	struct msg_box_spec s;
	struct strs         none = { 0, NULL }, some = roots;

	msg_defaults(MSG_BOX_SPEC, &s);
	s.session_id = "any";
	for (size_t i = 0; i < LIM_BOX_MOUNTS; i++) {
		m[i] = mount_at("/etc");
		m[i].mode = MOUNT_NONE;
		m[i].manifest_path = "/given.json";
		sources[i] = (struct msg_store_source){ "", "" };
	}
	s.extra_mounts.v = m;
	s.extra_mounts.n = LIM_BOX_MOUNTS;
	roots = none;
	is(force(&s, ""), "Managed sandbox accepts at most 256 read-only mounts", "257 of them");
	s.extra_mounts.n = 2;
	is(force(&s, ""), "Managed sandbox read-only mounts require allowed_mount_roots", "no roots");
	roots = some;
	is(force(&s, ""), "Managed sandbox additional mounts must be read-only", "mode none");
	m[0].mode = MOUNT_RW;
	is(force(&s, ""), "Managed sandbox additional mounts must be read-only", "mode rw");
	m[0].mode = MOUNT_RO;
	is(force(&s, ""), "Managed sandbox read-only mount source is unavailable", "no directory");
	sources[0].path = "/srv/skillsx/a";
	is(force(&s, ""), "Managed sandbox read-only mount source is outside allowed_mount_roots", "outside");
	sources[0].path = "/srv/skills/a";
	is(force(&s, ""), "Managed sandbox mount manifests require content_digest", "a manifest alone");
	m[0].content_digest = "sha256:" DIGITS;
	is(force(&s, ""), "Managed sandbox read-only mount manifest is unavailable", "no manifest");
	sources[0].manifest_path = "/srv/a.json";
	is(force(&s, ""), "Managed sandbox read-only mount manifest is outside allowed_mount_roots", "one outside");
	sources[0].manifest_path = "/srv/more/a.json";
	static const char *const places[] = { "/etc", "/workspace", "/workspace/", "/workspace/.", "/workspacex",
		"/workspace/../etc", "/opt/langbot-artifacts", "/opt/langbot-artifacts/" DIGITS "/x" };
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		m[0].mount_path = places[i];
		is(force(&s, ""), "Managed sandbox additional mount targets must stay under /workspace", "%s",
		    places[i]);
	}
	m[0].mount_path = "/opt/langbot-artifacts/" DIGITS;
	is(force(&s, ""), "Managed sandbox additional mounts must be read-only",
	    "the first is good, the second is looked at");
}

TEST(takes_mounts)
{
	struct msg_mount    m[3] = { mount_at("/workspace/a"), mount_at("/workspace/./a"),
		   mount_at("/workspace/.skills/pdf") };
	struct msg_box_spec s;

	msg_defaults(MSG_BOX_SPEC, &s);
	s.session_id = "any";
	sources[0] = sources[1] = sources[2] = (struct msg_store_source){ "/srv/skills/real", "" };
	s.extra_mounts.v = m;
	s.extra_mounts.n = 2;
	is(force(&s, ""), "Managed sandbox additional mount targets must be unique", "one place twice");
	m[1].mount_path = "/workspace/b";
	is(force(&s, ""), "", "two places");
	cmp_ok(s.extra_mounts.n, "==", 2, "are two mounts");
	is(s.extra_mounts.v[1].host_path, "/srv/skills/real", "of what was found");
	is(s.extra_mounts.v[1].mount_path, "/workspace/b", "where it was asked for");
	s.extra_mounts.v = m;
	s.skill_name = "pdf";
	is(force(&s, "/srv/skills/pdf"), "", "and a skill of an older LangBot");
	cmp_ok(s.extra_mounts.n, "==", 3, "is one more");
	is(s.extra_mounts.v[2].mount_path, "/workspace/.skills/pdf", "at its place");
	s.extra_mounts.v = m;
	s.extra_mounts.n = 3;
	is(force(&s, "/srv/skills/pdf"), "Managed sandbox additional mount targets must be unique",
	    "which is one, too");
	m[0].mount_path = "/opt/langbot-artifacts/" DIGITS;
	m[0].content_digest = "sha256:" DIGITS;
	m[0].manifest_path = "/given.json";
	sources[0].manifest_path = "/srv/more/real.json";
	s.extra_mounts.n = 1;
	s.skill_name = "";
	is(force(&s, ""), "", "a digest-addressed one");
	is(s.extra_mounts.v[0].manifest_path, "/srv/more/real.json", "with the manifest that was found");
}

TEST(forces_the_rest)
{
	struct msg_box_spec s;

	msg_defaults(MSG_BOX_SPEC, &s);
	s.session_id = "any";
	s.skill_name = "pdf";
	s.timeout_sec = 4000;
	s.cpus = 64;
	s.memory_mb = 65536;
	s.pids_limit = 30000;
	s.read_only_rootfs = false;
	s.host_path_mode = MOUNT_RO;
	s.image = "evil";
	s.workspace_quota_mb = 99999;
	is(force(&s, "/srv/skills/pdf"), "", "an admitted spec");
	is(s.session_id, "global", "one session");
	is(s.host_path, host, "in its own directory");
	ok(s.host_path_mode == MOUNT_RW && s.persistent && s.read_only_rootfs, "writable, persistent, read-only root");
	is(s.mount_path, "/workspace", "there");
	is(s.workdir, "/workspace", "and works there");
	is(s.image, "rockchin/langbot-sandbox:latest", "of the default image");
	cmp_ok(s.timeout_sec, "==", 120, "the timeout is cut");
	cmp_ok(s.memory_mb, "==", 512, "memory is the policy's");
	cmp_ok(s.pids_limit, "==", 128, "pids are");
	ok(s.cpus == 1 && s.workspace_quota_mb == 0, "cpus and quota are");
	cmp_ok(s.extra_mounts.n, "==", 1, "one mount");
	is(s.extra_mounts.v[0].mount_path, "/workspace/.skills/pdf", "of the skill");
	ok(s.extra_mounts.v[0].mode == MOUNT_RO, "read-only");
	msg_defaults(MSG_BOX_SPEC, &s);
	s.timeout_sec = 5;
	is(force(&s, ""), "", "without a skill");
	ok(s.extra_mounts.n == 0 && s.timeout_sec == 5, "no mount, and a shorter timeout stays");
}

int
main(void)
{
	msg_defaults(MSG_BOX_POLICY, &policy);
	run_tests();
	done_testing();
}
