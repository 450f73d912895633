/*
 * What an admitted spec becomes.  Pure: paths are compared as text, because the store has resolved the one that
 * counts, and only it may touch a workspace's files.
 */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "langbot/admission_spec.h"
#include "wire/digest.h"

static bool
is_own_mount(const char *path)
{
	char normal[LIM_PATH + 1];

	return *path == '\0' || (path_normal(path, normal) && strcmp(normal, DEFAULT_MOUNT_PATH) == 0);
}

static bool
is_inside(const char *workdir)
{
	char normal[LIM_PATH + 1];

	return *workdir == '\0' || (path_normal(workdir, normal) && path_within(normal, DEFAULT_MOUNT_PATH));
}

static bool
is_canonical(const char *path, const char *canonical)
{
	char normal[LIM_PATH + 1];

	return *path == '\0' || (path_normal(path, normal) && strcmp(normal, canonical) == 0);
}

static int
refuse(const struct msg_box_spec *s, const struct admitted *a, struct err *e)
{
	if (s->network != NETWORK_OFF)
		return err_set(e, E_ADMISSION, "Managed sandbox network access is disabled");
	if (!is_own_mount(s->mount_path))
		return err_set(e, E_ADMISSION, "Managed sandbox mount_path is runtime-owned");
	if (!is_inside(s->workdir))
		return err_set(e, E_ADMISSION, "Managed sandbox workdir must stay under " DEFAULT_MOUNT_PATH);
	if (!is_canonical(s->host_path, a->host_path))
		return err_set(e, E_ADMISSION, "Managed sandbox host_path is runtime-owned");
	if (s->extra_mounts.n > LIM_MOUNTS)
		return err_set(e, E_ADMISSION, "Managed sandbox accepts at most %d read-only mounts", LIM_MOUNTS);
	if (s->extra_mounts.n > 0 && a->roots->n == 0)
		return err_set(e, E_ADMISSION, "Managed sandbox read-only mounts require allowed_mount_roots");
	return 0;
}

/* ---- mounts ---- */

static bool
is_allowed(const char *path, const struct strs *roots)
{
	for (size_t i = 0; i < roots->n; i++)
		if (path_within(path, roots->v[i]))
			return true;
	return false;
}

static int
check_source(const struct msg_mount *m, const struct msg_store_source *s, const struct strs *roots, struct err *e)
{
	if (m->mode != MOUNT_RO)
		return err_set(e, E_ADMISSION, "Managed sandbox additional mounts must be read-only");
	if (*s->path == '\0')
		return err_set(e, E_ADMISSION, "Managed sandbox read-only mount source is unavailable");
	if (!is_allowed(s->path, roots))
		return err_set(e, E_ADMISSION, "Managed sandbox read-only mount source is outside allowed_mount_roots");
	if (*m->manifest_path == '\0')
		return 0;
	if (*m->content_digest == '\0')
		return err_set(e, E_ADMISSION, "Managed sandbox mount manifests require content_digest");
	if (*s->manifest_path == '\0')
		return err_set(e, E_ADMISSION, "Managed sandbox read-only mount manifest is unavailable");
	if (!is_allowed(s->manifest_path, roots))
		return err_set(
		    e, E_ADMISSION, "Managed sandbox read-only mount manifest is outside allowed_mount_roots");
	return 0;
}

/* Below /workspace, or where its digest says; the normal form counts, because that is where it will be mounted. */
static bool
is_place(const struct msg_mount *m)
{
	char normal[LIM_PATH + 1];

	if (digest_of(m) != NULL)
		return true;
	return path_normal(m->mount_path, normal) && path_within(normal, DEFAULT_MOUNT_PATH) &&
	       strcmp(normal, DEFAULT_MOUNT_PATH) != 0;
}

static bool
is_same_place(const char *a, const char *b)
{
	char x[LIM_PATH + 1], y[LIM_PATH + 1];

	return path_normal(a, x) && path_normal(b, y) && strcmp(x, y) == 0;
}

static int
check_target(const struct msg_mount *all, size_t i, struct err *e)
{
	if (!is_place(&all[i]))
		return err_set(
		    e, E_ADMISSION, "Managed sandbox additional mount targets must stay under " DEFAULT_MOUNT_PATH);
	for (size_t k = 0; k < i; k++)
		if (is_same_place(all[k].mount_path, all[i].mount_path))
			return err_set(e, E_ADMISSION, "Managed sandbox additional mount targets must be unique");
	return 0;
}

/* Replaces the given paths by those that were found. */
static int
take_mounts(const struct msg_box_spec *s, const struct admitted *a, struct err *e)
{
	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		const struct msg_mount *m = &s->extra_mounts.v[i];

		if (check_source(m, &a->sources[i], a->roots, e) == -1)
			return -1;
		a->mounts[i] = *m;
		a->mounts[i].host_path = a->sources[i].path;
		if (*m->manifest_path != '\0')
			a->mounts[i].manifest_path = a->sources[i].manifest_path;
		if (check_target(a->mounts, i, e) == -1)
			return -1;
	}
	return 0;
}

static int
mount_skill(struct msg_box_spec *s, const struct admitted *a, struct err *e)
{
	struct msg_mount *m = &a->mounts[s->extra_mounts.n];

	if (*a->skill_root == '\0' ||
	    snprintf(a->skill_path, LIM_PATH + 1, DEFAULT_MOUNT_PATH "/.skills/%s", s->skill_name) > LIM_PATH)
		return err_set(e, E_ADMISSION, "Managed sandbox skill is unavailable in this Workspace");
	msg_defaults(MSG_MOUNT, m);
	m->host_path = a->skill_root;
	m->mount_path = a->skill_path;
	m->mode = MOUNT_RO;
	return check_target(a->mounts, s->extra_mounts.n++, e);
}

int
admission_force(const struct msg_box_policy *p, struct msg_box_spec *s, const struct admitted *a, struct err *e)
{
	if (refuse(s, a, e) == -1 || take_mounts(s, a, e) == -1 ||
	    (*s->skill_name != '\0' && mount_skill(s, a, e) == -1))
		return -1;
	s->extra_mounts.v = a->mounts;
	s->session_id = ADMISSION_SESSION;
	s->network = NETWORK_OFF;
	s->image = ADMISSION_IMAGE;
	s->host_path = a->host_path;
	s->host_path_mode = MOUNT_RW;
	s->mount_path = DEFAULT_MOUNT_PATH;
	if (*s->workdir == '\0')
		s->workdir = DEFAULT_MOUNT_PATH;
	s->persistent = true;
	if (s->timeout_sec > p->max_timeout_sec)
		s->timeout_sec = p->max_timeout_sec;
	s->cpus = p->cpus;
	s->memory_mb = p->memory_mb;
	s->pids_limit = p->pids_limit;
	s->read_only_rootfs = p->read_only_rootfs;
	s->workspace_quota_mb = p->workspace_quota_mb;
	return 0;
}
