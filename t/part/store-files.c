/* Files of a package are listed, read and written beneath it and nowhere else, whatever a sandbox has put there. */
#include "storebox.h"
#include "tap.h"

static struct storebox b;
static char            dir[] = "/tmp/boxd-t-store-XXXXXX";

/* "name name/ ..." with sizes, a + behind when there are more */
static const char *
list(const char *path, bool hidden, int64_t most)
{
	static char            out[8192];
	struct msg_skill_files m;
	size_t                 n = 0;

	msg_defaults(MSG_SKILL_FILES, &m);
	m.ns = "ws-a";
	m.name = "demo";
	m.path = path;
	m.include_hidden = hidden;
	m.max_entries = most;
	if (*storebox_call(&b, MSG_SKILL_FILES, &m) != '\0')
		return b.work.why;
	const struct msg_skill_entries *s = b.work.reply.body;
	n += (size_t)snprintf(out, sizeof(out), "%s:", s->base_path);
	for (size_t i = 0; i < s->entries.n && n < sizeof(out); i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, s->entries.v[i].is_dir ? " %s/" : " %s=%lu",
		    s->entries.v[i].path, s->entries.v[i].size_bytes);
	if (n < sizeof(out))
		snprintf(out + n, sizeof(out) - n, "%s", s->truncated ? " +" : "");
	return out;
}

static void
link_to(const char *target, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/demo/%s", b.root, name);
	must(symlink(target, path) != -1, "symlink %s", path);
}

#define OUTSIDE "invalid: path must stay within the skill package root"

TEST(usual)
{
	is(store_write(&b, "demo", " scripts/../scripts/run.sh ", "echo\n"), "", "a file is written");
	const struct msg_skill_file *f = b.work.reply.body;
	is(f->path, "scripts/run.sh", "under its normal path");
	cmp_ok(f->bytes_written, "==", 5, "so many bytes");
	is(store_read(&b, "demo", "scripts/run.sh"), "echo\n", "and read");
	char path[512];
	snprintf(path, sizeof(path), "%s/demo/scripts/run.sh", b.root);
	chmod(path, 0755);
	is(store_write(&b, "demo", "scripts/run.sh", "new"), "", "it is replaced");
	struct stat st;
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0755, "and can still be executed");
	is(store_write(&b, "demo", ".hidden", ""), "", "an empty one");
	is(list("", false, 200), ".: SKILL.md=22 scripts/", "what is there");
	is(list(".", true, 200), ".: .hidden=0 SKILL.md=22 scripts/", "with what is hidden");
	is(list("scripts", false, 200), "scripts: scripts/run.sh=3", "below");
	is(list(".", true, 2), ".: .hidden=0 SKILL.md=22 +", "there is more");
	is(list(".", true, 3), ".: .hidden=0 SKILL.md=22 scripts/", "there is not");
	is(list(".", false, 0), "invalid: max_entries must be a positive integer", "none");
	is(list(".", false, -5), "invalid: max_entries must be a positive integer", "less than none");
	is(list(" nope ", false, 5), "invalid: Skill directory not found: nope", "no such directory");
	is(list("SKILL.md", false, 5), "invalid: Skill directory not found: SKILL.md", "a file is none");
	is(store_read(&b, "demo", "x/../y"), "invalid: Skill file not found: y", "no such file");
	is(store_read(&b, "demo", "scripts"), "invalid: Skill file not found: scripts", "a directory is none");
	is(store_read(&b, "nobody", "x"), "invalid: Skill \"nobody\" not found", "no such skill");
	like(store_write(&b, "demo", "scripts", "x"), "^invalid: ", "a directory is not replaced by a file");
}

TEST(paths)
{
	is(store_read(&b, "demo", "/etc/passwd"), "invalid: path must be relative to the skill package root",
	    "absolute");
	static const char *const out[] = { "..", "../x", "a/../../x", "..foo", ".", "", " " };
	for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++) {
		is(store_read(&b, "demo", out[i]), OUTSIDE, "'%s' is not read", out[i]);
		is(store_write(&b, "demo", out[i], "x"), OUTSIDE, "nor written");
	}
	is(list("..", false, 5), OUTSIDE, "the directory above is not listed");
	is(list("/", false, 5), "invalid: path must be relative to the skill package root", "nor the root");
}

