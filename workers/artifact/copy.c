/*
 * The source belongs to a stranger, and may change while it is read.  A file is found without following any symlink or
 * entering another mount, looked at by its descriptor before it is opened to be read, and read no further than its
 * listed size: nothing there can make us wait, or write more than was agreed.
 */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* RESOLVE_BENEATH gives up with EAGAIN when directories are moved about under it. */
enum { TRIES = 64, CHUNK = 256 * KIB };

static const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;

int
copy_errno(struct err *e, int why, const char *dir, const char *path)
{
	const char *slash = *path == '\0' || (*dir != '\0' && dir[strlen(dir) - 1] == '/') ? "" : "/";
	char        shown[ERR_TEXT];

	snprintf(shown, sizeof(shown), "%s%s%s", dir, slash, path);
	const char *quote = strchr(shown, '\'') != NULL && strchr(shown, '"') == NULL ? "\"" : "'";
	return err_set(e, E_ARTIFACT, "[Errno %d] %s: %s%.900s%s", why, strerror(why), quote, shown, quote);
}

static int
changed(struct err *e, const struct manifest_file *f)
{
	return err_set(e, E_ARTIFACT, "Artifact source changed: %.900s", f->path);
}

/* ---- the source ------------------------------------------------------------------------------ */

static int
source_open(int source, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	int             fd = -1;

	errno = EAGAIN;
	for (int i = 0; i < TRIES && fd == -1 && errno == EAGAIN; i++)
		fd = (int)syscall(SYS_openat2, source, path, &how, sizeof(how));
	return fd;
}

/* Opening a device can do something; so it is looked at before. */
static int
open_source(int source, const char *name, const struct manifest_file *f, struct err *e)
{
	AUTO_FD int found = source_open(source, f->path);
	struct stat st;
	char        link[64];

	if (found == -1 || fstat(found, &st) == -1)
		return copy_errno(e, errno, name, f->path);
	if (S_ISDIR(st.st_mode))
		return err_set(e, E_ARTIFACT, "[Errno %d] %s: %d", EISDIR, strerror(EISDIR), found);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_ARTIFACT, "Artifact source must be a regular file");
	if ((uint64_t)st.st_size != f->size)
		return changed(e, f);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	int fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd == -1 ? copy_errno(e, errno, name, f->path) : fd;
}

/* ---- the copy -------------------------------------------------------------------------------- */

static int
write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done == -1 && errno == EINTR)
			continue;
		if (done == -1)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* The directories of path that the file before it did not need. */
static int
make_dirs(int to, const char *before, const char *path)
{
	char dir[LIM_PATH + 1];
	size_t new = manifest_new_dirs(before, path), all = manifest_new_dirs("", path);

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++) {
		if (all-- > new)
			continue;
		if ((size_t)(p - path) > LIM_PATH) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(dir, path, (size_t)(p - path));
		dir[p - path] = '\0';
		if (mkdirat(to, dir, 0755) == -1 && errno != EEXIST)
			return -1;
	}
	return 0;
}

static int
not_written(struct err *e, const struct manifest_file *f)
{
	return err_set(e, E_ARTIFACT, "[Errno %d] %s: the copy of %.800s", errno, strerror(errno), f->path);
}

/* One byte more than it has is asked for: then it has grown. */
static int
copy_bytes(int from, int to, const struct manifest_file *f, struct err *e)
{
	static char              bytes[CHUNK];
	unsigned char            hash[crypto_hash_sha256_BYTES];
	char                     digits[SHA256_DIGITS + 1];
	crypto_hash_sha256_state state;
	uint64_t                 left = f->size + 1;

	crypto_hash_sha256_init(&state);
	while (left > 0) {
		ssize_t n = read(from, bytes, left < CHUNK ? left : CHUNK);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 || n == 0)
			break;
		left -= (uint64_t)n;
		crypto_hash_sha256_update(&state, (const unsigned char *)bytes, (unsigned long long)n);
		if (write_all(to, bytes, (size_t)n) == -1)
			return not_written(e, f);
	}
	crypto_hash_sha256_final(&state, hash);
	sodium_bin2hex(digits, sizeof(digits), hash, sizeof(hash));
	return left != 1 || strcmp(digits, f->sha256) != 0 ? changed(e, f) : 0;
}

static int
copy_file(int source, const char *name, const char *before, const struct manifest_file *f, int to, struct err *e)
{
	AUTO_FD int from = open_source(source, name, f, e);

	if (from == -1)
		return -1;
	if (make_dirs(to, before, f->path) == -1)
		return not_written(e, f);
	AUTO_FD int copy = openat(to, f->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (copy == -1)
		return not_written(e, f);
	if (copy_bytes(from, copy, f, e) == -1)
		return -1;
	return fchmod(copy, f->executable ? 0555 : 0444) == -1 ? not_written(e, f) : 0;
}

int
copy_files(const struct manifest *m, int source, const char *name, int to, struct err *e)
{
	for (size_t i = 0; i < m->n; i++)
		if (copy_file(source, name, i > 0 ? m->v[i - 1].path : "", &m->v[i], to, e) == -1)
			return -1;
	return syncfs(to) == -1 ? err_sys(e, "write the copy to the disk") : 0;
}
