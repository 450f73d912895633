#include "place.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "fd.h"
#include "log.h"
#include "sys.h"

static int
open_inside(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static int
make_one(int dir, const char *name, bool is_file)
{
	if (!is_file)
		return mkdirat(dir, name, 0755);
	AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd == -1 ? -1 : 0;
}

/* Each prefix of the path in turn, so that only the last part is ever made without the walk's protection. */
static int
make_missing(char *path, bool is_file)
{
	for (char *slash = path; slash != NULL;) {
		char *next = strchr(slash + 1, '/');

		if (next != NULL)
			*next = '\0';
		AUTO_FD int there = open_inside(path);
		if (there == -1) {
			*slash = '\0';
			AUTO_FD int dir = open_inside(*path == '\0' ? "/" : path);
			*slash = '/';
			if (dir == -1 || make_one(dir, slash + 1, is_file && next == NULL) == -1)
				return -1;
		}
		if (next != NULL)
			*next = '/';
		slash = next;
	}
	return 0;
}

int
place_make(const char *path, bool is_file, struct err *e)
{
	char        text[LIM_PATH + 1];
	struct stat st;

	strcpy(text, path); /* normal, so it fits */
	int         r = make_missing(text, is_file);
	AUTO_FD int at = r == -1 ? -1 : open_inside(path);

	if (at == -1 || fstat(at, &st) == -1)
		return err_set(e, E_INVALID,
		    "the mount point %s cannot be made inside: %s; make it in the directory that is mounted above it",
		    log_escape(path, strlen(path)), strerror(errno));
	if (S_ISDIR(st.st_mode) == is_file)
		return err_set(e, E_INVALID, "the mount point %s is %s inside, and what shall be mounted there is not",
		    log_escape(path, strlen(path)), is_file ? "a directory" : "no directory");
	return fd_take(&at);
}
