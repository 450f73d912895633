/* Skills are made, found, changed and removed as upstream does it, and one workspace never sees another's. */
#include "storebox.h"
#include "tap.h"

static struct storebox b;
static char            dir[] = "/tmp/boxd-t-store-XXXXXX";

static struct msg_skill_create
asked(const char *name)
{
	struct msg_skill_create m;

	msg_defaults(MSG_SKILL_CREATE, &m);
	m.ns = "ws-a";
	m.name = name;
	return m;
}

static const char *
update(const struct msg_skill_update *given)
{
	struct msg_skill_update m = *given;

	m.ns = "ws-a";
	m.context = (struct msg_context){ .instance = "", .workspace = "" };
	if (m.instructions.data == NULL)
		m.instructions = blob_of(NULL, 0);
	const char **text[] = { &m.new_name, &m.display_name, &m.description, &m.package_root };
	for (size_t i = 0; i < 4; i++)
		if (*text[i] == NULL)
			*text[i] = "";
	return storebox_call(&b, MSG_SKILL_UPDATE, &m);
}

static const char *
scan(const char *fmt, ...)
{
	struct msg_skill_scan m;
	char                  path[512];
	va_list               ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	msg_defaults(MSG_SKILL_SCAN, &m);
	m.ns = "ws-a";
	m.path = path;
	return storebox_call(&b, MSG_SKILL_SCAN, &m);
}

/* How old its entry file is, in seconds since the epoch. */
static void
age(const char *where, time_t sec)
{
	char            path[512];
	struct timespec t[2] = { { .tv_sec = sec }, { .tv_sec = sec } };

	snprintf(path, sizeof(path), "%s/%s/SKILL.md", b.root, where);
	must(utimensat(AT_FDCWD, path, t, 0) != -1, "utimensat %s", path);
}

TEST(create)
{
	struct msg_skill_create m = asked(" d\xc3\xa9mo_1 ");
	char                    want[512];

	m.has_display_name = m.has_description = m.has_instructions = true;
	m.display_name = "D\xc3\xa9mo 1";
	m.description = "d: x";
	m.instructions = blob_of("# Hi\nbody\n", 10);
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "", "a skill is created");
	const struct msg_skill *s = store_skill(&b);
	is(s->name, "d\xc3\xa9mo_1", "its name is stripped");
	is(s->display_name, "D\xc3\xa9mo 1", "its title");
	is(s->description, "d: x", "its description");
	is(store_text(&s->instructions), "# Hi\nbody\n", "its instructions");
	snprintf(want, sizeof(want), "%s/d\xc3\xa9mo_1", b.root);
	is(s->package_root, want, "its place");
	is(s->entry_file, "SKILL.md", "its file");
	ok(!s->python_project && s->created_us > 1000000000000000 && s->updated_us > 1000000000000000, "its times");
	is(get_file("%s/SKILL.md", want),
	    "---\nname: d\xc3\xa9mo_1\ndisplay_name: D\xc3\xa9mo 1\ndescription: 'd: x'\n---\n\n# Hi\nbody\n",
	    "is as upstream writes it");
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: Skill with name \"d\xc3\xa9mo_1\" already exists",
	    "twice is refused");
	is(store_delete(&b, "d\xc3\xa9mo_1"), "", "and it is deleted");
	ok(!is_there("%s", want), "with its directory");
}

TEST(names)
{
	char long_name[80];

	is(store_create(&b, "", ""), "invalid: Skill name is required", "no name");
	is(store_create(&b, " \t", ""), "invalid: Skill name is required", "a blank one");
	static const char *const bad[] = { "a b", "../x", "a/b", "a.b", "-", "__", "a\xe2\x82\xac", "\xff", "." };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is(store_create(&b, bad[i], ""),
		    "invalid: Skill name can only contain letters, numbers, hyphens and underscores", "bad name %zu",
		    i);
	memset(long_name, 'x', 65);
	long_name[65] = '\0';
	is(store_create(&b, long_name, ""), "invalid: Skill name cannot exceed 64 characters", "65 characters");
	long_name[64] = '\0';
	is(store_create(&b, long_name, ""), "", "64 are good");
	is(store_delete(&b, long_name), "", "and can be removed");
	is(store_create(&b, "\xe7\xbe\xa4\xe8\x81\x8a", ""), "", "letters of any script");
	is(store_delete(&b, "\xe7\xbe\xa4\xe8\x81\x8a"), "", "too");
	is(store_list(&b), "", "nothing is left of all that");
}

