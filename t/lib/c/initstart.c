#include "initstart.h"

#include <linux/filter.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/memfd.h"
#include "tap.h"
#include "wire/chan.h"

enum { LISTENER, CHANNEL, FILTER, OOM, GIVEN }; /* in the order of their numbers from 3 on */

static void
write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		_exit(118);
}

static void
place(int fd, int at)
{
	if (dup2(fd, at) == -1)
		_exit(120);
}

static _Noreturn void
become_init(const char *program, const char *mode, const char *orphan_ms, int given[GIVEN])
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1)
		_exit(INIT_NO_PROC);
	given[OOM] = open("/proc/self/oom_score_adj", O_RDWR);
	for (int i = 0; i < GIVEN; i++) /* first out of the way */
		given[i] = fcntl(given[i], F_DUPFD, 20);
	for (int i = 0; i < 3; i++)
		place(null, i);
	for (int i = 0; i < GIVEN; i++)
		place(given[i], 3 + i);
	close_range(3 + GIVEN, ~0U, 0);
	signal(SIGUSR1, SIG_IGN); /* init must not hand that on */
	execve(program, (char *[]){ "box-init", (char *)mode, (char *)orphan_ms, "oom=6", NULL }, (char *[]){ NULL });
	_exit(INIT_NO_PROGRAM);
}

static void
map_ids(uid_t uid, gid_t gid)
{
	char text[64];

	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", uid);
	write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", gid);
	write_file("/proc/self/gid_map", text);
}

static _Noreturn void
outer(const char *program, const char *mode, const char *orphan_ms, int given[GIVEN])
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int   status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == -1)
		_exit(INIT_NO_NAMESPACES);
	map_ids(uid, gid);
	pid_t pid = fork();
	if (pid == 0)
		become_init(program, mode, orphan_ms, given);
	close_range(3, ~0U, 0); /* or init's end of the channel would outlive it here */
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 123);
}

static struct sockaddr_un
address(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return a;
}

pid_t
init_spawn(const char *program, const char *mode, const char *orphan_ms, const char *path, int *chan)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U /* SECCOMP_RET_ALLOW */);
	struct sockaddr_un at = address(path);
	struct err         e = { 0 };
	int                ends[2];

	AUTO_FD int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	AUTO_FD int filter = memfd_of("filter", &allow, sizeof(allow), &e);
	must(bind(listener, (struct sockaddr *)&at, sizeof(at)) != -1 && filter != -1 && chan_pair(ends, &e) != -1,
	    "channels for init: %s %s", strerror(errno), e.text);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		outer(program, mode, orphan_ms, (int[GIVEN]){ listener, ends[1], filter, -1 });
	close(ends[1]);
	*chan = ends[0];
	return pid;
}

int
init_connect(const char *path)
{
	struct sockaddr_un a = address(path);
	int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	must(connect(fd, (struct sockaddr *)&a, sizeof(a)) != -1, "connect to init: %s", strerror(errno));
	return fd;
}
