#include "sandbox/shadow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/sys.h"
#include "sandbox/procfs.h"
#include "sandbox/tree.h"

enum { MOST_ENTRIES = 1024, MOST_SHADOWS = LIM_MOUNTS };

static int    made[MOST_SHADOWS];
static size_t nmade;

static int
copy_link(int from, const char *name, int to)
{
	char    target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n == -1)
		return -1;
	target[n] = '\0';
	return symlinkat(target, to, name);
}

static int
make_point(int dir, const char *name, bool is_dir)
{
	if (is_dir)
		return mkdirat(dir, name, 0755);
	AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return fd == -1 ? -1 : 0;
}

static int
copy_entry(int from, const char *name, int to)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	if (S_ISLNK(st.st_mode))
		return copy_link(from, name, to);
	AUTO_FD int tree = sys_open_tree(
	    from, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	if (tree == -1 || make_point(to, name, S_ISDIR(st.st_mode)) == -1)
		return -1;
	return sys_move_mount(tree, "", to, name, MOVE_MOUNT_F_EMPTY_PATH);
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
copy_all(int from, int to, struct err *e)
{
	AUTO_FD int    fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *dir = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *d;
	unsigned       n = 0;
	int            r = 0;

	if (dir == NULL)
		return err_sys(e, "list the directory above a mount point");
	fd_take(&fd);
	while (r == 0 && (d = readdir(dir)) != NULL) {
		if (is_dots(d->d_name))
			continue;
		if (++n > MOST_ENTRIES)
			r = err_set(e, E_INVALID,
			    "a mount point would have to be made in a read-only directory of more than %d entries; "
			    "choose another place",
			    MOST_ENTRIES);
		else if (copy_entry(from, d->d_name, to) == -1)
			r = err_sys(e, "show %s beside a mount point", d->d_name);
	}
	closedir(dir);
	return r;
}

int
shadow_make(int dir, bool is_root, struct err *e)
{
	AUTO_FD int top = tree_tmpfs(4, 2 * MOST_ENTRIES);

	if (nmade == MOST_SHADOWS)
		return err_set(e, E_INVALID, "mount points would have to be made in more than %d read-only directories",
		    MOST_SHADOWS);
	if (top == -1 || sys_move_mount(top, "", dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)
		return err_sys(e, "a tmpfs for mount points");
	if (copy_all(dir, top, e) == -1)
		return -1;
	if (is_root && (fchdir(top) == -1 || chroot(".") == -1))
		return err_sys(e, "stand in the new root");
	if ((made[nmade] = fcntl(top, F_DUPFD_CLOEXEC, 0)) == -1)
		return err_sys(e, "keep a directory of mount points");
	nmade++;
	return fd_take(&top);
}

bool
shadow_has(int fd)
{
	uint64_t here, there;

	for (size_t i = 0; i < nmade; i++)
		if (procfs_mount(fd, &here) == 0 && procfs_mount(made[i], &there) == 0 && here == there)
			return true;
	return false;
}

int
shadow_seal(struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	for (; nmade > 0; nmade--) {
		AUTO_FD int fd = made[nmade - 1];

		if (sys_mount_setattr(fd, "", AT_EMPTY_PATH, &attr) == -1)
			return err_sys(e, "seal a directory of mount points");
	}
	return 0;
}
