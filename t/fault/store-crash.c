/* Whatever dies or is full in the middle of an installation, nothing half-installed is ever seen. */
#include <dirent.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "storebox.h"
#include "tap.h"
#include "zipmake.h"

enum { FILES = 400, SIZE = 20000 };

static struct storebox b;
static char            dir[] = "/tmp/boxd-t-store-XXXXXX";
static struct buf      zip;

static void
moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* 8 MB in 400 files */
static void
make_large(void)
{
	struct zipmake z = { 0 };
	static char    data[SIZE];
	char           name[32];

	memset(data, 'x', sizeof(data));
	zip_file(&z, "SKILL.md", "---\nname: large\n---\n");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 20, i);
		zip_add(&z, &(struct zip_item){ .name = name, .data = data, .n = SIZE });
	}
	zip_end(&z, "", &zip);
}

static uint64_t
begin_install(void)
{
	struct msg_skill_install m;

	msg_defaults(MSG_SKILL_INSTALL, &m);
	m.ns = "ws-a";
	m.archive = blob_of(zip.data, zip.len);
	m.filename = "large.zip";
	m.target_suffix = "upload";
	return storebox_send(&b, MSG_SKILL_INSTALL, &m);
}

/* The process that works on a request; 0: there is none. */
static pid_t
worker(void)
{
	return store_child(&b, "box-store");
}

/* One that was killed in a long call lets go when that ends: the next installation finds what it left. */
static void
sweep(void)
{
	while (store_staged(&b) > 0)
		store_install(&b, &(struct buf){ .data = (char[]){ "x" }, .len = 1 }, "x.zip");
}

/* The last sweep is over: a process that is seen next is another's. */
static void
settle(void)
{
	store_list(&b);
	while (store_child(&b, NULL) != 0)
		moment();
}

static bool
answered(void)
{
	return poll(&(struct pollfd){ .fd = b.work.channel, .events = POLLIN }, 1, 0) == 1;
}

/* The signal is on its way when kill returns; false: it ended before. */
static bool
has_stopped(pid_t pid)
{
	char path[64], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		FILE *f = fopen(path, "re");

		state = 'X';
		if (f != NULL) {
			if (fscanf(f, "%*d %*s %c", &state) != 1)
				state = 'X';
			fclose(f);
		}
	} while (strchr("TXZ", state) == NULL);
	return state == 'T';
}

