#include "host/tokenfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/newfile.h"

enum { RANDOM = 32, FORM = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

/* Of ASCII, whatever the locale. */
static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char *
token_strip(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && is_blank(text[n - 1]))
		text[--n] = '\0';
	for (; is_blank(*text); n--)
		text++;
	for (size_t i = 0; i < n; i++)
		if (is_blank(text[i]))
			return NULL;
	return n < TOKEN_MIN || n > LIM_TOKEN ? NULL : text;
}

/* Its owner can change it, so that is us or root; others could use it. */
static int
check_rights(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_sys(e, "look at %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INVALID, "%s is not a regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return err_set(e, E_DENIED, "%s belongs to uid %u, which is neither root nor us (uid %u)", path,
		    st.st_uid, geteuid());
	if (st.st_mode & (S_IRWXO | S_IWGRP))
		return err_set(e, E_DENIED,
		    "%s has mode %04o: everybody who can read it can use the sandboxes; chmod 600, or 640 for a group",
		    path, st.st_mode & 07777);
	return 0;
}

int
tokenfile_read(const char *path, char secret[LIM_TOKEN + 1], struct err *e)
{
	char        text[LIM_TOKEN + 64];
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1) {
		bool absent = errno == ENOENT;
		err_sys(e, "open %s", path);
		e->code = absent ? E_NOTFOUND : e->code;
		return -1;
	}
	if (check_rights(fd, path, e) == -1)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n == -1)
		return err_sys(e, "read %s", path);
	text[n] = '\0';
	char *token = strlen(text) == (size_t)n ? token_strip(text) : NULL;
	if (token != NULL)
		strcpy(secret, token);
	sodium_memzero(text, sizeof(text));
	if (token == NULL)
		return err_set(
		    e, E_INVALID, "%s must hold a non-whitespace secret of at least %d characters", path, TOKEN_MIN);
	return 0;
}

/* The directory of a path, and its last part. */
static int
open_parent(const char *path, const char **name)
{
	char        dir[LIM_PATH + 1];
	const char *slash = strrchr(path, '/');

	if (slash == NULL || slash - path > LIM_PATH) {
		errno = ENOENT;
		return -1;
	}
	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	*name = slash + 1;
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
write_secret(int fd)
{
	unsigned char random[RANDOM];
	char          text[sodium_base64_ENCODED_LEN(RANDOM, FORM) + 1];

	randombytes_buf(random, sizeof(random));
	sodium_bin2base64(text, sizeof(text) - 1, random, sizeof(random), FORM);
	strcat(text, "\n");
	size_t  n = strlen(text);
	ssize_t done = write(fd, text, n);
	sodium_memzero(random, sizeof(random));
	sodium_memzero(text, sizeof(text));
	return done == (ssize_t)n ? fsync(fd) : -1;
}

/* As it was: root may make another for a boxd of a user's, and a group that could read it still can. */
static int
keep_rights(int fd, int dir, const char *name)
{
	struct stat old;

	if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(old.st_mode))
		return fchmod(fd, 0600);
	if (fchown(fd, old.st_uid, old.st_gid) == -1)
		return -1;
	return fchmod(fd, 0600 | (old.st_mode & S_IRGRP));
}

int
tokenfile_make(const char *path, struct err *e)
{
	const char    *name;
	struct newfile f;
	int            dir = open_parent(path, &name);

	if (dir == -1)
		return err_sys(e, "open the directory of %s", path);
	if (newfile_open(&f, dir, -1, name, 0600) == -1) {
		err_sys(e, "make %s", path);
		close(dir);
		return -1;
	}
	/* the name must be on disk too, and the commit closes the directory */
	AUTO_FD int again = dup(dir);
	if (write_secret(f.fd) == -1 || keep_rights(f.fd, again, name) == -1 || newfile_commit(&f, name) == -1 ||
	    fsync(again) == -1) {
		err_sys(e, "write %s", path);
		newfile_drop(&f);
		return -1;
	}
	return 0;
}
