/*
 * A session with a workspace_quota_mb, whose commands mount more writable directories than its spec has: these count
 * against the quota, too.  A scanner measures a fixed set of directories, so the process that makes the mounts starts
 * another one for all of them, and the worker uses that instead of its own.  A worker that replaces a dead one finds the
 * directories by their paths, so those are in the state file before the command starts.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "config/mountspec.h"
#include "core/session_impl.h"

static bool
strs_have(const struct strs *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i], text) == 0)
			return true;
	return false;
}

static bool
is_mounted_by(const struct msg_mount *v, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].mode == MOUNT_RW && strcmp(v[i].host_path, path) == 0)
			return true;
	return false;
}

size_t
session_counted(const struct session *s, const struct msg_mount *by, size_t nby, const char *list[2 * LIM_MOUNTS])
{
	const struct msg_spec *spec = &s->spec;
	size_t                 n = 0;

	if (spec->workspace_quota_mb == 0)
		return 0;
	for (size_t i = 0; i < spec->extra_mounts.n; i++)
		if (spec->extra_mounts.v[i].mode == MOUNT_RW &&
		    !is_mounted_by(by, nby, spec->extra_mounts.v[i].host_path))
			list[n++] = spec->extra_mounts.v[i].host_path;
	for (size_t i = 0; i < s->counted.n; i++)
		if (!is_mounted_by(by, nby, s->counted.v[i]) &&
		    !is_mounted_by(spec->extra_mounts.v, spec->extra_mounts.n, s->counted.v[i]))
			list[n++] = s->counted.v[i];
	assert(n <= 2 * LIM_MOUNTS);
	return n;
}

int
session_check_counted(const struct session *s, const struct msg_mount *by, size_t nby, struct err *e)
{
	const char *list[2 * LIM_MOUNTS];
	size_t      n = session_counted(s, by, nby, list);

	for (size_t i = 0; s->spec.workspace_quota_mb > 0 && i < nby; i++)
		n += by[i].mode == MOUNT_RW;
	if (n <= LIM_MOUNTS)
		return 0;
	return err_set(e, E_CAPACITY,
	    "exec.extra_mounts: more than %d writable mounts would count against the workspace_quota_mb of session %s; "
	    "mount read-only, or make another session",
	    LIM_MOUNTS, s->name);
}

/* ---- lists of its own ----------------------------------------------------------------------- */

void
session_clear_strs(struct strs *list)
{
	for (size_t i = 0; i < list->n; i++)
		free((char *)list->v[i]);
	free(list->v);
	*list = (struct strs){ 0 };
}

/* Those that it does not have yet.  Only a process that lies reports too many: session_check_counted() comes first. */
static int
strs_add(struct strs *list, const struct strs *more, struct err *e)
{
	const char **v = realloc(list->v, (list->n + more->n + 1) * sizeof(*v));

	if (v == NULL)
		return err_set(e, E_SYS, "no memory to remember mounts");
	list->v = v;
	for (size_t i = 0; i < more->n; i++) {
		if (strs_have(list, more->v[i]))
			continue;
		if (list->n == LIM_MOUNTS)
			return err_set(e, E_PROTO, "more than %d mounts count against one quota", LIM_MOUNTS);
		if ((v[list->n] = strdup(more->v[i])) == NULL)
			return err_set(e, E_SYS, "no memory to remember mounts");
		list->n++;
	}
	return 0;
}

int
session_adopt_counted(struct session *s, const struct strs *paths, struct err *e)
{
	return paths->n == 0 ? 0 : strs_add(&s->counted, paths, e);
}

void
scanner_fds_close(struct scanner_fds *f)
{
	fd_close(&f->scanner);
	fd_close(&f->scan);
	fd_close(&f->look);
}

void
session_forget_measured(struct session *s)
{
	session_clear_strs(&s->measured);
	scanner_fds_close(&s->scanner);
	s->measurers++;
}

int
session_take_scanner(struct session *s, uint64_t exec, struct msg *m, struct err *e)
{
	const struct msg_mounts_made *made = m->body;
	size_t                        known = s->counted.n;

	if (request_by_exec(&s->pending, exec) == NULL)
		return 0;
	if (strs_add(&s->counted, &made->counted, e) == -1 ||
	    (s->counted.n > known && session_remember_counted(s, e) == -1))
		return -1;
	session_forget_measured(s);
	if (strs_add(&s->measured, &made->measured, e) == -1) {
		session_forget_measured(s);
		return -1;
	}
	session_set_disk(s, &made->disk);
	s->scanner = (struct scanner_fds){ msg_take_fd(m, made->scanner), msg_take_fd(m, made->scan),
		msg_take_fd(m, made->look) };
	return 0;
}
