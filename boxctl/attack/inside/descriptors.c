/* What a command is born with, and what its descriptors lead to. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

static void
leads_to(int fd, char *out, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

static void
leaked(struct report *r, const void *arg)
{
	char to[256];

	for (int fd = 3; fd < (int)sizeof(inherited); fd++)
		if (inherited[fd]) {
			leads_to(fd, to, sizeof(to));
			works(r, "descriptor %d was left open: %s", fd, to);
		}
	holds(r, "none but standard input, output and error");
}

/* A directory among them would be a way to walk; a device or a file of the host one to read. */
static void
standard(struct report *r, const void *arg)
{
	struct stat st;
	char        to[256];

	for (int fd = 0; fd <= 2; fd++) {
		if (fstat(fd, &st) == -1)
			continue;
		leads_to(fd, to, sizeof(to));
		if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && strcmp(to, "/dev/null") != 0 &&
		    strncmp(to, "/memfd:", 7) != 0)
			works(r, "descriptor %d is %s", fd, to);
	}
	holds(r, "pipes, a sealed memory file or /dev/null");
}

/* Input that arrives in memory must not be the client's to see changed. */
static void
input_sealed(struct report *r, const void *arg)
{
	if (fcntl(STDIN_FILENO, F_GETFL) == -1) {
		skips(r, "there is no standard input");
		return;
	}
	failed(r,
	    write(STDIN_FILENO, "", 0) == -1         ? -1
	    : ftruncate(STDIN_FILENO, 1 << 20) == -1 ? -1
						     : 0,
	    "truncate standard input");
}

static void
working_directory(struct report *r, const void *arg)
{
	char path[4096];

	if (getcwd(path, sizeof(path)) == NULL)
		skips(r, "there is no working directory");
	else if (path[0] != '/')
		works(r, "the working directory is outside of the root: %s", path);
	else
		holds(r, "%s", path);
}

static void
of_init(struct report *r, const void *arg)
{
	char path[32];

	for (int fd = 0; fd < 32; fd++) {
		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		failed(r, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), "open %s", path);
		failed(r, open(path, O_PATH | O_CLOEXEC), "open %s as a path", path);
	}
}

/* The names of init's descriptors would be enough to know that there are sockets and where. */
static void
of_others(struct report *r, const void *arg)
{
	char           path[300], to[256];
	DIR           *d = opendir("/proc/1/fd");
	struct dirent *e;

	if (d == NULL) {
		failed(r, -1, "list /proc/1/fd");
		return;
	}
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/1/fd/%s", e->d_name);
		ssize_t n = e->d_name[0] == '.' ? -1 : readlink(path, to, sizeof(to) - 1);
		if (n > 0)
			works(r, "%s leads to %.*s", path, (int)n, to);
	}
	closedir(d);
	holds(r, "/proc/1/fd shows nothing that can be followed");
}

const struct attack descriptor_attacks[] = {
	{ "descriptors.leaked", "a file or socket of the daemon in the command's hands", ANYWHERE, leaked, NULL },
	{ "descriptors.standard", "a directory or device of the host as standard input or output", INSIDE, standard,
	    NULL },
	{ "descriptors.input", "bytes a client has sent can be changed", INSIDE, input_sealed, NULL },
	{ "descriptors.cwd", "a working directory from which '..' leads to the host", ANYWHERE, working_directory,
	    NULL },
	{ "descriptors.init", "init's sockets to the daemon opened again", INSIDE, of_init, NULL },
	{ "descriptors.init-list", "what init has open is known", INSIDE, of_others, NULL },
	{ .name = NULL },
};