TEST(limits)
{
	char *text = malloc(LIM_SKILL_TEXT + 2);

	memset(text, 'x', LIM_SKILL_TEXT + 1);
	text[LIM_SKILL_TEXT + 1] = '\0';
	is(store_write(&b, "demo", "big", text), "invalid: Skill file big exceeds the 1048576-byte limit",
	    "too large to write");
	put_file(text, "%s/demo/big", b.root);
	is(store_read(&b, "demo", "big"), "invalid: Skill file big exceeds the 1048576-byte limit",
	    "too large to read");
	text[LIM_SKILL_TEXT] = '\0';
	is(store_write(&b, "demo", "big", text), "", "the largest");
	cmp_ok(strlen(store_read(&b, "demo", "big")), "==", LIM_SKILL_TEXT, "comes back");
	free(text);
	put_file("\xc3(", "%s/demo/big", b.root);
	is(store_read(&b, "demo", "big"), "invalid: Skill file big is not valid UTF-8 text", "bytes are no text");
	is(store_write(&b, "demo", "x", "\xed\xa0\x80"), "invalid: Skill file x is not valid UTF-8 text",
	    "not to write, either");
	for (int i = 0; i < 1200; i++)
		put_file("", "%s/demo/many/%04d", b.root, i);
	list("many", false, 5000);
	cmp_ok(((const struct msg_skill_entries *)b.work.reply.body)->entries.n, "==", LIM_FILES,
	    "1000 are shown at most");
	ok(((const struct msg_skill_entries *)b.work.reply.body)->truncated, "and that there are more");
	for (int i = 1200; i <= 10000; i++)
		put_file("", "%s/demo/many/%04d", b.root, i);
	is(list("many", false, 5), "invalid: Skill directory exceeds the configured entry limit", "10001 are too many");
}

TEST(symlinks)
{
	char secret[128], abs[128];

	put_file("secret", "%s/secret", dir);
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	snprintf(abs, sizeof(abs), "%s", dir);
	link_to(secret, "leak");
	link_to(abs, "up");
	link_to("../../../../../../secret", "rel");
	link_to("inner.txt", "alias");
	link_to("nowhere", "dangling");
	link_to("loop", "loop");
	link_to("/proc/self/fd/0", "magic");
	put_file("inner", "%s/demo/inner.txt", b.root);
	is(store_read(&b, "demo", "leak"), OUTSIDE, "a symlink that leaves is not read");
	is(store_read(&b, "demo", "rel"), OUTSIDE, "by whatever way");
	is(store_read(&b, "demo", "up/secret"), OUTSIDE, "nor one on the way");
	is(store_read(&b, "demo", "loop"), OUTSIDE, "nor one that never ends");
	is(store_read(&b, "demo", "magic"), OUTSIDE, "nor one into the kernel");
	is(store_read(&b, "demo", "dangling"), "invalid: Skill file not found: dangling", "one that leads nowhere");
	is(store_read(&b, "demo", "alias"), "inner", "one that stays is followed");
	is(store_write(&b, "demo", "leak", "gone"), OUTSIDE, "nothing is written through it");
	is(store_write(&b, "demo", "up/secret", "gone"), OUTSIDE, "nor on the way");
	is(store_write(&b, "demo", "up/new/secret", "gone"), OUTSIDE, "and no directory made there");
	is(get_file("%s/secret", dir), "secret", "it is as it was");
	ok(!is_there("%s/new", dir), "and alone");
	is(list("up", false, 5), OUTSIDE, "nothing is listed through it");
	is(store_write(&b, "demo", "alias", "text"), "", "a symlink that stays is replaced");
	is(get_file("%s/demo/inner.txt", b.root), "inner", "and not written through");
	like(
	    list(".", false, 200), " dangling=0 .* leak=0 ", "one that leads nowhere, or out, does not spoil the list");
	like(list(".", false, 200), " up=0", "nor is it told what is there");
}

