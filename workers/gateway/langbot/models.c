#include "langbot/models.h"

#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "python/pystr.h"
#include "wire/digest.h"

#define ALGORITHM "sha256:"

enum { SKILL_NAME_CHARACTERS = 64 };

/* ---- what a text must be ------------------------------------------------------------ */

static bool
is_given(const char *p, size_t n)
{
	return n > 0;
}

static bool
is_absolute(const char *p, size_t n)
{
	return n > 0 && *p == '/';
}

/* Absolute on this host, or on Windows: LangBot checks no more, and boxd opens the path itself. */
static bool
is_host_path(const char *p, size_t n)
{
	uint32_t c;

	if (n > 0 && (*p == '/' || *p == '\\'))
		return true;
	int drive = n > 0 ? utf8_next(p, n, &c) : -1;
	return drive > 0 && n >= (size_t)drive + 2 && p[drive] == ':' && strchr("/\\", p[drive + 1]) != NULL &&
	       p[drive + 1] != '\0';
}

static bool
is_skill_name(const char *p, size_t n)
{
	size_t   letters = 0;
	uint32_t c;

	if (py_len(p, n) > SKILL_NAME_CHARACTERS)
		return false;
	for (size_t i = 0; i < n;) {
		int len = utf8_next(p + i, n - i, &c);

		if (len < 0 || (c != '-' && c != '_' && !py_is_alnum(c)))
			return false;
		letters += c != '-' && c != '_';
		i += (size_t)len;
	}
	return letters > 0 || n == 0; /* empty: as if there were none */
}

static bool
is_digest(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memchr("0123456789abcdef", p[i], 16) == NULL)
			return false;
	return n == DIGEST_DIGITS;
}

static bool
has_algorithm(const char *p, size_t n)
{
	return n >= strlen(ALGORITHM) && memcmp(p, ALGORITHM, strlen(ALGORITHM)) == 0;
}

static bool
is_content_digest(const char *p, size_t n)
{
	return is_digest(p + strlen(ALGORITHM), n - strlen(ALGORITHM));
}

/* As posixpath.normpath would leave it: two slashes in front stay two. */
static bool
is_normal(const char *p, size_t n)
{
	size_t at = n > 1 && p[1] == '/' ? 2 : 1;

	while (at < n) {
		const char *slash = memchr(p + at, '/', n - at);
		size_t      part = slash != NULL ? (size_t)(slash - p) - at : n - at;

		if (part == 0 || (part == 1 && p[at] == '.') || (part == 2 && memcmp(p + at, "..", 2) == 0))
			return false;
		at += part + 1;
		if (slash != NULL && at == n)
			return false;
	}
	return true;
}

static bool
is_safe(char c)
{
	return c != '\0' && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", c) != NULL;
}

/*
 * The supervisor maps names to safe ones; mapping twice changes nothing.  So a name that is too long for a message, or
 * has a NUL in it, can be mapped here: it is refused only if it is too long even then.
 */
const char *
session_text(msgpack_zone *zone, const char *p, size_t *n)
{
	size_t k = 0;

	if (*n <= LIM_NAME && memchr(p, '\0', *n) == NULL)
		return p;
	char *s = msgpack_zone_malloc(zone, *n + 1);
	if (s == NULL)
		return NULL;
	for (size_t i = 0; i < *n; i++)
		if (is_safe(p[i]))
			s[k++] = p[i];
		else if (i == 0 || is_safe(p[i - 1]))
			s[k++] = '-';
	*n = k;
	return s;
}

/* ---- the tables ---------------------------------------------------------------------- */

/* clang-format off */

