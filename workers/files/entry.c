#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"

static enum file_kind
kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILE_KIND_FILE;
	case S_IFDIR:
		return FILE_KIND_DIR;
	case S_IFLNK:
		return FILE_KIND_LINK;
	default:
		return FILE_KIND_OTHER;
	}
}

/* Valid UTF-8 for those who need it; the bytes as well where that is not the same. */
static int
text_set(const char *bytes, struct buf *text, struct buf *raw, const char **str, struct blob *blob)
{
	size_t n = strlen(bytes);

	if (!utf8_append(text, bytes, n)) {
		buf_append(raw, bytes, n);
		*blob = blob_of(raw->data, raw->len);
	}
	buf_append(text, "", 1);
	if (text->failed || raw->failed) {
		errno = ENOMEM;
		return -1;
	}
	*str = text->data;
	return 0;
}

static int
target_set(struct entry *en, int link)
{
	char    target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

	if (n == -1)
		return -1;
	target[n] = '\0';
	return text_set(target, &en->target, &en->raw_target, &en->info.target, &en->info.raw_target);
}

static int
entry_of(struct entry *en, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return -1;
	en->info.kind = kind_of(st.st_mode);
	en->info.size_bytes = (uint64_t)st.st_size;
	en->info.mode = st.st_mode & 07777U;
	if (st.st_mtim.tv_sec >= 0)
		en->info.modified_ms = (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
	if (text_set(name, &en->name, &en->raw_name, &en->info.name, &en->info.raw_name) == -1)
		return -1;
	return S_ISLNK(st.st_mode) ? target_set(en, fd) : 0;
}

int
entry_look(struct entry *en, int dir, const char *leaf, const char *name)
{
	*en = (struct entry){ 0 };
	msg_defaults(MSG_FILE_INFO, &en->info);
	AUTO_FD int fd = *leaf == '\0' ? fcntl(dir, F_DUPFD_CLOEXEC, 0)
				       : openat(dir, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd == -1 ? -1 : entry_of(en, fd, name);
}

void
entry_clear(struct entry *en)
{
	buf_clear(&en->name);
	buf_clear(&en->raw_name);
	buf_clear(&en->target);
	buf_clear(&en->raw_target);
}

int
entry_stat(const struct box *b, const char *path, struct entry *en, struct err *e)
{
	char        clean[LIM_PATH + 1];
	const char *last = "";
	AUTO_FD int dir = -1;

	*en = (struct entry){ 0 };
	if (path_clean(b->path, path, clean, e) == -1)
		return -1;
	dir = *clean == '\0' ? path_open_dir(b->root, clean, e) : path_open_parent(b->root, clean, &last, e);
	if (dir == -1)
		return -1;
	return entry_look(en, dir, last, path) == -1 ? fail_errno(e, dir, "look at", clean) : 0;
}

/* One directory; one that is there is no error when it may be. */
static int
mkdir_one(const struct box *b, const char *clean, mode_t mode, bool may_exist, struct err *e)
{
	const char *last;
	struct stat st;
	AUTO_FD int dir = path_open_parent(b->root, clean, &last, e);

	if (dir == -1)
		return -1;
	if (mkdirat(dir, last, mode) == 0)
		return 0;
	if (errno != EEXIST || !may_exist)
		return fail_errno(e, dir, "make", clean);
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISDIR(st.st_mode))
		return fail_not_dir(e, dir, last, clean);
	return 0;
}

int
entry_mkdir(const struct box *b, const struct msg_file_mkdir *m, struct err *e)
{
	char clean[LIM_PATH + 1];

	if (path_clean(b->path, m->path, clean, e) == -1)
		return -1;
	if (*clean == '\0' && m->parents)
		return 0;
	for (char *slash = strchr(clean, '/'); m->parents && slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir_one(b, clean, 0755, true, e) == -1)
			return -1;
		*slash = '/';
	}
	return mkdir_one(b, clean, (mode_t)m->mode, m->parents, e);
}

int
entry_symlink(const struct box *b, const struct msg_file_symlink *m, struct err *e)
{
	char        clean[LIM_PATH + 1];
	const char *last;
	struct stat st;

	if (path_clean(b->path, m->path, clean, e) == -1)
		return -1;
	AUTO_FD int dir = path_open_parent(b->root, clean, &last, e);
	if (dir == -1)
		return -1;
	if (symlinkat(m->target, dir, last) == 0)
		return 0;
	if (errno != EEXIST)
		return fail_errno(e, dir, "make", clean);
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode)) {
		errno = EEXIST;
		return fail_errno(e, dir, "make", clean);
	}
	return newfile_symlink(dir, b->stem, m->target, last) == -1 ? fail_errno(e, dir, "make", clean) : 0;
}
