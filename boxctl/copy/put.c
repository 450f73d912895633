/*
 * From this machine into a session.  Below what the user named no symlink is followed:
 * it is copied as the symlink it is.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "copy/copy.h"
#include "text.h"

static int put_entry(struct copy *, int dir, const char *name, const char *to, int depth, struct err *);

static int
put_file(struct copy *c, int fd, const struct stat *st, const char *to, struct err *e)
{
	struct transfer about = {
		.mode = st->st_mode & 0777U,
		.modified_ms = st->st_mtim.tv_sec > 0
				   ? (uint64_t)st->st_mtim.tv_sec * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000
				   : 0,
		.size = (uint64_t)st->st_size,
	};

	return transfer_put(c, fd, to, &about, e);
}

/* Its own directory must stay open to us until all is in it. */
static int
make_dir(struct copy *c, const char *to, mode_t mode, struct err *e)
{
	struct msg_file_mkdir ask = {
		.session = c->session, .path = to, .mode = (mode & 0777U) | 0700U, .parents = true
	};
	struct msg reply;

	if (client_call(c->client, MSG_FILE_MKDIR, &ask, &reply, e) == -1)
		return -1;
	msg_clear(&reply);
	c->dirs++;
	return 0;
}

/* Takes fd. */
static int
put_dir(struct copy *c, int fd, const char *to, int depth, struct err *e)
{
	DIR           *d = fdopendir(fd);
	struct dirent *one;
	char           path[LIM_PATH + 1];
	int            r = 0;

	if (d == NULL) {
		close(fd);
		return err_sys(e, "read a directory");
	}
	while (r == 0 && (errno = 0, one = readdir(d)) != NULL) {
		if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
			continue;
		r = copy_join(path, to, one->d_name, e);
		if (r == 0)
			r = put_entry(c, dirfd(d), one->d_name, path, depth + 1, e);
	}
	if (r == 0 && errno != 0)
		r = err_sys(e, "read a directory");
	closedir(d);
	return r;
}

static int
put_link(struct copy *c, int dir, const char *name, const char *to, struct err *e)
{
	char                    target[PATH_MAX];
	struct msg_file_symlink ask = { .session = c->session, .path = to, .target = target };
	struct msg              reply;

	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	if (n == -1)
		return err_sys(e, "read the symlink %s", text_safe(name));
	target[n] = '\0';
	if (client_call(c->client, MSG_FILE_SYMLINK, &ask, &reply, e) == -1)
		return -1;
	msg_clear(&reply);
	c->links++;
	return 0;
}

/* An open file or directory. */
static int
put_open(struct copy *c, int *fd, const char *to, bool make, int depth, struct err *e)
{
	struct stat st;

	if (fstat(*fd, &st) == -1)
		return err_sys(e, "fstat");
	if (S_ISREG(st.st_mode))
		return put_file(c, *fd, &st, to, e);
	if (!S_ISDIR(st.st_mode)) {
		copy_leave_out(c, to);
		return 0;
	}
	if (depth > COPY_DEPTH)
		return err_set(e, E_INVALID, "directories are nested deeper than %d", COPY_DEPTH);
	if (make && make_dir(c, to, st.st_mode, e) == -1)
		return -1;
	return put_dir(c, fd_take(fd), to, depth, e);
}

static int
put_entry(struct copy *c, int dir, const char *name, const char *to, int depth, struct err *e)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return err_sys(e, "%s", text_safe(name));
	if (S_ISLNK(st.st_mode))
		return put_link(c, dir, name, to, e);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		copy_leave_out(c, to);
		return 0;
	}
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return err_sys(e, "open %s", text_safe(name));
	return put_open(c, &fd, to, true, depth, e);
}

int
put_path(struct copy *c, const char *from, bool contents, const char *to, struct err *e)
{
	AUTO_FD int fd = open(from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1)
		return err_sys(e, "open %s", text_safe(from));
	return put_open(c, &fd, to, !contents || strcmp(to, ".") != 0, 0, e);
}

int
put_stdin(struct copy *c, const char *to, struct err *e)
{
	struct transfer about = { .mode = 0644 };

	return transfer_put(c, STDIN_FILENO, to, &about, e);
}
