/*
 * Everything in the central directory is checked before the first byte is written.  Then libarchive
 * unpacks; it goes through the entries in the order in which they lie in the archive, and so do we.  It is
 * believed nothing but bytes: names, modes and sizes are the directory's, and every byte is counted.
 */
#include "zip/unzip.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "fs/tree.h"
#include "zip/zipdir.h"

/* An entry that was judged good. */
struct piece {
	const struct zip_entry *en;
	bool                    is_dir;
	char                   *path; /* owned; normal, beneath the destination */
};

struct unpack {
	struct zip_dir  dir;    /* owned */
	struct piece   *pieces; /* owned; as many */
	struct archive *a;      /* owned */
	int             into;
	uint64_t        packed, size; /* of all files */
	uint64_t        written;
};

/* ---- judging ----------------------------------------------------------------------------- */

static int
entry_refuse(struct err *e, const char *what, const struct zip_entry *en)
{
	return err_set(e, E_INVALID, "Archive %s: %s", what, en->name.p);
}

/* "c:" and the like begin another world. */
static bool
has_drive(const char *path)
{
	struct span s = { path, strcspn(path, "/") };
	uint32_t    c;
	size_t      first = s.n > 0 ? text_char(s, &c) : 0;

	return first < s.n && s.p[first] == ':';
}

/* Where it goes; backslashes are slashes. */
static int
judge_path(struct piece *p, struct err *e)
{
	const struct zip_entry *en = p->en;
	char                    normal[LIM_PATH + 1];

	if (en->name.n == 0 || memchr(en->name.p, '\0', en->name.n) != NULL)
		return err_set(e, E_INVALID, "Archive contains an unsafe empty or NUL path");
	char *portable = text_copy(en->name);
	if (portable == NULL)
		return err_set(e, E_SYS, "no memory");
	for (char *c = portable; *c != '\0'; c++)
		if (*c == '\\')
			*c = '/';
	p->is_dir = portable[en->name.n - 1] == '/';
	bool safe = portable[0] != '/' && text_normpath(span_of(portable), normal) && strcmp(normal, ".") != 0 &&
		    strcmp(normal, "..") != 0 && strncmp(normal, "../", 3) != 0 && !has_drive(normal);
	free(portable);
	p->path = safe ? strdup(normal) : NULL;
	if (!safe)
		return entry_refuse(e, "contains an unsafe path", en);
	return p->path != NULL ? 0 : err_set(e, E_SYS, "no memory");
}

static int
judge_kind(const struct piece *p, struct err *e)
{
	mode_t type = p->en->mode & S_IFMT;

	if (type == S_IFLNK)
		return entry_refuse(e, "contains a symbolic link", p->en);
	if (type != 0 && type != S_IFREG && type != S_IFDIR)
		return entry_refuse(e, "contains a non-regular entry", p->en);
	if (p->is_dir && p->en->size != 0)
		return entry_refuse(e, "directory has unexpected content", p->en);
	return 0;
}

static int
judge_size(struct unpack *u, const struct zip_entry *en, struct err *e)
{
	if (en->size > LIM_ZIP_ENTRY)
		return entry_refuse(e, "entry exceeds the uncompressed size limit", en);
	if (en->size > en->packed * LIM_ZIP_RATIO)
		return entry_refuse(e, "entry exceeds the compression ratio limit", en);
	u->packed += en->packed;
	u->size += en->size;
	if (u->packed > LIM_SKILL_ARCHIVE)
		return err_set(e, E_INVALID, "Archive exceeds the compressed size limit");
	if (u->size > LIM_ZIP_TOTAL)
		return err_set(e, E_INVALID, "Archive exceeds the total uncompressed size limit");
	return 0;
}

static int
judge_duplicate(const struct unpack *u, size_t i, struct err *e)
{
	for (size_t k = 0; k < i && u->pieces[k].path != NULL && u->pieces[i].path != NULL; k++)
		if (strcmp(u->pieces[k].path, u->pieces[i].path) == 0)
			return entry_refuse(e, "contains a duplicate path", u->pieces[i].en);
	return 0;
}

static int
judge_method(const struct zip_entry *en, struct err *e)
{
	if (en->encrypted)
		return err_set(e, E_INVALID, "File '%s' is encrypted, password required for extraction", en->name.p);
	if (en->method != ZIP_STORED && en->method != ZIP_DEFLATED && en->method != ZIP_BZIP2 && en->method != ZIP_LZMA)
		return err_set(e, E_INVALID, "That compression method is not supported");
	return 0;
}