/* Everything a sandbox can put in the place of a file. */
TEST(hostile)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/demo/fifo", b.root);
	mkfifo(path, 0666);
	is(store_read(&b, "demo", "fifo"), "invalid: Skill file not found: fifo", "a FIFO does not hold it");
	snprintf(path, sizeof(path), "%s/demo/sparse", b.root);
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	ok(ftruncate(fd, 1L << 40) == 0, "a terabyte of nothing");
	close(fd);
	is(store_read(&b, "demo", "sparse"), "invalid: Skill file sparse exceeds the 1048576-byte limit",
	    "is not read");
	put_file("", "%s/demo/\xff\xfe", b.root);
	like(list(".", false, 200), "\xef\xbf\xbd", "a name that is no text is shown as far as it is");

	put_file("---\nname: trap\n---\n", "%s/trap/SKILL.md", b.root);
	snprintf(path, sizeof(path), "%s/trap/SKILL.md", b.root);
	unlink(path);
	mkfifo(path, 0666);
	is(store_get(&b, "trap"), "none", "a FIFO is no entry file");
	unlink(path);
	ok(symlink("/etc/hostname", path) == 0, "nor is a symlink");
	is(store_get(&b, "trap"), "none", "that leaves the package");
	unlink(path);
	make_dir("%s", path);
	is(store_get(&b, "trap"), "none", "nor a directory");
	is(store_list(&b), "demo", "and the others are found all the same");
	snprintf(path, sizeof(path), "%s/way", b.root);
	ok(symlink("demo", path) == 0 && strcmp(store_list(&b), "demo") == 0, "a symlink is no package");
	char outside[256];
	snprintf(outside, sizeof(outside), "%s/elsewhere", dir);
	make_dir("%s", outside);
	snprintf(path, sizeof(path), "%s/linked", b.root);
	ok(symlink(outside, path) == 0, "a symlink with a skill's name");
	like(store_create(&b, "linked", "x"), "^invalid: Skill directory already exists: ", "is not followed");
	ok(!is_there("%s/SKILL.md", outside), "nothing was written there");
}

/* What a sandbox makes belongs to the workspace's owner, too. */
static void
as_the_owner(void)
{
	char command[512];

	snprintf(command, sizeof(command), "chown -hR 12345:12345 %s/data", dir);
	if (geteuid() == 0 && system(command) != 0)
		BAIL_OUT("chown");
}

/* A tree that its owner closed, and deeper than a path is long. */
TEST(delete)
{
	char path[512];
	int  at, next;

	is(store_create(&b, "deep", ""), "", "a package");
	snprintf(path, sizeof(path), "%s/deep", b.root);
	at = open(path, O_PATH);
	for (int i = 0; i < 300 && at != -1; i++) {
		char name[201];

		memset(name, 'n', 200);
		name[200] = '\0';
		mkdirat(at, name, 0755);
		next = openat(at, name, O_PATH);
		close(at);
		at = next;
	}
	close(at);
	make_dir("%s/closed", path);
	put_file("x", "%s/closed/file", path);
	as_the_owner();
	snprintf(path, sizeof(path), "%s/deep/closed", b.root);
	chmod(path, 0);
	snprintf(path, sizeof(path), "%s/deep", b.root);
	chmod(path, 0500);
	is(store_delete(&b, "deep"), "", "is removed with all that is in it");
	ok(!is_there("%s/deep", b.root), "whole");
}

int
main(void)
{
	must(mkdtemp(dir) != NULL, "mkdtemp");
	/* not root's, so that root's rights are no excuse */
	if (geteuid() == 0 && (chmod(dir, 0755) == -1 || chown(dir, 12345, 12345) == -1))
		BAIL_OUT("chown");
	is(storebox_plain(&b, dir), "", "box-store is ready");
	is(store_create(&b, "demo", "hi"), "", "with a skill");
	run_tests();
	cmp_ok(storebox_end(&b, false), "==", 0, "it ends with its channel");
	remove_all(dir);
	done_testing();
}