static const struct rule mount_rules[] = {
	{ .name = "host_path",  SHAPE_TEXT, NEEDED | STRIPPED, .fits = is_host_path, .unfit = "host_path must be an absolute host path" },
	{ .name = "mount_path", SHAPE_TEXT, NEEDED | STRIPPED, .fits = is_absolute, .unfit = "mount_path must be an absolute path inside the sandbox",
	    .fits_too = is_normal, .unfit_too = "mount_path must be normalized" },
	{ .name = "mode",       SHAPE_ENUM },
	{ .name = "content_digest", SHAPE_TEXT, NULLABLE | STRIPPED, .fits = has_algorithm, .unfit = "content_digest must use sha256:<hex>",
	    .fits_too = is_content_digest, .unfit_too = "content_digest must use sha256:<64 lowercase hex>" },
	{ .name = "manifest_path", SHAPE_TEXT, NULLABLE | STRIPPED, .fits = is_host_path, .unfit = "manifest_path must be an absolute host path" },
	{ .name = NULL },
};

static const char *mount_whole(const void *body);

static const struct model model_mount = { "BoxMountSpec", MSG_MOUNT, .rules = mount_rules, .whole = mount_whole };

static const struct rule spec_rules[] = {
	{ .name = "cmd",            SHAPE_TEXT, STRIPPED },
	{ .name = "workdir",        SHAPE_TEXT, STRIPPED, .fits = is_absolute, .unfit = "workdir must be an absolute path inside the sandbox" },
	{ .name = "timeout_sec",    SHAPE_INT, .least = 1, .most = NO_MOST, .unfit = "timeout_sec must be greater than 0" },
	{ .name = "network",        SHAPE_ENUM },
	{ .name = "session_id",     SHAPE_TEXT, NEEDED | STRIPPED, .fits = is_given, .unfit = "session_id must not be empty", .makes = session_text },
	{ .name = "env",            SHAPE_ENV },
	{ .name = "image",          SHAPE_TEXT },
	{ .name = "host_path",      SHAPE_TEXT, NULLABLE | STRIPPED, .fits = is_host_path, .unfit = "host_path must be an absolute host path" },
	{ .name = "host_path_mode", SHAPE_ENUM },
	{ .name = "mount_path",     SHAPE_TEXT, STRIPPED, .fits = is_absolute, .unfit = "mount_path must be an absolute path inside the sandbox" },
	{ .name = "extra_mounts",   SHAPE_MODELS, .sub = &model_mount },
	{ .name = "skill_name",     SHAPE_TEXT, NULLABLE | STRIPPED, .fits = is_skill_name, .unfit = "skill_name can only contain up to 64 letters, numbers, hyphens and underscores" },
	{ .name = "persistent",     SHAPE_BOOL },
	{ .name = "cpus",           SHAPE_FLOAT, .unfit = "cpus must be greater than 0" },
	{ .name = "memory_mb",      SHAPE_INT, .least = 32, .most = NO_MOST, .unfit = "memory_mb must be at least 32" },
	{ .name = "pids_limit",     SHAPE_INT, .least = 1, .most = NO_MOST, .unfit = "pids_limit must be at least 1" },
	{ .name = "read_only_rootfs", SHAPE_BOOL },
	{ .name = "workspace_quota_mb", SHAPE_INT, .least = 0, .most = NO_MOST, .unfit = "workspace_quota_mb must be greater than or equal to 0" },
	{ .name = NULL },
};

static const struct rule process_rules[] = {
	{ .name = "process_id", SHAPE_TEXT },
	{ .name = "command",    SHAPE_TEXT, NEEDED | STRIPPED, .fits = is_given, .unfit = "command must not be empty" },
	{ .name = "args",       SHAPE_TEXTS },
	{ .name = "env",        SHAPE_ENV },
	{ .name = "cwd",        SHAPE_TEXT, STRIPPED, .fits = is_absolute, .unfit = "cwd must be an absolute path inside the sandbox" },
	{ .name = "memory_mb",  SHAPE_INT },
	{ .name = NULL },
};

#define STRICT .strict = "must be an integer"
#define POSITIVE .least = 1, .most = NO_MOST, .unfit = "must be greater than 0"
#define NOT_NEGATIVE .least = 0, .most = NO_MOST, .unfit = "must be greater than or equal to 0"
#define FROM_ONE .least = 1, .most = NO_MOST, .unfit = "must be greater than or equal to 1"
#define AN_ID .fits = is_given, .unfit = "must not be empty"

