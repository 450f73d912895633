/*
 * What an admitted spec becomes.  Pure: paths are compared as text, because the store has resolved the one that
 * counts, and only it may touch a workspace's files.
 */
#include <stdio.h>
#include <string.h>

#include "admission_spec.h"
#include "path.h"

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
refuse(const struct msg_box_spec *s, const char *host_path, const char *skill_root, struct err *e)
{
	if (s->network != NETWORK_OFF)
		return err_set(e, E_ADMISSION, "Managed sandbox network access is disabled");
	if (s->extra_mounts.n > 0)
		return err_set(e, E_ADMISSION, "Managed sandbox additional host mounts are disabled");
	if (!is_own_mount(s->mount_path))
		return err_set(e, E_ADMISSION, "Managed sandbox mount_path is runtime-owned");
	if (!is_inside(s->workdir))
		return err_set(e, E_ADMISSION, "Managed sandbox workdir must stay under " DEFAULT_MOUNT_PATH);
	if (!is_canonical(s->host_path, host_path))
		return err_set(e, E_ADMISSION, "Managed sandbox host_path is runtime-owned");
	if (*s->skill_name != '\0' && *skill_root == '\0')
		return err_set(e, E_ADMISSION, "Managed sandbox skill is unavailable in this Workspace");
	return 0;
}

static int
mount_skill(struct msg_box_spec *s, const char *skill_root, struct admitted *a, struct err *e)
{
	if (snprintf(a->skill_path, sizeof(a->skill_path), DEFAULT_MOUNT_PATH "/.skills/%s", s->skill_name) >=
	    (int)sizeof(a->skill_path))
		return err_set(e, E_ADMISSION, "Managed sandbox skill is unavailable in this Workspace");
	msg_defaults(MSG_MOUNT, a->mount);
	a->mount->host_path = skill_root;
	a->mount->mount_path = a->skill_path;
	a->mount->mode = MOUNT_RO;
	s->extra_mounts.n = 1;
	s->extra_mounts.v = a->mount;
	return 0;
}

int
admission_force(const struct msg_box_policy *p, struct msg_box_spec *s, const char *host_path, const char *skill_root,
    struct admitted *a, struct err *e)
{
	if (refuse(s, host_path, skill_root, e) == -1)
		return -1;
	s->extra_mounts.n = 0;
	if (*s->skill_name != '\0' && mount_skill(s, skill_root, a, e) == -1)
		return -1;
	s->session_id = ADMISSION_SESSION;
	s->network = NETWORK_OFF;
	s->image = ADMISSION_IMAGE;
	s->host_path = host_path;
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
