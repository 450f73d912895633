/*
 * execve has few errors for many reasons, and some of them mislead: a script whose
 * interpreter is missing is "no such file", a directory is "permission denied".
 */
#include "explain.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of all strings, as the kernel counts them, and the index of the longest. */
static size_t
strings_size(const char *const *v, size_t *longest)
{
	size_t sum = 0;

	*longest = 0;
	for (size_t i = 0; v[i] != NULL; i++) {
		sum += strlen(v[i]) + 1 + sizeof(*v);
		if (strlen(v[i]) > strlen(v[*longest]))
			*longest = i;
	}
	return sum;
}

static void
too_long(struct err *e, const struct spawn *s)
{
	static const char *const names[] = { "argv", "env" };
	const char *const *const lists[] = { s->argv, s->env };
	size_t                   size[2], at;

	for (int i = 0; i < 2; i++) {
		size[i] = strings_size(lists[i], &at);
		if (size[i] > 0 && strlen(lists[i][at]) > LIM_ARG) {
			err_set(e, E_INVALID, "exec: %s[%zu] has %zu bytes; the kernel takes %lu in one string",
			    names[i], at, strlen(lists[i][at]), LIM_ARG);
			return;
		}
	}
	err_set(e, E_INVALID, "exec %s: argv has %zu bytes and env %zu, and the kernel takes %ld of both", s->argv[0],
	    size[0], size[1], sysconf(_SC_ARG_MAX));
}

/* Only a name with a slash is one file; it is relative to the command's working directory. */
static bool
look(const struct spawn *s, struct stat *st)
{
	char path[2 * PATH_MAX];

	if (strchr(s->argv[0], '/') == NULL)
		return false;
	snprintf(path, sizeof(path), "%s/%s", s->argv[0][0] == '/' ? "" : s->workdir, s->argv[0]);
	return stat(path, st) == 0;
}

bool
explain_exec(struct err *e, const struct spawn *s)
{
	int         code = errno;
	struct stat st;
	bool        found = look(s, &st);

	errno = code;
	if (code == E2BIG)
		too_long(e, s);
	else if (code == ENOEXEC)
		err_set(e, E_INVALID, "exec %s: neither a program nor a script that begins with #!", s->argv[0]);
	else if (code == EACCES && found && S_ISDIR(st.st_mode))
		err_set(e, E_INVALID, "exec %s: is a directory", s->argv[0]);
	else if (code == ENOENT && found)
		err_set(e, E_INVALID, "exec %s: the interpreter or loader that it names is missing", s->argv[0]);
	else
		err_sys(e, "exec %s", s->argv[0]);
	return code == ENOENT && !found;
}

void
explain_workdir(struct err *e, const struct spawn *s)
{
	if (errno == ELOOP)
		err_set(e, E_INVALID, "workdir %s: a symbolic link leads in a circle, or through a link of /proc",
		    s->workdir);
	else
		err_sys(e, "workdir %s", s->workdir);
}
