/* What a scan makes of trees and of a "/proc" that a stranger made. */
#include <sys/resource.h>

#include "base/bounds.h"
#include "tap.h"
#include "workers/session/disk/scan.h"

static char dir[] = "/tmp/boxd-t-scan-XXXXXX";

static void
count_one(void *arg, const struct nameless *f)
{
	++*(unsigned *)arg;
}

static struct look
look(int proc, unsigned most, unsigned *found)
{
	struct look l = { .most = most, .found = count_one, .arg = found };

	*found = 0;
	look_at_open_files(&l, proc);
	return l;
}

/* A file without an end: it is sparse, and takes no space. */
static void
make_endless(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd != -1 && ftruncate(fd, 1L << 40) != -1, "%s: %s", path, strerror(errno));
	close(fd);
}

/* Opened, the FIFO would hold us; read, the file would fill the machine. */
TEST(planted_proc)
{
	struct rusage before, after;
	unsigned      found;

	must(chdir(dir) != -1 && mkdir("proc", 0755) != -1 && mkdir("proc/7", 0755) != -1 &&
		 mkdir("proc/7/task", 0755) != -1 && mkdir("proc/7/task/7", 0755) != -1 &&
		 mkdir("proc/8", 0755) != -1 && mkdir("proc/8/task", 0755) != -1 &&
		 mkdir("proc/8/task/8", 0755) != -1 && mkfifo("proc/7/task/7/maps", 0600) != -1 &&
		 mkfifo("proc/7/task/7/fd", 0600) != -1,
	    "plant: %s", strerror(errno));
	make_endless("proc/8/task/8/maps");
	int proc = open("proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(!proc_is_genuine(proc), "a directory is no procfs");
	getrusage(RUSAGE_SELF, &before);
	struct look l = look(proc, LIM_SCAN_OPEN, &found);
	getrusage(RUSAGE_SELF, &after);
	cmp_ok(l.end, "==", SCAN_BROKEN, "a planted /proc cannot be measured");
	cmp_ok(l.most, "==", LIM_SCAN_OPEN, "and nothing in it is looked at");
	cmp_ok(after.ru_maxrss - before.ru_maxrss, "<", 10000, "nor takes memory");
	close(proc);
	proc = open("/proc/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(!proc_is_genuine(proc), "a directory below a procfs is not its root");
	cmp_ok(look(proc, LIM_SCAN_OPEN, &found).end, "==", SCAN_BROKEN, "nor measured as one");
	close(proc);
	cmp_ok(look(-1, LIM_SCAN_OPEN, &found).end, "==", SCAN_BROKEN, "nor is none at all");
}

TEST(real_proc)
{
	unsigned found;
	int      proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ok(proc_is_genuine(proc), "/proc is a procfs");
	int file = open("gone", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	unlink("gone");
	struct look l = look(proc, LIM_SCAN_OPEN, &found);
	cmp_ok(l.end, "==", SCAN_WHOLE, "it is looked through");
	cmp_ok(found, ">=", 1, "and tells of a file without a name");
	l = look(proc, 3, &found);
	cmp_ok(l.end, "==", SCAN_OPEN, "more than may be looked at is told");
	close(file);
	close(proc);
}

TEST(waiting_descriptor)
{
	unsigned found;
	int      proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ends[2];
	char     room[CMSG_SPACE(sizeof(int))] = { 0 };
	uint64_t before = look(proc, LIM_SCAN_OPEN, &found).hidden;

	struct iovec    text = { .iov_base = "x", .iov_len = 1 };
	struct msghdr   m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &proc, sizeof(proc));
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != -1 && sendmsg(ends[0], &m, 0) == 1,
	    "send a descriptor: %s", strerror(errno));
	cmp_ok(look(proc, LIM_SCAN_OPEN, &found).hidden, ">", before, "a descriptor that waits in a socket is noticed");
	close(ends[0]);
	close(ends[1]);
	close(proc);
}

/* ---- trees ---- */

static struct scan_total
scan_two(struct scan *s, const char *a, const char *b)
{
	const char *const both[] = { a, b };

	scan_begin(s);
	for (int i = 0; i < 2; i++) {
		int fd = open(both[i], O_PATH | O_CLOEXEC);

		scan_place(s, fd);
		close(fd);
	}
	return s->total;
}

static void
write_file(const char *path, size_t n)
{
	char *bytes = malloc(n);
	int   fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(bytes, 'x', n);
	must(fd != -1 && write(fd, bytes, n) == (ssize_t)n, "%s: %s", path, strerror(errno));
	free(bytes);
	close(fd);
}

TEST(trees)
{
	struct scan s;
	struct err  e;
	char        path[64];

	mkdir("a", 0755);
	mkdir("a/below", 0755);
	mkdir("b", 0755);
	write_file("a/below/f", 1000000);
	write_file("b/f", 1000000);
	must(scan_init(&s, 50, false, &e) != -1, "%s", e.text);
	uint64_t one = scan_two(&s, "a", "a").bytes, two = scan_two(&s, "a", "b").bytes;
	cmp_ok(one, ">=", 1000000, "a tree is measured");
	cmp_ok(one, "<", 2000000, "once, also when it is named twice");
	cmp_ok(two, ">=", 2000000, "two are added");
	cmp_ok(scan_two(&s, "a/below", "a").bytes, "==", one, "one below the other counts once");
	cmp_ok(scan_two(&s, "a", "b/f").bytes, ">=", 2000000, "a place can be a file");
	cmp_ok(scan_two(&s, "a", "nowhere").end, "==", SCAN_BROKEN, "what is not there cannot be measured");
	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "b/%d", i);
		write_file(path, 1);
	}
	cmp_ok(scan_two(&s, "a", "b").end, "==", SCAN_MANY, "too many entries are told");
	scan_nameless(&s, &(struct nameless){ .dev = 1, .ino = 5, .bytes = 1000 });
	uint64_t bytes = s.total.bytes;
	scan_nameless(&s, &(struct nameless){ .dev = s.devs[0], .ino = 1UL << 50, .bytes = 1000 });
	cmp_ok(s.total.bytes - bytes, "==", 1000, "a file without a name counts on the same file system alone");
	scan_clear(&s);
}

