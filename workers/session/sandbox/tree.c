#include "sandbox/tree.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"

int
tree_copy(int dir, const char *path, bool deep, uint64_t attributes)
{
	/* private: what is mounted on it later must not appear where it was copied from */
	struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };
	unsigned          empty = *path == '\0' ? AT_EMPTY_PATH : 0, recursive = deep ? AT_RECURSIVE : 0;
	AUTO_FD int       tree = sys_open_tree(
		  dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | recursive | empty);

	if (tree == -1)
		return -1;
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr) == -1)
		return -1;
	return fd_take(&tree);
}

/* A visit changes where we stand and what / is, so both are put back. */
int
tree_copy_from(int ns, int dir, const char *path, uint64_t attributes)
{
	AUTO_FD int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	AUTO_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (home == -1 || root == -1 || here == -1 || setns(ns, CLONE_NEWNS) == -1)
		return -1;
	AUTO_FD int tree = tree_copy(dir, path, false, attributes);
	int         why = errno;
	/* a worker that cannot come back must not go on */
	if (setns(home, CLONE_NEWNS) == -1 || fchdir(root) == -1 || chroot(".") == -1 || fchdir(here) == -1)
		abort();
	errno = why;
	return fd_take(&tree);
}

int
tree_put(int tree, const char *at, struct err *e)
{
	if (sys_move_mount(tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) == -1)
		return err_sys(e, "mount on %s", at);
	return 0;
}

/* ---- id maps ---------------------------------------------------------------------- */

static int
write_map(pid_t pid, const char *file, uint32_t from, const struct idmap *m)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	int         n = snprintf(text, sizeof(text), "%u %u %u", from, m->to, m->count);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd == -1 || write(fd, text, (size_t)n) != n ? -1 : 0;
}

static int
open_userns(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Ours, or its parent's should that come first. */
static _Noreturn void
wait_for_death(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/*
 * A user namespace comes to be only with a process in it: a child that does nothing,
 * and is gone when this returns.
 */
int
idmap_open(const struct idmap *m)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	pid_t             us = getpid(), pid = sys_clone3(&args);
	int               ns = -1, why;

	if (pid == 0)
		wait_for_death(us);
	if (pid == -1)
		return -1;
	if (write_map(pid, "uid_map", m->uid, m) == 0 && write_map(pid, "gid_map", m->gid, m) == 0)
		ns = open_userns(pid);
	why = errno;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	errno = why;
	return ns;
}

int
tree_idmap(int tree, int map)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)map };

	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
}

/* ---- new file systems --------------------------------------------------------------- */

int
tree_tmpfs(uint64_t mb, uint64_t inodes)
{
	AUTO_FD int fs = sys_fsopen("tmpfs");
	char        size[32], count[32];

	snprintf(size, sizeof(size), "%luk", mb * 1024);
	snprintf(count, sizeof(count), "%lu", inodes);
	if (fs == -1 || sys_fsconfig_set(fs, "size", size) == -1 || sys_fsconfig_set(fs, "nr_inodes", count) == -1 ||
	    sys_fsconfig_set(fs, "mode", "0755") == -1 || sys_fsconfig_create(fs) == -1)
		return -1;
	return sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