/* It holds its directory: before that, a sweep may take the directory away, and it makes another. */
static bool
holds_staged(void)
{
	char path[512];
	int  fd = open(store_staged_path(&b, path, sizeof(path)), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool held = fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK;

	if (fd != -1)
		close(fd);
	return held;
}

/* An installation that has begun to unpack, and is stopped there; once more when it was faster. */
static pid_t
stopped_install(uint64_t *id)
{
	pid_t pid;

	for (int i = 0; i < 100; i++) {
		sweep(); /* what is seen next is its own */
		settle();
		*id = begin_install();
		while ((pid = worker()) == 0 && !answered())
			moment();
		while (pid != 0 && store_staged(&b) == 0 && worker() == pid && !answered())
			;
		if (pid != 0 && worker() == pid && kill(pid, SIGSTOP) == 0 && has_stopped(pid)) {
			if (!is_there("%s/large-upload", b.root) && store_staged(&b) == 1 && holds_staged())
				return pid;
			kill(pid, SIGCONT);
		}
		storebox_take(&b, *id, MSG_SKILL_INSTALL);
		store_delete(&b, "large");
	}
	BAIL_OUT("no installation can be stopped in the middle");
}

static void
check_whole_or_nothing(const char *when)
{
	if (!is_there("%s/large-upload", b.root)) {
		pass("%s: nothing is installed", when);
		return;
	}
	bool whole = true;
	for (int i = 0; i < FILES; i++)
		whole &= is_there("%s/large-upload/d%d/f%d", b.root, i % 20, i);
	ok(whole, "%s: it is installed whole", when);
}

static void
test_kill_worker(void)
{
	uint64_t id;
	pid_t    pid = stopped_install(&id);

	pass("an installation is stopped in the middle");
	kill(pid, SIGKILL);
	is(storebox_take(&b, id, MSG_SKILL_INSTALL), "crashed: box-store: the process that worked on it died",
	    "its death is told");
	check_whole_or_nothing("after it");
	is(store_list(&b), "", "box-store goes on");
}

static void
test_kill_store(void)
{
	uint64_t id;
	pid_t    pid = stopped_install(&id);

	cmp_ok(storebox_end(&b, true), "==", SIGKILL, "box-store is killed in the middle of another");
	/* it is ours now */
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	pass("its process dies with it");
	check_whole_or_nothing("after it");
	is(storebox_plain(&b, dir), "", "the next one starts");
	while (store_staged(&b) > 0)
		moment();
	pass("and sweeps what was left");
	is(store_install(&b, &zip, "large.zip"), "", "the same archive is installed");
	check_whole_or_nothing("at last");
	is(store_delete(&b, "large"), "", "and removed");
}

/* A second one on the same directories leaves the work of the first alone. */
static void
test_two_stores(void)
{
	uint64_t        id;
	pid_t           pid = stopped_install(&id);
	struct storebox other;

	is(storebox_plain(&other, dir), "", "another box-store starts beside it");
	cmp_ok(store_staged(&b), "==", 1, "it sweeps nothing that is in use");
	is(store_list(&other), "", "and works");
	kill(pid, SIGCONT);
	is(storebox_take(&b, id, MSG_SKILL_INSTALL), "", "the first one finishes");
	is(store_list(&other), "large", "which both see");
	cmp_ok(storebox_end(&other, false), "==", 0, "the other goes");
	is(store_delete(&b, "large"), "", "and all is gone");
}

/* At any moment, again and again: whole or not at all. */
static void
test_many_kills(void)
{
	size_t half = 0;

	for (int i = 0; i < 12; i++) {
		begin_install();
		for (int k = 0; k < i * 12; k++)
			moment();
		storebox_end(&b, true);
		must(*storebox_plain(&b, dir) == '\0', "%s", b.work.why);
		sweep();
		if (is_there("%s/large-upload", b.root)) {
			for (int f = 0; f < FILES; f++)
				half += !is_there("%s/large-upload/d%d/f%d", b.root, f % 20, f);
			store_delete(&b, "large");
		}
	}
	cmp_ok(half, "==", 0, "twelve kills at twelve moments leave nothing half");
}

static void
test_full_disk(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/data/box/skills", dir);
	bool mounted = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		       mount("boxd-t", path, "tmpfs", 0, "size=3m,nr_inodes=200,mode=755") == 0;
	skip(!mounted, 11, "no file system can be mounted: %s", strerror(errno));
	is(storebox_plain(&b, dir), "", "a small disk");
	like(store_install(&b, &zip, "large.zip"), "^invalid: .*No space left", "is too small");
	ok(!is_there("%s/large-upload", b.root), "nothing is installed");
	cmp_ok(store_staged(&b), "==", 0, "or left");
	is(store_create(&b, "small", "text"), "", "there is room for something small");
	char *fill = malloc(LIM_SKILL_TEXT);
	memset(fill, 'x', LIM_SKILL_TEXT);
	fill[LIM_SKILL_TEXT - 1] = '\0';
	int  n = 0;
	char name[16];
	do
		snprintf(name, sizeof(name), "f%d", n++);
	while (n < 10 && *store_write(&b, "small", name, fill) == '\0');
	like(b.work.why, "^invalid: write f.*No space left", "until it is full");
	ok(!is_there("%s/small/%s", b.root, name), "half a file is none");
	like(store_write(&b, "small", "f0", fill), "No space left", "nothing can be replaced");
	cmp_ok(strlen(store_read(&b, "small", "f0")), "==", LIM_SKILL_TEXT - 1, "but what was there still is");
	free(fill);
	is(store_delete(&b, "small"), "", "and can be removed");
	cmp_ok(storebox_end(&b, false), "==", 0, "it ends");
	umount2(path, MNT_DETACH);
	end_skip;
}

int
main(void)
{
	must(mkdtemp(dir) != NULL, "mkdtemp");
	/* what a killed box-store leaves comes to us, as it does to boxd */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_large();
	is(storebox_plain(&b, dir), "", "box-store is ready");
	test_kill_worker();
	test_kill_store();
	test_two_stores();
	test_many_kills();
	storebox_end(&b, false);
	test_full_disk();
	while (waitpid(-1, NULL, 0) > 0)
		;
	buf_clear(&zip);
	remove_all(dir);
	done_testing();
}
