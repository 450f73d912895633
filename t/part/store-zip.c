/* An uploaded archive is looked into and installed, or refused for the reason that upstream names. */
#include "storebox.h"
#include "tap.h"
#include "zipmake.h"

static struct storebox b;
static char            dir[] = "/tmp/boxd-t-store-XXXXXX";
static struct buf      zip; /* the archive of the test at hand */
static struct zipmake  make;

/* "source_path=target ..." or an error */
static const char *
preview(const char *filename, const char *subdir, const char *suffix)
{
	static char              out[4096];
	struct msg_skill_preview m;
	size_t                   n = 0;

	msg_defaults(MSG_SKILL_PREVIEW, &m);
	m.ns = "ws-a";
	m.archive = blob_of(zip.data, zip.len);
	m.filename = filename;
	m.source_subdir = subdir;
	m.target_suffix = suffix;
	if (*storebox_call(&b, MSG_SKILL_PREVIEW, &m) != '\0')
		return b.work.why;
	const struct msg_skills *s = b.work.reply.body;
	out[0] = '\0';
	for (size_t i = 0; i < s->skills.n && n < sizeof(out); i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s:%s=%s", i > 0 ? " " : "", s->skills.v[i].name,
		    s->skills.v[i].source_path, strrchr(s->skills.v[i].package_root, '/') + 1);
	return out;
}

static const char *
install(const char *const *paths, const char *path, const char *suffix)
{
	struct msg_skill_install m;

	msg_defaults(MSG_SKILL_INSTALL, &m);
	m.ns = "ws-a";
	m.archive = blob_of(zip.data, zip.len);
	m.filename = "multi.zip";
	while (paths != NULL && paths[m.source_paths.n] != NULL)
		m.source_paths.n++;
	m.source_paths.v = (const char **)(uintptr_t)paths;
	m.source_path = path;
	m.target_suffix = suffix;
	return storebox_call(&b, MSG_SKILL_INSTALL, &m);
}

/* An archive of this entry alone, beside a good one. */
static const char *
refused(const struct zip_item *it)
{
	zip_file(&make, "SKILL.md", "x");
	zip_add(&make, it);
	zip_end(&make, "", &zip);
	return preview("a.zip", "", "");
}

#define DATA .data = "hello", .n = 5
#define ITEM(...) refused(&(struct zip_item){ __VA_ARGS__ })

static void
test_names(void)
{
	static const struct {
		const char *file, *source, *suffix, *want;
	} t[] = { { "My Repo.v1.zip", "", "upload", "My-Repo-v1-upload" },
		{ "base.zip", "base", "upload", "base-upload" }, { "base.zip", "x/y", "upload", "base-y-upload" },
		{ "multi.zip", "a", "", "multi-a" }, { "a.tar.gz", "", "", "a-tar" },
		{ "---.zip", "", "", "uploaded-skill" }, { "../../x.zip", "", "", "x" },
		{ "", "", "", "uploaded-skill" }, { ".zip", "", "", "zip" },
		{ " \xe7\xbe\xa4.zip ", "", "", "\xe7\xbe\xa4" } };

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		char entry[64], want[128];

		/* a second directory at the top, so that the first is not taken for the whole */
		snprintf(entry, sizeof(entry), "%s%sSKILL.md", t[i].source, *t[i].source != '\0' ? "/" : "");
		zip_honest(&zip, entry, "---\nname: n\n---\n", *t[i].source != '\0' ? "other/x" : "x", "y", NULL);
		snprintf(want, sizeof(want), "n:%s=%s", t[i].source, t[i].want);
		is(preview(t[i].file, "", t[i].suffix), want, "'%s' becomes %s", t[i].file, t[i].want);
	}
	is(preview("a.zip", "", "../../x"), "invalid: target_suffix and filename must be parts of a name",
	    "a suffix does not lead elsewhere");
}