TEST(order)
{
	put_file("---\nname: one\n---\n1", "%s/p1/SKILL.md", b.root);
	put_file("no frontmatter", "%s/two/skill.md", b.root);
	put_file("---\nname: [broken\n---\n", "%s/p3/SKILL.md", b.root);
	put_file("---\nname: bad name\n---\n", "%s/p4/SKILL.md", b.root);
	put_file("\xff\xfe", "%s/p5/SKILL.md", b.root);
	put_file("---\nname: 5\ndisplay_name: yes\n---\n", "%s/grp/inner/deep/SKILL.md", b.root);
	put_file("---\nname: hidden\n---\n", "%s/p1/sub/SKILL.md", b.root);
	put_file("---\nname: below\n---\n", "%s/1/2/3/4/5/6/SKILL.md", b.root);
	put_file("---\nname: too-deep\n---\n", "%s/a/2/3/4/5/6/7/SKILL.md", b.root);
	put_file("", "%s/p1/pyproject.toml", b.root);
	age("p1", 3000);
	age("grp/inner/deep", 4000);
	age("1/2/3/4/5/6", 5000);
	is(store_list(&b), "two, below, 5, one", "newest first; what cannot be read is no skill");
	const struct msg_skills *s = b.work.reply.body;
	is(s->skills.v[0].entry_file, "skill.md", "the small name counts where the other is missing");
	is(s->skills.v[2].display_name, "True", "YAML has its own idea of yes");
	ok(s->skills.v[3].python_project && !s->skills.v[2].python_project, "a Python project is told");
	cmp_ok(s->skills.v[1].updated_us, "==", 5000000000, "the time is the file's");
	put_file("---\nname: one\n---\nother", "%s/p0/SKILL.md", b.root);
	age("p0", 3000);
	is(store_get(&b, "one"), "", "of two with the same name and age");
	is(store_text(&store_skill(&b)->instructions), "other", "the first by path is told");
	age("p1", 3001);
	is(store_get(&b, "one"), "", "or the newer");
	is(store_text(&store_skill(&b)->instructions), "1", "by its file");
	is(store_get(&b, "nobody"), "none", "an unknown name is no error");
}

TEST(delete)
{
	put_file("---\nname: kin\n---\n", "%s/grp/kin/SKILL.md", b.root);
	is(store_delete(&b, "5"), "", "a nested package is deleted");
	ok(!is_there("%s/grp/inner", b.root), "with the directories that held nothing else");
	is(store_get(&b, "kin"), "", "and its neighbour stays");
	is(store_delete(&b, "below"), "", "one far down, too");
	ok(!is_there("%s/1", b.root), "with all above it");
	is(store_delete(&b, "below"), "invalid: Skill \"below\" not found", "once");
	put_file("x", "%s/SKILL.md", b.root);
	is(store_list(&b), "ws-a", "an entry file in the root is the only skill");
	is(store_delete(&b, "ws-a"), "invalid: Only managed skills under the Box skills root can be deleted",
	    "which stays");
	char path[512];
	snprintf(path, sizeof(path), "%s/SKILL.md", b.root);
	unlink(path);
	cmp_ok(store_staged(&b), "==", 0, "nothing is left beside the workspaces");
}

TEST(update)
{
	struct msg_skill_update m = { .name = "up" };
	char                    root[512];

	is(update(&m), "invalid: Skill \"up\" not found", "nothing to update");
	is(store_create(&b, "up", "old"), "", "made for it");
	m.has_description = true;
	m.description = "new";
	is(update(&m), "", "one field is changed");
	is(store_skill(&b)->description, "new", "to this");
	is(store_text(&store_skill(&b)->instructions), "old", "the others stay");
	m.description = "  ";
	m.has_instructions = true;
	is(update(&m), "", "blank and null");
	is(get_file("%s/up/SKILL.md", b.root), "---\nname: up\ndisplay_name: up\n---\n\n", "drop and clear");
	m.new_name = " up ";
	is(update(&m), "", "the same name may be given");
	m.new_name = "other";
	is(update(&m), "invalid: Renaming skills is not supported", "another not");
	m.new_name = "";
	snprintf(root, sizeof(root), " %s/./up/ ", b.root);
	m.package_root = root;
	is(update(&m), "", "nor does the same directory matter");
	m.package_root = "/tmp";
	is(update(&m),
	    "invalid: Updating package_root is not supported; recreate the skill to import a different package",
	    "another does");
	put_file("---\nname: small\n---\nlow", "%s/low/skill.md", b.root);
	is(update(&(struct msg_skill_update){ .name = "small", .has_description = true, .description = "d" }), "",
	    "a skill.md");
	is(store_skill(&b)->entry_file, "SKILL.md", "gets a SKILL.md beside it");
	ok(is_there("%s/low/skill.md", b.root), "and stays itself");
}

