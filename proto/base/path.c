#include "base/path.h"

#include <string.h>

static bool
is(const char *part, size_t n, const char *what)
{
	return strlen(what) == n && memcmp(part, what, n) == 0;
}

bool
path_normal(const char *path, char out[LIM_PATH + 1])
{
	size_t at = 0;

	if (*path != '/')
		return false;
	while (*path != '\0') {
		size_t n = strcspn(++path, "/"); /* path stood on a slash */

		if (is(path, n, "..") || at + 1 + n > LIM_PATH)
			return false;
		if (n > 0 && !is(path, n, ".")) {
			out[at++] = '/';
			memcpy(out + at, path, n);
			at += n;
		}
		path += n;
	}
	if (at == 0)
		out[at++] = '/';
	out[at] = '\0';
	return true;
}

bool
path_within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