/* More inodes than there is room for: told, and not lost in the table for ever. */
TEST(full_table)
{
	struct scan s;
	struct err  e;

	must(scan_init(&s, 1, false, &e) != -1, "%s", e.text);
	scan_two(&s, "b/f", "b/f");
	for (uint64_t i = 1; s.total.end == SCAN_WHOLE && i < 10 * LIM_SCAN_NAMELESS; i++)
		scan_nameless(&s, &(struct nameless){ .dev = s.devs[0], .ino = i << 30, .bytes = 1 });
	cmp_ok(s.total.end, "==", SCAN_MANY, "a full table is told");
	cmp_ok(s.total.bytes, ">=", LIM_SCAN_NAMELESS, "and holds as many as it says");
	scan_begin(&s);
	cmp_ok(s.seen.n, "==", 0, "the next scan begins with an empty one");
	scan_two(&s, "b/f", "b/f");
	cmp_ok(s.total.end, "==", SCAN_WHOLE, "and is whole");
	scan_clear(&s);
}

/* As an ordinary user: modes hide. */
TEST(modes)
{
	struct scan s;
	struct err  e;
	int         status;

	skip(geteuid() != 0, 2, "another user can be had by root alone");
	chmod(dir, 0755);
	mkdir("m", 0755);
	mkdir("m/d", 0755);
	write_file("m/d/f", 1000000);
	must(chown("m", 65534, 65534) != -1 && chown("m/d", 65534, 65534) != -1, "chown: %s", strerror(errno));
	static const mode_t modes[] = { 0444, 0 };
	for (size_t i = 0; i < 2; i++) {
		chmod("m/d", modes[i]);
		pid_t pid = fork();
		if (pid == 0) {
			if (setresuid(65534, 65534, 65534) == -1 || scan_init(&s, 50, false, &e) == -1)
				_exit(99);
			_exit((int)scan_two(&s, "m", "m").end);
		}
		waitpid(pid, &status, 0);
		cmp_ok(WEXITSTATUS(status), "==", SCAN_BROKEN, "a directory of mode %03o is not taken for empty",
		    modes[i]);
	}
	end_skip;
}

int
main(void)
{
	char command[128];

	must(mkdtemp(dir) != NULL, "mkdtemp");
	alarm(300); /* whoever waits for a FIFO waits for ever */
	run_tests();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cmp_ok(system(command), "==", 0, "nothing is left");
	done_testing();
}
