#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

unsigned char inherited[1024];
int           first_pid;

long
slurp(const char *path, char *out, size_t size)
{
	size_t  len = 0;
	ssize_t n = 0;
	int     fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	out[0] = '\0';
	if (fd == -1)
		return -1;
	while (len + 1 < size && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	int error = errno;
	close(fd);
	errno = error;
	out[len] = '\0';
	return n == -1 && len == 0 ? -1 : (long)len;
}

bool
status_field(const char *path, const char *name, char *out, size_t size)
{
	char   text[8192];
	size_t len = strlen(name);

	if (slurp(path, text, sizeof(text)) <= 0)
		return false;
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			snprintf(out, size, "%s", line + len + 1 + strspn(line + len + 1, " \t"));
			return true;
		}
	return false;
}

/* One per attack: the child that runs it makes it, and main's process never has one. */
static char scratch_path[64];

static void
scratch_remove(void)
{
	DIR *d = opendir(scratch_path);

	if (d != NULL) {
		for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				(void)!unlinkat(dirfd(d), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
		closedir(d);
	}
	rmdir(scratch_path);
}

const char *
scratch(void)
{
	if (scratch_path[0] == '\0') {
		snprintf(scratch_path, sizeof(scratch_path), "/tmp/box-attack-XXXXXX");
		if (mkdtemp(scratch_path) == NULL)
			scratch_path[0] = '\0';
	}
	return scratch_path;
}

void
scratch_clear(void)
{
	if (scratch_path[0] != '\0')
		scratch_remove();
	scratch_path[0] = '\0';
}

const char *
scratch_file(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", scratch(), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd != -1)
		close(fd);
	return path;
}

void
call_filtered(struct report *r, const void *arg)
{
	const struct raw *c = arg;

	refused(
	    r, syscall(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]), "%s with bad arguments", c->name);
}

int
in_child(int (*code)(void *), void *arg)
{
	int   status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(code(arg));
	if (pid == -1)
		return -1;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