TEST(adopt)
{
	struct msg_skill_create m = asked("adopted");
	char                    root[512];

	put_file("---\nname: orig\ndisplay_name: T\ndescription: D\n---\nI", "%s/own/SKILL.md", b.root);
	snprintf(root, sizeof(root), "%s/own", b.root);
	m.package_root = root;
	m.has_display_name = true;
	m.display_name = " ";
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "", "a package that is there is adopted");
	is(get_file("%s/SKILL.md", root), "---\nname: adopted\ndisplay_name: T\ndescription: D\n---\n\nI",
	    "with what it had where nothing was given");
	m = asked("x");
	m.package_root = "/tmp";
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: package_root must stay within the Workspace skill root",
	    "not from elsewhere");
	m.package_root = "own";
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: package_root must stay within the Workspace skill root",
	    "nor by a relative path");
	snprintf(root, sizeof(root), "%s/../ws-b/own", b.root);
	m.package_root = root;
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: package_root must stay within the Workspace skill root",
	    "nor from another workspace");
	snprintf(root, sizeof(root), "%s/missing", b.root);
	m.package_root = root;
	like(storebox_call(&b, MSG_SKILL_CREATE, &m), "^invalid: Directory does not exist: /.*/ws-a/missing$",
	    "nor from nothing");
	make_dir("%s/empty", b.root);
	snprintf(root, sizeof(root), "%s/empty", b.root);
	like(storebox_call(&b, MSG_SKILL_CREATE, &m), "^invalid: No SKILL.md found in /.*/ws-a/empty$",
	    "nor what is no package");
	ok(!is_there("%s/x", b.root), "and nothing was made");
}

TEST(large)
{
	struct msg_skill_create m = asked("large");
	char                   *text = malloc(LIM_SKILL_TEXT + 2);

	memset(text, 'x', LIM_SKILL_TEXT + 1);
	m.has_instructions = true;
	m.instructions = blob_of(text, LIM_SKILL_TEXT);
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: Skill entry file SKILL.md exceeds the 1048576-byte limit",
	    "an entry file that could not be read is not written");
	ok(!is_there("%s/large", b.root), "nor its directory");
	m.instructions = blob_of(text, LIM_SKILL_TEXT - 100);
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "", "a little less is");
	cmp_ok(store_skill(&b)->instructions.len, "==", LIM_SKILL_TEXT - 100, "and comes back whole");
	text[LIM_SKILL_TEXT + 1] = '\0';
	put_file(text, "%s/large/SKILL.md", b.root);
	is(store_get(&b, "large"), "none", "one that grew is no skill");
	free(text);
	is(store_delete(&b, "large"), "invalid: Skill \"large\" not found", "by any means");
	m.instructions = blob_of("\xff", 1);
	is(storebox_call(&b, MSG_SKILL_CREATE, &m), "invalid: instructions is not valid UTF-8 text",
	    "bytes are no text");
}

