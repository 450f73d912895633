#include "fs/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/newfile.h"
#include "base/rmtree.h"

/* RESOLVE_BENEATH gives up with EAGAIN when directories are moved about under it. */
enum { TRIES = 64, DIR_MODE = 0755, FILE_MODE = 0644 };

static int
open_beneath(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	errno = EAGAIN;
	for (int i = 0; i < TRIES && fd == -1 && errno == EAGAIN; i++)
		fd = (int)syscall(SYS_openat2, root, *path == '\0' ? "." : path, &how, sizeof(how));
	return fd;
}

int
tree_open_dir(int root, const char *path)
{
	return open_beneath(root, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

int
tree_open_dir_by_link(int root, const char *path)
{
	return open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
}

int
tree_open_file(int root, const char *path, struct stat *st)
{
	/* a FIFO must not hold us, nor a terminal become ours */
	AUTO_FD int fd = open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd == -1 || fstat(fd, st) == -1)
		return -1;
	if (!S_ISREG(st->st_mode)) {
		errno = ENOENT;
		return -1;
	}
	return fd_take(&fd);
}

int
tree_open_name(int root, const char *path)
{
	return open_beneath(root, path, O_PATH, 0);
}

/* A file's type, or 0. */
static mode_t
kind_of(int root, const char *path)
{
	AUTO_FD int fd = tree_open_name(root, path);
	struct stat st;

	return fd != -1 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

bool
tree_has_file(int root, const char *path)
{
	return kind_of(root, path) == S_IFREG;
}

bool
tree_has_dir(int root, const char *path)
{
	return kind_of(root, path) == S_IFDIR;
}

int
tree_make_dir(int dir, const char *name)
{
	if (mkdirat(dir, name, DIR_MODE) == -1 && errno != EEXIST)
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int
tree_make_dirs(int root, const char *path)
{
	AUTO_FD int at = tree_open_dir(root, "");
	char        so_far[LIM_PATH + 1];
	size_t      n = 0;

	while (at != -1 && path[n] != '\0') {
		n += strcspn(path + n, "/");
		memcpy(so_far, path, n);
		so_far[n] = '\0';
		n += path[n] == '/';
		int next = tree_open_dir_by_link(root, so_far);
		if (next == -1 && errno == ENOENT) {
			const char *slash = strrchr(so_far, '/');

			next = tree_make_dir(at, slash != NULL ? slash + 1 : so_far);
		}
		close(at);
		at = next;
	}
	return fd_take(&at);
}

int
tree_read(int fd, size_t most, struct buf *out)
{
	while (out->len <= most) {
		if (buf_reserve(out, 64 * KIB) == -1) {
			errno = ENOMEM;
			return -1;
		}
		ssize_t n = read(fd, out->data + out->len, 64 * KIB);
		if (n == -1)
			return -1;
		if (n == 0)
			return 0;
		out->len += (size_t)n;
	}
	return 1;
}

int
tree_write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done == -1)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* The mode of the file that is replaced, or the usual one. */
static mode_t
mode_for(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return st.st_mode & 0777;
	return FILE_MODE;
}

int
tree_write(int dir, const char *name, const void *bytes, size_t n, struct err *e)
{
	struct newfile f;
	int            own = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	if (own == -1 || newfile_open(&f, own, -1, STORE_STEM, 0600) == -1) {
		fd_close(&own);
		return err_sys(e, "write %s", name);
	}
	if (tree_write_all(f.fd, bytes, n) == -1 || fchmod(f.fd, mode_for(dir, name)) == -1 || fsync(f.fd) == -1) {
		err_sys(e, "write %s", name);
		newfile_drop(&f);
		return -1;
	}
	if (newfile_commit(&f, name) == -1 || fsync(dir) == -1)
		return err_sys(e, "write %s", name);
	return 0;
}

int
tree_remove(int dir, const char *name, const char *path, struct err *e)
{
	struct rmtree t = { .stem = STORE_STEM };

	if (rmtree(&t, dir, name) == 0)
		return 0;
	return err_sys(e, "remove %s%s%s", path, t.failed[0] != '\0' ? "/" : "", t.failed);
}
