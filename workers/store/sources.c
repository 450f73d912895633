/*
 * Paths are only looked at, never opened for reading.  The result says to a client early and in LangBot's words what
 * is wrong; it protects nothing.  Whoever mounts opens the path again, follows no symlink, and judges by descriptor.
 */
#include "sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* Empty when it is not there, or is something else. */
static void
resolve(const char *path, mode_t type, char out[LIM_PATH + 1])
{
	AUTO_FD int fd = *path == '/' ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct stat st;
	char        link[64];

	out[0] = '\0';
	if (fd == -1 || fstat(fd, &st) == -1 || (st.st_mode & S_IFMT) != type)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, out, LIM_PATH + 1);
	out[n > 0 && n <= LIM_PATH && out[0] == '/' ? n : 0] = '\0';
}

int
sources_find(const struct msg_store_sources *m, struct sources *s, struct err *e)
{
	size_t n = m->mounts.n;

	*s = (struct sources){
		.n = n, .v = calloc(n + 1, sizeof(*s->v)), .paths = calloc(2 * n + 1, sizeof(*s->paths))
	};
	if (s->v == NULL || s->paths == NULL) {
		sources_clear(s);
		return err_set(e, E_SYS, "no memory for paths");
	}
	for (size_t i = 0; i < n; i++) {
		resolve(m->mounts.v[i].host_path, S_IFDIR, s->paths[2 * i]);
		resolve(m->mounts.v[i].manifest_path, S_IFREG, s->paths[2 * i + 1]);
		s->v[i] = (struct msg_store_source){ s->paths[2 * i], s->paths[2 * i + 1] };
	}
	return 0;
}

void
sources_clear(struct sources *s)
{
	free(s->v);
	free(s->paths);
	*s = (struct sources){ 0 };
}