/* More text than one answer has descriptors for, and more than it may have. */
TEST(long_list)
{
	char *text = malloc(LIM_SKILL_TEXT);
	char  path[512];

	memset(text, 'x', LIM_SKILL_TEXT);
	text[LIM_SKILL_TEXT - 1] = '\0';
	for (int i = 0; i < 15; i++)
		put_file(text, "%s/../ws-l/s%d/SKILL.md", b.root, i);
	struct msg_skill_list m;
	msg_defaults(MSG_SKILL_LIST, &m);
	m.ns = "ws-l";
	is(storebox_call(&b, MSG_SKILL_LIST, &m), "", "15 MiB in 15 skills");
	const struct msg_skills *s = b.work.reply.body;
	cmp_ok(s->skills.n, "==", 15, "are listed");
	cmp_ok(strlen(store_text(&s->skills.v[14].instructions)), "==", LIM_SKILL_TEXT - 1, "whole");
	put_file(text, "%s/../ws-l/s15/SKILL.md", b.root);
	put_file(text, "%s/../ws-l/s16/SKILL.md", b.root);
	free(text);
	is(storebox_call(&b, MSG_SKILL_LIST, &m), "value: Skill listing exceeds the configured text limit",
	    "17 are too much");
	struct msg_skill_get g;
	msg_defaults(MSG_SKILL_GET, &g);
	g.ns = "ws-l";
	g.name = "s3";
	is(storebox_call(&b, MSG_SKILL_GET, &g), "", "but each can be asked for");
	for (int i = 0; i < 985; i++)
		put_file("", "%s/../ws-l/n%d/SKILL.md", b.root, i);
	is(storebox_call(&b, MSG_SKILL_GET, &g), "value: Skill discovery exceeded the configured package limit",
	    "1002 packages");
	snprintf(path, sizeof(path), "%s/../ws-l", b.root);
	remove_all(path);
	for (int i = 0; i < 10001; i++)
		put_file("", "%s/../ws-l/d/%d", b.root, i);
	is(storebox_call(&b, MSG_SKILL_GET, &g), "value: Skill discovery exceeded the configured entry limit",
	    "10001 files");
	remove_all(path);
}

TEST(scan)
{
	put_file("---\nname: s1\n---\n", "%s/sc/a/b/SKILL.md", b.root);
	is(scan("%s/sc", b.root), "", "a directory is scanned");
	is(store_skill(&b)->name, "s1", "and its package found");
	put_file("---\nname: s2\n---\n", "%s/sc/c/SKILL.md", b.root);
	like(scan(" %s/sc/ ", b.root),
	    "^invalid: Multiple skill directories found in /[^ ]*/sc\\. Please choose a more specific path: "
	    "/[^ ]*/sc/c, /[^ ]*/sc/a/b$",
	    "two are too many");
	is(scan("%s/sc/c", b.root), "", "a path that is more specific");
	is(scan("/etc"), "invalid: scan path must stay within the Workspace skill root", "elsewhere");
	is(scan("%s", ""), "invalid: scan path must stay within the Workspace skill root", "nowhere");
	is(scan("%s-b", b.root), "invalid: scan path must stay within the Workspace skill root", "a longer name");
	is(scan("%s/sc/../../x", b.root), "invalid: scan path must stay within the Workspace skill root", "upwards");
	like(scan("%s/nope", b.root), "^invalid: Directory does not exist: /.*/nope$", "what is not there");
	put_file("", "%s/dp/1/2/3/SKILL.md", b.root);
	like(scan("%s/dp", b.root), "^invalid: No SKILL.md found in /.*/dp or its subdirectories .max depth: 2.$",
	    "too deep");
}

TEST(scopes)
{
	struct msg_skill_list m;
	struct msg_skill_get  g;

	msg_defaults(MSG_SKILL_LIST, &m);
	m.ns = "ws-b";
	is(storebox_call(&b, MSG_SKILL_LIST, &m), "", "another workspace");
	cmp_ok(((const struct msg_skills *)b.work.reply.body)->skills.n, "==", 0, "sees none of these");
	ok(is_there("%s/../ws-b", b.root), "and has a directory of its own");
	msg_defaults(MSG_SKILL_GET, &g);
	g.ns = "ws-b";
	g.name = "up";
	is(storebox_call(&b, MSG_SKILL_GET, &g), "", "by name");
	ok(!((const struct msg_skill_found *)b.work.reply.body)->found, "neither");
	static const char *const bad[] = { "", ".", "..", "a/b", "../ws-a", "a\\b" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		m.ns = bad[i];
		is(storebox_call(&b, MSG_SKILL_LIST, &m), "value: Invalid Box skill namespace", "'%s' is no workspace",
		    bad[i]);
	}
}

int
main(void)
{
	must(mkdtemp(dir) != NULL, "mkdtemp");
	is(storebox_plain(&b, dir), "", "box-store is ready");
	run_tests();
	cmp_ok(storebox_end(&b, false), "==", 0, "it ends with its channel");
	remove_all(dir);
	done_testing();
}
