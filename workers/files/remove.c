#include "remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/rmtree.h"

static int
remove_all(const struct box *b, int dir, const char *name, const char *path, struct err *e)
{
	struct rmtree t = { .stem = b->stem, .most_sec = LIM_FILE_REMOVE_SEC };
	char          where[2 * LIM_PATH + 2];
	int           r = rmtree(&t, dir, name);

	if (r == 1)
		return err_set(e, E_BUSY, "%s: %lu entries are removed and there are more; ask again",
		    log_escape(path, strlen(path)), t.removed);
	snprintf(where, sizeof(where), "%s%s%s", path, t.failed[0] != '\0' ? "/" : "", t.failed);
	return r == 0 ? 0 : fail_errno(e, dir, "remove", where);
}

int
remove_path(const struct box *b, const struct msg_file_remove *m, struct err *e)
{
	char        clean[LIM_PATH + 1];
	const char *last;

	if (path_clean(b->path, m->path, clean, e) == -1)
		return -1;
	if (*clean == '\0')
		return err_set(e, E_INVALID, "path: the workspace itself cannot be removed, only its contents");
	AUTO_FD int dir = path_open_parent(b->root, clean, &last, e);
	if (dir == -1)
		return -1;
	if (!m->recursive) {
		if (unlinkat(dir, last, 0) == 0 || (errno == EISDIR && unlinkat(dir, last, AT_REMOVEDIR) == 0))
			return 0;
		return fail_errno(e, dir, "remove", clean);
	}
	struct stat st;
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return fail_errno(e, dir, "remove", clean);
	return remove_all(b, dir, last, clean, e);
}
