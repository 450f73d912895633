/* The descriptors a program starts with: closed streams are replaced, others closed or marked, with and without close_range. */
#include <seccomp.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>

#include "base/stdfds.h"
#include "tap.h"

static bool has_no_close_range;

/* In a child, where nothing is lost: its exit status. */
static int
in_child(int (*code)(void))
{
	pid_t pid = fork();
	int   status = -1;

	if (pid == 0) {
		if (has_no_close_range) {
			scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

			if (seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(close_range), 0) != 0 ||
			    seccomp_load(f) != 0 || syscall(SYS_close_range, 900U, 900U, 0U) != -1)
				_exit(99);
			seccomp_release(f);
		}
		_exit(code());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

static bool
is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static void
close_streams(unsigned which)
{
	for (int fd = 0; fd < 3; fd++)
		if (which & 1U << fd)
			close(fd);
}

/* ---- each returns the number of the first thing that is wrong ---- */

static unsigned closed; /* bits of the streams that are closed before */

static int
streams_are_null(void)
{
	close_streams(closed);
	stdfds_open();
	for (int fd = 0; fd < 3; fd++)
		if (!is_open(fd) ||
		    ((closed & 1U << fd) && (!is_null(fd) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)))
			return 1 + fd;
	return open("/", O_RDONLY) > 2 ? 0 : 4;
}

static int
streams_are_unusable(void)
{
	char byte;

	close_streams(closed);
	stdfds_open_unusable();
	for (int fd = 0; fd < 3; fd++)
		if (!is_open(fd))
			return 1 + fd;
	if ((closed & 1) && (read(0, &byte, 1) != -1 || errno != EBADF))
		return 4;
	for (int fd = 1; fd < 3; fd++)
		if ((closed & 1U << fd) && (write(fd, "x", 1) != -1 || errno != EBADF))
			return 4 + fd;
	return 0;
}

static int
others_are_closed(void)
{
	static const int opened[] = { 3, 4, 5, 7, 9, 17, 250 };
	static const int keep[] = { 17, -1, 5, 0, 5, 4, 11 };

	for (size_t i = 0; i < sizeof(opened) / sizeof(*opened); i++)
		if (dup2(0, opened[i]) == -1)
			return 90;
	stdfds_close_others(keep, sizeof(keep) / sizeof(*keep));
	for (int fd = 0; fd < 300; fd++)
		if (is_open(fd) != (fd < 3 || fd == 4 || fd == 5 || fd == 17))
			return 1 + fd % 80;
	return 0;
}

static int
nothing_is_kept(void)
{
	if (dup2(0, 3) == -1 || dup2(0, 77) == -1)
		return 90;
	stdfds_close_others(NULL, 0);
	for (int fd = 0; fd < 300; fd++)
		if (is_open(fd) != (fd < 3))
			return 1 + fd % 80;
	return 0;
}

static int
others_are_marked(void)
{
	if (dup2(0, 3) == -1 || dup2(0, 77) == -1)
		return 90;
	stdfds_keep_from_children();
	if (fcntl(3, F_GETFD) != FD_CLOEXEC || fcntl(77, F_GETFD) != FD_CLOEXEC)
		return 1;
	return fcntl(0, F_GETFD) == 0 ? 0 : 2;
}

TEST(descriptors)
{
	for (closed = 0; closed < 8; closed++) {
		cmp_ok(in_child(streams_are_null), "==", 0, "closed streams, set %u: /dev/null", closed);
		cmp_ok(in_child(streams_are_unusable), "==", 0, "closed streams, set %u: using them fails", closed);
	}
	for (int i = 0; i < 2; i++) {
		const char *how = i == 0 ? "with" : "without";

		has_no_close_range = i == 1;
		cmp_ok(in_child(others_are_closed), "==", 0, "%s close_range: all but the list is closed", how);
		cmp_ok(in_child(nothing_is_kept), "==", 0, "%s close_range: an empty list", how);
		cmp_ok(in_child(others_are_marked), "==", 0, "%s close_range: all are marked", how);
	}
}