static void
test_preview(void)
{
	zip_honest(&zip, "top/SKILL.md", "no name", "top/x", "y", NULL);
	is(preview("z.zip", "", "up"), "top:=z-up", "one directory at the top is entered, and gives its name");
	zip_honest(&zip, "SKILL.md", "no name", "x", "y", NULL);
	is(preview("z.zip", "", "up"), "extracted:=z-up", "without one, upstream's");
	zip_honest(&zip, "b/SKILL.md", "", "a/SKILL.md", "", "c/d/SKILL.md", "", "e/f/g/SKILL.md", "", NULL);
	is(preview("z.zip", "", ""), "a:a=z-a b:b=z-b d:c/d=z-d", "several, by their path, two levels down");
	is(preview("z.zip", "/c\\", ""), "d:d=z-d", "in a directory of it");
	is(preview("z.zip", "e/f/g", ""), "g:=z", "or further down");
	is(preview("z.zip", "../x", ""), "invalid: source_subdir must stay within the uploaded archive",
	    "not outside of it");
	is(preview("z.zip", "nope", ""), "invalid: source_subdir does not exist in the uploaded archive: nope",
	    "nor elsewhere");
	zip_honest(&zip, "a/readme", "x", "b", "y", NULL);
	like(preview("z.zip", "", ""), "^invalid: No SKILL.md found in .* or its subdirectories .max depth: 2.$",
	    "none");
	zip_honest(&zip, "a/SKILL.md", "---\nname: [\n---\n", "b/SKILL.md", "", NULL);
	like(preview("z.zip", "", ""), "^invalid: frontmatter is not valid YAML", "one that is broken spoils all");
	is(store_list(&b), "", "and nothing has been installed");
	cmp_ok(store_staged(&b), "==", 0, "or left");
}

static void
test_install(void)
{
	static const char *const two[] = { "a", "b", "\\a/", NULL }, *const wrong[] = { "a", "c", NULL };

	zip_honest(&zip, "a/SKILL.md", "---\nname: aa\n---\nA", "a/sub/run.sh", "x", "b/SKILL.md",
	    "---\nname: bb\n---\n", NULL);
	is(install(NULL, "", "upload"), "invalid: Multiple skills found. Please choose one or more source_paths: a, b",
	    "several must be chosen from");
	is(install(wrong, "", "upload"), "invalid: Invalid source_path \"c\". Available: a, b",
	    "among those that are there");
	is(install(two, "", "upload"), "", "two are installed");
	const struct msg_skills *s = b.work.reply.body;
	ok(s->skills.n == 2 && strcmp(s->skills.v[0].name, "aa") == 0 && strcmp(s->skills.v[1].name, "bb") == 0,
	    "and told");
	is(get_file("%s/multi-a-upload/sub/run.sh", b.root), "x", "with all their files");
	ok(is_there("%s/multi-b-upload/SKILL.md", b.root), "each in its own place");
	cmp_ok(store_staged(&b), "==", 0, "nothing is left beside it");
	like(install(two, "", "upload"), "^invalid: Skill directory already exists: /.*/multi-a-upload$", "not twice");
	is(install(NULL, "b", ""), "", "one, by the old field");
	ok(is_there("%s/multi-b/SKILL.md", b.root), "under another name");
	zip_honest(&zip, "x/a/SKILL.md", "", "y/a/SKILL.md", "", NULL);
	static const char *const same[] = { "x/a", "y/a", NULL };
	like(install(same, "", "d"), "^invalid: Duplicate target directory selected: /.*/multi-a-d$",
	    "nor two to one place");
	ok(!is_there("%s/multi-a-d", b.root), "then none is there");
	zip_honest(&zip, "SKILL.md", "---\nname: whole\n---\n", "x", "", NULL);
	is(install(NULL, "/", "w"), "", "the root of the archive itself");
	is(get_file("%s/multi-w/SKILL.md", b.root), "---\nname: whole\n---\n", "is installed");
	zip_add(&make, &(struct zip_item){ .name = "SKILL.md", .data = "", .mode = 0100600 });
	zip_add(&make, &(struct zip_item){ .name = "run", DATA, .mode = 0104711 });
	zip_add(&make, &(struct zip_item){ .name = "d/", .data = "", .mode = 040700 });
	zip_end(&make, "", &zip);
	is(install(NULL, "", "modes"), "", "modes of the archive");
	char              path[512];
	struct stat       st[3];
	const char *const names[] = { "SKILL.md", "run", "d" };
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/multi-modes/%s", b.root, names[i]);
		stat(path, &st[i]);
	}
	ok((st[0].st_mode & 07777) == 0644 && (st[1].st_mode & 07777) == 0755 && (st[2].st_mode & 07777) == 0755,
	    "become two of ours");
	is(store_list(&b) != NULL ? "" : NULL, "", "and all can be listed");
	is(store_delete(&b, "whole"), "", "and removed");
}

