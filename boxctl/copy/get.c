/*
 * From a session to this machine.  What the names and kinds are was decided inside, by
 * whoever wishes us ill: a name is one part of a path or it is refused, everything
 * is made by descriptor in a directory that we made or opened without following
 * a symlink, and a file appears under its name whole or not at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "copy/copy.h"
#include "text.h"
#include "wire/owned_msg.h"

static int get_entry(
    struct copy *, const char *from, const struct msg_file_info *, int dir, const char *name, int depth, struct err *);

static int
check_name(const char *name, struct err *e)
{
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/') != NULL)
		return err_set(e, E_INVALID, "'%s' is no name for a file", text_safe(name));
	return 0;
}

static void
times_of(uint64_t modified_ms, struct timespec times[2])
{
	times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	times[1] = (struct timespec){
		.tv_sec = (time_t)(modified_ms / 1000),
		.tv_nsec = (long)(modified_ms % 1000) * 1000000,
	};
}

/* ---- one file ------------------------------------------------------------------------- */

static int
receive(struct copy *c, const char *from, struct newfile *f, const char *name, struct err *e)
{
	struct transfer about;
	struct timespec times[2];
	struct stat     st;

	if (transfer_get(c, from, f->fd, &about, e) == -1)
		return -1;
	times_of(about.modified_ms, times);
	if (fchmod(f->fd, about.mode) == -1 || futimens(f->fd, times) == -1)
		return err_sys(e, "set mode and time of %s", text_safe(name));
	if (fstatat(f->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, E_INVALID, "%s is a directory here", text_safe(name));
	if (newfile_commit(f, name) == -1)
		return err_sys(e, "write %s", text_safe(name));
	return 0;
}

static int
get_file(struct copy *c, const char *from, int dir, const char *name, struct err *e)
{
	struct newfile f = { .fd = -1, .dir = -1 };
	AUTO_FD int    own = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	if (own == -1 || newfile_open(&f, own, -1, c->stem, 0600) == -1)
		return err_sys(e, "write %s", text_safe(name));
	fd_take(&own);
	int r = receive(c, from, &f, name, e);
	newfile_drop(&f);
	return r;
}

static int
get_link(struct copy *c, const struct msg_file_info *info, int dir, const char *name, struct err *e)
{
	struct buf  raw = { 0 };
	struct stat st;

	if (info->raw_target.len > 0 && blob_read(&info->raw_target, &raw, e) == -1)
		return -1;
	buf_append(&raw, "", 1);
	const char *target = info->raw_target.len > 0 && !raw.failed ? raw.data : info->target;
	int         r = symlinkat(target, dir, name);
	if (r == -1 && errno == EEXIST && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		r = newfile_symlink(dir, c->stem, target, name);
	if (r == -1)
		err_sys(e, "make the symlink %s", text_safe(name));
	buf_clear(&raw);
	c->links += r == 0;
	return r;
}

/* ---- directories ---------------------------------------------------------------------- */

/* The name's bytes, which may not be the text. */
static int
name_of(const struct msg_file_info *info, char out[LIM_PATH + 1], struct err *e)
{
	struct buf  raw = { 0 };
	const char *name = info->name;

	if (info->raw_name.len > 0) {
		if (blob_read(&info->raw_name, &raw, e) == -1)
			return -1;
		buf_append(&raw, "", 1);
		name = raw.failed ? "" : raw.data;
	}
	snprintf(out, LIM_PATH + 1, "%s", name);
	buf_clear(&raw);
	return check_name(out, e);
}

static int
get_page(struct copy *c, const char *from, const struct msg_files *page, int dir, int depth, struct err *e)
{
	char name[LIM_PATH + 1], path[LIM_PATH + 1];

	for (size_t i = 0; i < page->entries.n; i++) {
		const struct msg_file_info *info = &page->entries.v[i];

		if (name_of(info, name, e) == -1 || copy_join(path, from, name, e) == -1)
			return -1;
		if (get_entry(c, path, info, dir, name, depth, e) == -1)
			return -1;
	}
	return 0;
}

static int
get_entries(struct copy *c, const char *from, int dir, int depth, struct err *e)
{
	struct msg_file_list ask = { .session = c->session, .path = from };
	struct owned_msg     kept = { 0 };
	struct buf           next = { 0 };
	int                  r = 0;

	do {
		struct msg       reply;
		struct msg_files page;

		ask.after = blob_of(next.data, next.len);
		if ((r = client_call(c->client, MSG_FILE_LIST, &ask, &reply, e)) == -1)
			break;
		page = *(const struct msg_files *)reply.body;
		r = owned_msg_copy(&kept, MSG_FILES, &page, e); /* the reply goes with the next message */
		msg_clear(&reply);
		if (r == 0)
			r = get_page(c, from, &page, dir, depth, e);
		next.len = 0;
		if (r == 0 && page.next.len > 0)
			r = blob_read(&page.next, &next, e);
	} while (r == 0 && next.len > 0);
	owned_msg_clear(&kept);
	buf_clear(&next);
	return r;
}

static int
get_dir(struct copy *c, const char *from, const struct msg_file_info *info, int dir, const char *name, int depth,
    struct err *e)
{
	struct timespec times[2];

	if (depth > COPY_DEPTH)
		return err_set(e, E_INVALID, "%s: directories are nested deeper than %d", text_safe(from), COPY_DEPTH);
	if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST)
		return err_sys(e, "make directory %s", text_safe(name));
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return err_sys(e, "open directory %s here", text_safe(name));
	c->dirs++;
	if (get_entries(c, from, fd, depth + 1, e) == -1)
		return -1;
	times_of(info->modified_ms, times);
	if (fchmod(fd, info->mode & 0777U) == -1 || futimens(fd, times) == -1)
		return err_sys(e, "set mode and time of %s", text_safe(name));
	return 0;
}

static int
get_entry(struct copy *c, const char *from, const struct msg_file_info *info, int dir, const char *name, int depth,
    struct err *e)
{
	switch (info->kind) {
	case FILE_KIND_FILE:
		return get_file(c, from, dir, name, e);
	case FILE_KIND_DIR:
		return get_dir(c, from, info, dir, name, depth, e);
	case FILE_KIND_LINK:
		return get_link(c, info, dir, name, e);
	case FILE_KIND_OTHER:
		copy_leave_out(c, from);
	}
	return 0;
}

int
get_path(struct copy *c, const char *from, const struct msg_file_info *info, int dir, const char *name, bool contents,
    struct err *e)
{
	if (contents && info->kind == FILE_KIND_DIR)
		return get_entries(c, from, dir, 1, e);
	return get_entry(c, from, info, dir, name, 0, e);
}

int
get_stdout(struct copy *c, const char *from, struct err *e)
{
	struct transfer about;

	return transfer_get(c, from, STDOUT_FILENO, &about, e);
}