static int
judge(struct unpack *u, struct err *e)
{
	if (u->dir.n > LIM_ZIP_ENTRIES)
		return err_set(e, E_INVALID, "Archive contains too many entries (maximum %d)", LIM_ZIP_ENTRIES);
	for (size_t i = 0; i < u->dir.n; i++) {
		struct piece *p = &u->pieces[i];

		p->en = &u->dir.v[i];
		if (judge_path(p, e) == -1 || judge_duplicate(u, i, e) == -1 || judge_kind(p, e) == -1)
			return -1;
		if (!p->is_dir && judge_size(u, p->en, e) == -1)
			return -1;
	}
	if (u->size > u->packed * LIM_ZIP_RATIO)
		return err_set(e, E_INVALID, "Archive exceeds the aggregate compression ratio limit");
	for (size_t i = 0; i < u->dir.n; i++)
		if (judge_method(&u->dir.v[i], e) == -1)
			return -1;
	return 0;
}

/* ---- unpacking --------------------------------------------------------------------------- */

static int
library(struct unpack *u, struct err *e)
{
	const char *why = archive_error_string(u->a);

	if (why == NULL)
		why = "the archive cannot be read";
	return err_set(e, E_INVALID, "%.*s", (int)strcspn(why, "\n"), why);
}

static int
copy(struct unpack *u, int fd, const struct zip_entry *en, struct err *e)
{
	static char chunk[64 * KIB];
	uint64_t    size = 0;
	ssize_t     n;

	while ((n = archive_read_data(u->a, chunk, sizeof(chunk))) > 0) {
		size += (uint64_t)n;
		u->written += (uint64_t)n;
		if (size > LIM_ZIP_ENTRY)
			return entry_refuse(e, "entry exceeds the uncompressed size limit", en);
		if (u->written > LIM_ZIP_TOTAL)
			return err_set(e, E_INVALID, "Archive exceeds the total uncompressed size limit");
		if (tree_write_all(fd, chunk, (size_t)n) == -1)
			return err_sys(e, "write %s", en->name.p);
	}
	const char *why = n < 0 ? archive_error_string(u->a) : NULL;
	/* libarchive counts too, and says the same in its own words */
	if (n < 0 && (why == NULL || strstr(why, "wrong size") == NULL))
		return library(u, e);
	return n == 0 && size == en->size ? 0 : entry_refuse(e, "entry size changed while extracting", en);
}

/* Its directory, made if it is missing; *last is the rest of the path. */
static int
parent_of(const struct unpack *u, const char *path, const char **last)
{
	char        parent[LIM_PATH + 1] = "";
	const char *slash = strrchr(path, '/');

	*last = slash != NULL ? slash + 1 : path;
	if (slash != NULL) {
		memcpy(parent, path, (size_t)(slash - path));
		parent[slash - path] = '\0';
	}
	return tree_make_dirs(u->into, parent);
}

static int
unpack_one(struct unpack *u, const struct piece *p, struct err *e)
{
	const char *last;

	if (p->is_dir) {
		AUTO_FD int made = tree_make_dirs(u->into, p->path);

		return made == -1 ? err_sys(e, "make %s", p->path) : 0;
	}
	AUTO_FD int dir = parent_of(u, p->path, &last);
	if (dir == -1)
		return err_sys(e, "make the directory of %s", p->path);
	AUTO_FD int fd = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return err_sys(e, "make %s", p->path);
	if (copy(u, fd, p->en, e) == -1)
		return -1;
	return fchmod(fd, p->en->mode & 0111 ? 0755 : 0644) == -1 ? err_sys(e, "mode of %s", p->path) : 0;
}

static int
by_offset(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->en->offset < y->en->offset ? -1 : x->en->offset > y->en->offset;
}

static int
unpack_all(struct unpack *u, struct span archive, struct err *e)
{
	struct archive_entry *entry;

	u->a = archive_read_new();
	if (u->a == NULL)
		return err_set(e, E_SYS, "no memory");
	if (archive_read_support_format_zip_seekable(u->a) != ARCHIVE_OK ||
	    archive_read_open_memory(u->a, archive.p, archive.n) != ARCHIVE_OK)
		return library(u, e);
	qsort(u->pieces, u->dir.n, sizeof(*u->pieces), by_offset);
	for (size_t i = 0; i < u->dir.n; i++) {
		int r = archive_read_next_header(u->a, &entry);

		/* a warning is about the name, which is not taken from there */
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return r == ARCHIVE_EOF ? entry_refuse(e, "ends before", u->pieces[i].en) : library(u, e);
		if (unpack_one(u, &u->pieces[i], e) == -1)
			return -1;
	}
	return 0;
}

int
unzip(struct span archive, int into, struct err *e)
{
	struct unpack u = { .into = into };

	if (zipdir_read(&u.dir, archive, e) == -1)
		return -1;
	u.pieces = calloc(u.dir.n + 1, sizeof(*u.pieces));
	int r = -1;
	if (u.pieces == NULL)
		err_set(e, E_SYS, "no memory");
	else if ((r = judge(&u, e)) == 0 && u.dir.n > 0)
		r = unpack_all(&u, archive, e);
	if (u.a != NULL)
		archive_read_free(u.a);
	for (size_t i = 0; u.pieces != NULL && i < u.dir.n; i++)
		free(u.pieces[i].path);
	free(u.pieces);
	zipdir_clear(&u.dir);
	return r;
}