static void
test_paths(void)
{
	char nul[] = "a\0b";

	is(ITEM(.name = "", DATA), "invalid: Archive contains an unsafe empty or NUL path", "no name");
	is(ITEM(.name = nul, .name_n = 3, DATA), "invalid: Archive contains an unsafe empty or NUL path", "a NUL");
	static const char *const bad[] = { "/abs", "../up", "a/../../up", "..", ".", "c:/x", "C:x", "..\\up", "\\abs",
		"a/.." };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char want[128];

		snprintf(want, sizeof(want), "invalid: Archive contains an unsafe path: %s", bad[i]);
		is(ITEM(.name = bad[i], DATA), want, "'%s'", bad[i]);
	}
	is(ITEM(.name = "./SKILL.md", DATA), "invalid: Archive contains a duplicate path: ./SKILL.md",
	    "the same by another name");
	is(ITEM(.name = "SKILL.md", DATA), "invalid: Archive contains a duplicate path: SKILL.md", "the same");
	is(ITEM(.name = "ln", DATA, .mode = 0120777), "invalid: Archive contains a symbolic link: ln", "a symlink");
	is(ITEM(.name = "p", DATA, .mode = 0010644), "invalid: Archive contains a non-regular entry: p", "a FIFO");
	is(ITEM(.name = "dev", DATA, .mode = 0060644), "invalid: Archive contains a non-regular entry: dev",
	    "a device");
	is(ITEM(.name = "d/", DATA), "invalid: Archive directory has unexpected content: d/", "a directory with bytes");
	is(ITEM(.name = "d\\", DATA), "invalid: Archive directory has unexpected content: d\\", "the same, backwards");
	like(ITEM(.name = "SKILL.md/x", DATA), "^invalid: ", "a file that is a directory as well");
	is(store_get(&b, "extracted"), "none", "nothing of it was installed");
	cmp_ok(store_staged(&b), "==", 0, "or left");
}