static const struct rule policy_rules[] = {
	{ .name = "required",           SHAPE_BOOL },
	{ .name = "logical_session_id", SHAPE_TEXT, .literal = "global" },
	{ .name = "required_backend",   SHAPE_TEXT, .literal = "nsjail" },
	{ .name = "max_sessions",       SHAPE_INT, STRICT, .least = 0, .most = 1, .unfit = "max_sessions must be between 0 and 1" },
	{ .name = "max_managed_processes", SHAPE_INT, STRICT, .least = 0, .most = 0, .unfit = "max_managed_processes must be 0" },
	{ .name = "max_grant_ttl_sec",  SHAPE_INT, STRICT, POSITIVE },
	{ .name = "max_timeout_sec",    SHAPE_INT, STRICT, POSITIVE },
	{ .name = "cpus",               SHAPE_FLOAT, .strict = "cpus must be a number", .unfit = "cpus must be greater than 0" },
	{ .name = "memory_mb",          SHAPE_INT, STRICT, .least = 32, .most = NO_MOST, .unfit = "memory_mb must be at least 32" },
	{ .name = "pids_limit",         SHAPE_INT, STRICT, POSITIVE },
	{ .name = "read_only_rootfs",   SHAPE_BOOL },
	{ .name = "workspace_quota_mb", SHAPE_INT, STRICT, NOT_NEGATIVE },
	{ .name = "readiness_cache_sec", SHAPE_INT, STRICT, NOT_NEGATIVE },
	{ .name = NULL },
};

static const struct rule grant_rules[] = {
	{ .name = "instance_uuid",         SHAPE_TEXT, NEEDED | STRIPPED, "instance", AN_ID },
	{ .name = "workspace_uuid",        SHAPE_TEXT, NEEDED | STRIPPED, "workspace", AN_ID },
	{ .name = "execution_generation",  SHAPE_INT, NEEDED, "generation", STRICT, FROM_ONE },
	{ .name = "entitlement_revision",  SHAPE_INT, NEEDED, "revision", STRICT, FROM_ONE },
	{ .name = "expires_at",            SHAPE_TIME, NEEDED, "expires_us" },
	{ .name = "max_sessions",          SHAPE_INT, NEEDED, STRICT, NOT_NEGATIVE },
	{ .name = "max_managed_processes", SHAPE_INT, NEEDED, STRICT, NOT_NEGATIVE },
	{ .name = NULL },
};

static const struct rule revocation_rules[] = {
	{ .name = "instance_uuid",  SHAPE_TEXT, NEEDED | STRIPPED, "instance", AN_ID },
	{ .name = "workspace_uuid", SHAPE_TEXT, NEEDED | STRIPPED, "workspace", AN_ID },
	{ .name = "entitlement_revision", SHAPE_INT, NEEDED, "revision", .strict = "entitlement_revision must be an integer",
	    .least = 1, .most = NO_MOST, .unfit = "entitlement_revision must be greater than or equal to 1" },
	{ .name = NULL },
};

static const struct rule context_rules[] = {
	{ .name = "instance_uuid",  SHAPE_TEXT, NEEDED | STRIPPED, "instance", AN_ID },
	{ .name = "workspace_uuid", SHAPE_TEXT, NEEDED | STRIPPED, "workspace", AN_ID },
	{ .name = "placement_generation", SHAPE_INT, 0, "generation",
	    .least = 1, .most = NO_MOST, .unfit = "placement_generation must be greater than or equal to 1" },
	{ .name = "installation_uuid", SHAPE_TEXT, NULLABLE | STRIPPED, AN_ID },
	{ .name = NULL },
};

