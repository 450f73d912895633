#include "config/mountspec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "host/mountpoint.h"
#include "wire/digest.h"

static const char *
shown(const char *text)
{
	return log_escape(text, strlen(text));
}

static int
check_host(const char *field, const char *path, struct err *e)
{
	if (*path == '\0')
		return err_set(e, E_INVALID, "%s: it is empty; name a directory of the host", field);
	if (isalpha((unsigned char)path[0]) && path[1] == ':')
		return err_set(
		    e, E_INVALID, "%s: '%s' is a Windows path; boxd mounts paths of this host", field, shown(path));
	if (*path != '/')
		return err_set(e, E_INVALID, "%s: '%s' is not an absolute path; begin it with '/'", field, shown(path));
	return 0;
}

static int
check_inside(const char *field, const char *path, char normal[LIM_PATH + 1], struct err *e)
{
	if (!path_normal(path, normal))
		return err_set(e, E_INVALID, "%s: '%s' is not an absolute path without '..'", field, shown(path));
	if (mountpoint_check(normal, shown(path), e) == -1)
		return err_prefix(e, "%s", field);
	return 0;
}

/* Only verified copies appear below ARTIFACT_ROOT. */
static int
check_artifact(const struct msg_mount *m, const char *mine, const char *place, struct err *e)
{
	char field[96];

	if (*m->content_digest != '\0' && !digest_is(m->content_digest))
		return err_set(e, E_INVALID,
		    "%s.content_digest: '%s' is not sha256: and 64 hexadecimal digits in lower case", mine,
		    shown(m->content_digest));
	snprintf(field, sizeof(field), "%s.manifest_path", mine);
	if (*m->manifest_path != '\0' && check_host(field, m->manifest_path, e) == -1)
		return -1;
	if (path_within(place, ARTIFACT_ROOT) && digest_of(m) == NULL)
		return err_set(e, E_INVALID,
		    "%s: a mount below " ARTIFACT_ROOT " needs mode ro, a content_digest, a "
		    "manifest_path, and the digits of the digest as its mount_path there",
		    mine);
	return 0;
}

static bool
same_mount(const struct msg_mount *a, const struct msg_mount *b)
{
	char x[LIM_PATH + 1], y[LIM_PATH + 1];

	if (digest_of(a) != NULL && digest_of(b) != NULL) /* the same copy, wherever its source is */
		return strcmp(digest_of(a), digest_of(b)) == 0;
	return a->mode == b->mode && strcmp(a->host_path, b->host_path) == 0 && path_normal(a->mount_path, x) &&
	       path_normal(b->mount_path, y) && strcmp(x, y) == 0;
}

/* The same mount twice is one mount; two different ones cannot be in one place. */
static int
check_places(
    const struct msg_spec *s, size_t i, const char *mine, const char *place, const char *workspace, struct err *e)
{
	char other[LIM_PATH + 1];

	if (strcmp(place, workspace) == 0)
		return err_set(e, E_INVALID, "%s.mount_path: '%s' is where the workspace is", mine, shown(place));
	if (path_within(workspace, place))
		return err_set(e, E_INVALID, "%s.mount_path: a mount on '%s' would hide the workspace %s", mine,
		    shown(place), workspace);
	for (size_t k = 0; k < i; k++)
		if (s->extra_mounts.v[k].mode != MOUNT_NONE && path_normal(s->extra_mounts.v[k].mount_path, other) &&
		    strcmp(place, other) == 0 && !same_mount(&s->extra_mounts.v[i], &s->extra_mounts.v[k]))
			return err_set(e, E_INVALID, "%s.mount_path: '%s' is the place of extra_mounts.%zu already",
			    mine, shown(place), k);
	return 0;
}

static int
check_extra(const struct msg_spec *s, const char *of, size_t i, const char *workspace, struct err *e)
{
	const struct msg_mount *m = &s->extra_mounts.v[i];
	char                    mine[64], field[96], place[LIM_PATH + 1];

	if (m->mode == MOUNT_NONE)
		return 0;
	snprintf(mine, sizeof(mine), "%s.extra_mounts.%zu", of, i);
	snprintf(field, sizeof(field), "%s.host_path", mine);
	if (check_host(field, m->host_path, e) == -1)
		return -1;
	snprintf(field, sizeof(field), "%s.mount_path", mine);
	if (check_inside(field, m->mount_path, place, e) == -1)
		return -1;
	if (check_artifact(m, mine, place, e) == -1)
		return -1;
	return check_places(s, i, mine, place, workspace, e);
}

static int
check_image(const char *image, struct err *e)
{
	static const char more[] = "._-:/@";

	for (const char *p = image; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && (p == image || strchr(more, *p) == NULL))
			return err_set(e, E_INVALID,
			    "spec.image: '%s' is not a name: letters and digits, and behind the first also %s",
			    shown(image), more);
	return 0;
}

int
mountspec_fill(struct msg_spec *s, const char *of, struct err *e)
{
	char workspace[LIM_PATH + 1];

	if (*s->mount_path == '\0')
		s->mount_path = DEFAULT_MOUNT_PATH;
	if (check_image(s->image, e) == -1 || check_inside("spec.mount_path", s->mount_path, workspace, e) == -1)
		return -1;
	if (*s->host_path != '\0' && check_host("spec.host_path", s->host_path, e) == -1)
		return -1;
	for (size_t i = 0; i < s->extra_mounts.n; i++)
		if (check_extra(s, of, i, workspace, e) == -1)
			return -1;
	return 0;
}

/* ---- comparing ---------------------------------------------------------------- */

bool
mountspec_has_extra(const struct msg_spec *s, const struct msg_mount *wanted)
{
	for (size_t i = 0; i < s->extra_mounts.n; i++)
		if (same_mount(&s->extra_mounts.v[i], wanted))
			return true;
	return false;
}

static bool
has_all_extra_of(const struct msg_spec *s, const struct msg_spec *other)
{
	for (size_t i = 0; i < other->extra_mounts.n; i++)
		if (other->extra_mounts.v[i].mode != MOUNT_NONE && !mountspec_has_extra(s, &other->extra_mounts.v[i]))
			return false;
	return true;
}

static bool
wants_host_path(const struct msg_spec *s)
{
	return *s->host_path != '\0' && s->host_path_mode != MOUNT_NONE;
}

bool
mountspec_wants_host(const struct msg_spec *s)
{
	struct msg_spec none = { 0 };

	return wants_host_path(s) || !has_all_extra_of(&none, s);
}

bool
mountspec_is_default(const struct msg_spec *s)
{
	return !mountspec_wants_host(s) && s->read_only_rootfs && strcmp(s->mount_path, DEFAULT_MOUNT_PATH) == 0;
}