static void
test_sizes(void)
{
	enum { TOO_LARGE = 16 * 1024 * 1024 + 1 };

	is(ITEM(.name = "big", DATA, .size = TOO_LARGE),
	    "invalid: Archive entry exceeds the uncompressed size limit: big", "a large entry");
	is(ITEM(.name = "r", DATA, .size = 501), "invalid: Archive entry exceeds the compression ratio limit: r",
	    "501 from 5");
	is(ITEM(.name = "r", .data = "", .size = 1), "invalid: Archive entry exceeds the compression ratio limit: r",
	    "1 from 0");
	is(ITEM(.name = "w", DATA, .size = 6), "invalid: Archive entry size changed while extracting: w",
	    "another size");
	like(ITEM(.name = "c", DATA, .wrong_crc = 1), "^invalid: .*CRC", "another sum");
	is(ITEM(.name = "e", DATA, .flags = 1), "invalid: File 'e' is encrypted, password required for extraction",
	    "encrypted");
	is(ITEM(.name = "m", DATA, .method = 99), "invalid: That compression method is not supported",
	    "an unknown method");
	like(ITEM(.name = "f", DATA, .method = 8), "^invalid: ", "what is not deflated");
	is(ITEM(.name = "l", DATA, .local_size = 4), "invalid: Uploaded file must be a valid .zip archive",
	    "two sizes");
	is(ITEM(.name = "z", DATA, .zip64 = true), "extracted:=a", "sizes of 64 bits are taken");

	char *zeros = calloc(1, TOO_LARGE);
	memset(zeros, 'x', TOO_LARGE - 1);
	zip_honest(&zip, "SKILL.md", "", "bomb", zeros, NULL);
	is(preview("a.zip", "", ""), "invalid: Archive entry exceeds the compression ratio limit: bomb", "a bomb");
	char names[5][16];
	for (int i = 0; i < 5; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		zip_add(
		    &make, &(struct zip_item){ .name = names[i], .data = zeros, .n = 200000, .size = TOO_LARGE - 1 });
	}
	zip_end(&make, "", &zip);
	is(preview("a.zip", "", ""), "invalid: Archive exceeds the total uncompressed size limit", "80 MiB together");
	free(zeros);
	for (int i = 0; i < 513; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		zip_file(&make, name, "");
	}
	zip_end(&make, "", &zip);
	is(preview("a.zip", "", ""), "invalid: Archive contains too many entries (maximum 512)", "513 entries");
	cmp_ok(store_staged(&b), "==", 0, "nothing is left");
}

static void
test_no_archive(void)
{
	buf_clear(&zip);
	is(preview("a.zip", "", ""), "invalid: Uploaded file is empty", "nothing");
	buf_append(&zip, "hello", 5);
	is(preview("a.zip", "", ""), "invalid: Uploaded file must be a valid .zip archive", "something");
	zip_honest(&zip, "SKILL.md", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
	zip.len -= 30;
	is(preview("a.zip", "", ""), "invalid: Uploaded file must be a valid .zip archive", "a truncated one");
	char *large = calloc(1, LIM_SKILL_ARCHIVE + 1);
	buf_clear(&zip);
	buf_append(&zip, large, LIM_SKILL_ARCHIVE + 1);
	is(preview("a.zip", "", ""), "invalid: Uploaded archive exceeds the compressed size limit (20971520 bytes)",
	    "a large one");
	buf_clear(&zip);
	buf_append(&zip, large, LIM_SKILL_ARCHIVE);
	is(preview("a.zip", "", ""), "invalid: Uploaded file must be a valid .zip archive", "the largest");
	free(large);
}

/* Of one workspace in turn, of several at the same time; each answer finds its question. */
static void
test_many_at_once(void)
{
	struct msg_skill_create m;
	uint64_t                first = 0;
	char                    ns[24][16];
	size_t                  good = 0;
	struct err              e;

	for (int i = 0; i < 24; i++) {
		msg_defaults(MSG_SKILL_CREATE, &m);
		snprintf(ns[i], sizeof(ns[i]), "ws-%d", i % 6);
		m.ns = ns[i];
		m.name = "same";
		uint64_t id = storebox_send(&b, MSG_SKILL_CREATE, &m);
		first = i == 0 ? id : first;
	}
	for (int i = 0; i < 24; i++) {
		storebox_take(&b, 0, MSG_SKILL_CREATE); /* any: the id is looked at here */
		good += !b.work.reply.failed && msg_expect(&b.work.reply, MSG_SKILL, &e) == 0;
	}
	cmp_ok(good, "==", 6, "of four in each of six workspaces one made it");
}

int
main(void)
{
	must(mkdtemp(dir) != NULL, "mkdtemp");
	is(storebox_plain(&b, dir), "", "box-store is ready");
	test_names();
	test_preview();
	test_paths();
	test_sizes();
	test_no_archive();
	test_install();
	test_many_at_once();
	cmp_ok(storebox_end(&b, false), "==", 0, "it ends with its channel");
	buf_clear(&zip);
	remove_all(dir);
	done_testing();
}
