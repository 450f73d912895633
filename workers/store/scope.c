#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "fs/tree.h"
#include "skills/text.h"
#include "store.h"

int
scope_open(struct scope *s, const struct store *st, const char *ns, struct err *e)
{
	*s = (struct scope){ .skills = st->skills, .root = -1 };
	if (*ns == '\0' || strchr(ns, '/') != NULL || strchr(ns, '\\') != NULL || strcmp(ns, ".") == 0 ||
	    strcmp(ns, "..") == 0)
		return err_set(e, E_INVALID, "Invalid Box skill namespace");
	int n = snprintf(s->path, sizeof(s->path), "%s/tenants/%s", st->paths.skills_root, ns);
	if ((size_t)n >= sizeof(s->path))
		return err_set(e, E_INVALID, "the path of the skills is too long");
	AUTO_FD int tenants = tree_make_dir(st->skills, "tenants");
	s->root = tenants == -1 ? -1 : tree_make_dir(tenants, ns);
	return s->root == -1 ? err_sys(e, "make %s", s->path) : 0;
}

void
scope_close(struct scope *s)
{
	fd_close(&s->root);
}

int
scope_beneath(const struct scope *s, const char *path, const char *what, char out[LIM_PATH + 1], struct err *e)
{
	char        normal[LIM_PATH + 1];
	struct span given = text_strip(span_of(path));
	size_t      n = strlen(s->path);

	/* what is not absolute would mean a directory of the daemon's, which is never one of these */
	if (given.n == 0 || given.p[0] != '/' || !text_normpath(given, normal) || !path_within(normal, s->path))
		return err_set(e, E_INVALID, "%s must stay within the Workspace skill root", what);
	memcpy(out, normal + n + (normal[n] == '/'), strlen(normal) + 1 - n - (normal[n] == '/'));
	return 0;
}