/* A plugin's: Box drops what is more than a context's. */
static const struct rule binding_rules[] = {
	{ .name = "instance_uuid",  SHAPE_TEXT, NEEDED | STRIPPED, "instance", AN_ID },
	{ .name = "workspace_uuid", SHAPE_TEXT, NEEDED | STRIPPED, "workspace", AN_ID },
	{ .name = "placement_generation", SHAPE_INT, 0, "generation", .strict = "placement_generation must be an integer",
	    .least = 1, .most = NO_MOST, .unfit = "placement_generation must be greater than or equal to 1" },
	{ .name = "installation_uuid", SHAPE_TEXT, NEEDED | STRIPPED, AN_ID },
	{ .name = "runtime_revision", SHAPE_INT, NEEDED, .strict = "runtime_revision must be an integer",
	    .least = 1, .most = NO_MOST, .unfit = "runtime_revision must be greater than or equal to 1" },
	{ .name = "artifact_digest", SHAPE_TEXT, NEEDED | STRIPPED, .fits = is_digest, .unfit = "artifact_digest must be a lowercase SHA-256 hex digest" },
	{ .name = NULL },
};

/* clang-format on */

static const char *
mount_whole(const void *body)
{
	const struct msg_mount *m = body;

	if (!path_within(m->mount_path, ARTIFACT_ROOT) || digest_of(m) != NULL)
		return NULL;
	return "Artifact paths require a read-only digest-addressed mount and manifest";
}

static const char *
spec_whole(const void *body)
{
	const struct msg_box_spec *s = body;
	size_t                     n = strlen(s->mount_path);

	if (*s->host_path == '\0' || s->host_path_mode == MOUNT_NONE || strcmp(s->workdir, s->mount_path) == 0)
		return NULL;
	if (strncmp(s->workdir, s->mount_path, n) == 0 && s->workdir[n] == '/')
		return NULL;
	return "workdir must stay under mount_path when host_path is provided";
}

const struct model model_spec = { "BoxSpec", MSG_BOX_SPEC, .rules = spec_rules, .whole = spec_whole };
const struct model model_process = { "BoxManagedProcessSpec", MSG_BOX_PROCESS_START, .rules = process_rules };
const struct model model_policy = { "SandboxAdmissionPolicy", MSG_BOX_POLICY, .closed = true, .rules = policy_rules };
const struct model model_grant = { "SandboxAdmissionGrant", MSG_BOX_GRANT, .closed = true, .rules = grant_rules };
const struct model model_revocation = { "SandboxAdmissionRevocation", MSG_BOX_REVOKE_GRANT, .closed = true,
	.rules = revocation_rules };
const struct model model_context = { "ActionContext", MSG_CONTEXT, .closed = true, .rules = context_rules };
const struct model model_binding = { "InstallationBinding", MSG_CONTEXT, .closed = true, .rules = binding_rules };

/* ---- a spec before it is read -------------------------------------------------------- */

const msgpack_object *
spec_with_workdir(msgpack_zone *zone, const msgpack_object *map)
{
	const msgpack_object *workdir = json_get(map, "workdir"), *mount = json_get(map, "mount_path");
	msgpack_object *new = msgpack_zone_malloc(zone, sizeof(*new));
	size_t size = mount != NULL && mount->type == MSGPACK_OBJECT_STR ? mount->via.str.size : 0, n;

	if (workdir != NULL && workdir->type != MSGPACK_OBJECT_NIL && !json_is(workdir, ""))
		return map;
	if (size > 0)
		py_strip(mount->via.str.ptr, &size);
	if (size == 0 || new == NULL)
		return map;
	n = map->via.map.size;
	*new = *map;
	new->via.map.ptr = msgpack_zone_malloc(zone, (n + 1) * sizeof(*new->via.map.ptr));
	if (new->via.map.ptr == NULL)
		return map;
	if (n > 0)
		memcpy(new->via.map.ptr, map->via.map.ptr, n * sizeof(*new->via.map.ptr));
	if (workdir == NULL) {
		msgpack_object_kv *kv = &new->via.map.ptr[new->via.map.size++];

		kv->key.type = MSGPACK_OBJECT_STR;
		kv->key.via.str.ptr = "workdir";
		kv->key.via.str.size = strlen("workdir");
	}
	*(msgpack_object *)json_get(new, "workdir") = *mount;
	return new;
}
