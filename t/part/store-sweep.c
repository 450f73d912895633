/* What one workspace left behind is swept beside the requests of others, however much it is. */
#include "storebox.h"
#include "tap.h"
#include "zipmake.h"

enum { FILES = 3000, TRIES = 50 };

static struct storebox b;
static char            dir[] = "/tmp/boxd-t-sweep-XXXXXX";

/* As a process that was killed while it removed a package leaves it. */
static void
leave_behind(void)
{
	char from[256], to[256], path[512];

	snprintf(from, sizeof(from), "%s/left", dir);
	snprintf(to, sizeof(to), "%s/data/box/skills/.staging-00000000000000aa", dir);
	make_dir("%s/skill", from);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/skill/f%d", from, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		must(fd != -1, "%s: %s", path, strerror(errno));
		close(fd);
	}
	must(rename(from, to) != -1, "%s: %s", to, strerror(errno));
}

static bool
is_left(void)
{
	return is_there("%s/data/box/skills/.staging-00000000000000aa/skill", dir);
}

/* A new box-store whose sweep is stopped when it has begun; 0: it was faster. */
static pid_t
stopped_sweep(void)
{
	pid_t pid = 0;

	leave_behind();
	must(*storebox_plain(&b, dir) == '\0', "%s", b.work.why);
	while (pid == 0 && is_left())
		pid = store_child(&b, "box-sweep");
	if (pid != 0 && kill(pid, SIGSTOP) == 0 && is_left())
		return pid;
	if (pid != 0)
		kill(pid, SIGCONT);
	storebox_end(&b, false);
	return 0;
}

static void
await_swept(void)
{
	while (store_staged(&b) > 0)
		usleep(1000);
}

int
main(void)
{
	struct buf zip = { 0 };
	pid_t      pid = 0;

	must(mkdtemp(dir) != NULL, "mkdtemp");
	zip_honest(&zip, "SKILL.md", "---\nname: small\n---\n", NULL);
	is(storebox_plain(&b, dir), "", "box-store makes its directories");
	storebox_end(&b, false);
	for (int i = 0; i < TRIES && pid == 0; i++)
		pid = stopped_sweep();
	ok(pid != 0, "box-store is ready before it has swept");
	is(store_install(&b, &zip, "small.zip"), "", "an installation does not wait for the sweep");
	is(store_list(&b), "small", "it is there");
	is(store_delete(&b, "small"), "", "nor does a removal");
	ok(is_left(), "while all is still to be swept");
	kill(pid, SIGCONT);
	await_swept();
	pass("then it is");
	leave_behind();
	is(store_install(&b, &zip, "small.zip"), "", "the next installation");
	await_swept();
	pass("has swept what came later");
	pid = 0;
	for (int i = 0; i < TRIES && pid == 0; i++) {
		storebox_end(&b, false);
		pid = stopped_sweep();
	}
	cmp_ok(storebox_end(&b, false), "==", 0, "box-store ends while its sweep is stopped");
	cmp_ok(kill(pid, 0), "==", -1, "and takes it along");
	buf_clear(&zip);
	remove_all(dir);
	done_testing();
}
