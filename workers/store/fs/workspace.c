#include "fs/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/usage.h"
#include "fs/tree.h"
#include "skills/text.h"

#define MARKER ".langbot-box-volume-probe-"

enum { MARKER_HEX = 32, MARKER_BYTES = 1024 };

/* ---- verify ------------------------------------------------------------------------------ */

static bool
is_marker(const char *name)
{
	const char *hex = name + strlen(MARKER);

	return strncmp(name, MARKER, strlen(MARKER)) == 0 && strlen(hex) == MARKER_HEX &&
	       strspn(hex, "0123456789abcdef") == MARKER_HEX;
}

static bool
is_allowed(const struct store *st)
{
	for (size_t i = 0; i < st->paths.allowed_mount_roots.n; i++)
		if (path_within(st->paths.default_workspace, st->paths.allowed_mount_roots.v[i]))
			return true;
	return false;
}

static int
check_workspace(const struct store *st, struct err *e)
{
	struct stat now, then;

	if (st->workspace == -1)
		return err_set(e, E_READINESS, "Managed sandbox admission requires box.local.default_workspace");
	if (!is_allowed(st))
		return err_set(e, E_READINESS, "Managed sandbox workspace is outside box.local.allowed_mount_roots");
	/* the one that we hold must be the one that has the name */
	if (stat(st->paths.default_workspace, &now) == -1 || fstat(st->workspace, &then) == -1 ||
	    !S_ISDIR(now.st_mode) || now.st_dev != then.st_dev || now.st_ino != then.st_ino)
		return err_set(e, E_READINESS, "Managed sandbox workspace path is not a directory");
	if (faccessat(st->workspace, ".", R_OK | W_OK | X_OK, AT_EACCESS) == -1)
		return err_set(e, E_READINESS, "Managed sandbox workspace path is not writable");
	return 0;
}

/* The bytes of a file that may change while it is read. */
static int
read_marker(int fd, unsigned char out[MARKER_BYTES + 1], size_t *total, struct err *e)
{
	struct stat st;
	ssize_t     n;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return err_set(e, E_READINESS, "Box shared Workspace probe is not a regular file");
	if (st.st_size <= 0 || st.st_size > MARKER_BYTES)
		return err_set(e, E_READINESS, "Box shared Workspace probe has an invalid size");
	for (*total = 0; *total <= MARKER_BYTES; *total += (size_t)n) {
		n = read(fd, out + *total, MARKER_BYTES + 1 - *total);
		if (n == -1)
			return err_set(e, E_READINESS, "Box Runtime cannot read the Core shared Workspace probe");
		if (n == 0)
			break;
	}
	if (*total > MARKER_BYTES)
		return err_set(e, E_READINESS, "Box shared Workspace probe exceeds the size limit");
	if (*total != (size_t)st.st_size)
		return err_set(e, E_READINESS, "Box shared Workspace probe changed while being verified");
	return 0;
}

int
workspace_verify(const struct store *st, const char *given, struct msg_box_marker *out, char sha256[65], struct err *e)
{
	unsigned char bytes[MARKER_BYTES + 1], hash[crypto_hash_sha256_BYTES];
	char          marker[LIM_NAME + 1];
	struct span   s = text_strip(span_of(given));
	size_t        n = 0;

	snprintf(marker, sizeof(marker), "%.*s", (int)s.n, s.p);
	if (!is_marker(marker))
		return err_set(e, E_READINESS, "Invalid Box shared Workspace probe basename");
	if (check_workspace(st, e) == -1)
		return -1;
	AUTO_FD int fd = openat(st->workspace, marker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return err_set(e, E_READINESS, "Box Runtime cannot read the Core shared Workspace probe");
	if (read_marker(fd, bytes, &n, e) == -1)
		return -1;
	crypto_hash_sha256(hash, bytes, n);
	sodium_bin2hex(sha256, 65, hash, sizeof(hash));
	*out = (struct msg_box_marker){ .sha256 = sha256, .size_bytes = n };
	return 0;
}

/* ---- measure ----------------------------------------------------------------------------- */

static const char *const details[WORKSPACE_AMOUNTS] = { ".mcp", "inbox", "outbox", NULL };

static void
add_amount(struct msg_amount *to, const struct msg_amount *part)
{
	to->cut |= part->cut;
	to->size_bytes += part->size_bytes;
	to->files += part->files;
	to->errors += part->errors;
}

static struct msg_amount
amount_of(struct usage *u, int dir, const char *name, const char *const *skip)
{
	struct usage_tally t;

	usage_count(u, dir, name, skip, &t);
	return (struct msg_amount){ t.exists, t.cut, t.bytes, t.files, t.errors };
}

/* Each file is looked at once: the details first, then what is beside them. */
static void
measure(struct usage *u, int tenants, const char *ns, struct msg_amount v[WORKSPACE_AMOUNTS])
{
	AUTO_FD int dir = openat(tenants, ns, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (int i = 0; dir != -1 && details[i] != NULL; i++)
		v[i + 1] = amount_of(u, dir, details[i], NULL);
	v[0] = amount_of(u, tenants, ns, details);
	for (int i = 1; i < WORKSPACE_AMOUNTS; i++)
		add_amount(&v[0], &v[i]);
}

int
workspace_measure(const struct store *st, const char *ns, char path[LIM_PATH + 1],
    struct msg_amount v[WORKSPACE_AMOUNTS], size_t *n, struct err *e)
{
	struct usage u;
	struct err   unusable;

	*n = 0;
	path[0] = '\0';
	memset(v, 0, WORKSPACE_AMOUNTS * sizeof(*v));
	if (check_workspace(st, &unusable) == -1)
		return 0;
	if (strchr(ns, '/') != NULL || strcmp(ns, ".") == 0 || strcmp(ns, "..") == 0 ||
	    snprintf(path, LIM_PATH + 1, "%s/tenants/%s", st->paths.default_workspace, ns) > LIM_PATH)
		return err_set(e, E_INVALID, "'%s' is no name of a workspace", ns);
	AUTO_FD int tenants = tree_open_dir_by_link(st->workspace, "tenants");
	if (tenants == -1 && (errno == EXDEV || errno == ELOOP))
		return err_set(e, E_ADMISSION, "Managed sandbox tenant directory escapes the configured workspace");
	*n = WORKSPACE_AMOUNTS;
	if (tenants == -1) {
		for (int i = 0; errno != ENOENT && errno != ENOTDIR && i < WORKSPACE_AMOUNTS; i++)
			v[i].errors = 1;
		return 0;
	}
	if (usage_open(&u, USAGE_APPARENT, LIM_USAGE_ENTRIES, LIM_USAGE_MS, e) == -1)
		return -1;
	measure(&u, tenants, ns, v);
	usage_close(&u);
	return 0;
}

/* ---- make -------------------------------------------------------------------------------- */

/* One part further down, made if it is missing; a symlink is not followed. */
static int
step(int *at, const char *part)
{
	int next = tree_make_dir(*at, part);

	if (next == -1)
		return -1;
	close(*at);
	*at = next;
	return 0;
}

static int
workspace_refuse(struct err *e, const struct store *st, const char *path)
{
	struct stat owner;

	if ((errno == EACCES || errno == EPERM) && fstat(st->workspace, &owner) == 0 && owner.st_uid != geteuid())
		return err_set(e, E_INVALID,
		    "make %s/%s: the default workspace belongs to uid %u, the skills root to uid %u; box-store works "
		    "as the latter",
		    st->paths.default_workspace, path, owner.st_uid, geteuid());
	return err_sys(e, "make %s/%s", st->paths.default_workspace, path);
}

int
workspace_make(const struct store *st, const char *path, char out[LIM_PATH + 1], struct err *e)
{
	char normal[LIM_PATH + 1], parts[LIM_PATH + 1], *rest = parts + 1, slashed[LIM_PATH + 2];

	if (st->workspace == -1)
		return err_set(e, E_INVALID, "box.local.default_workspace is not configured");
	snprintf(slashed, sizeof(slashed), "/%s", path);
	if (*path == '/' || !path_normal(slashed, normal) ||
	    (size_t)snprintf(out, LIM_PATH + 1, "%s%s", st->paths.default_workspace, normal[1] != '\0' ? normal : "") >
		LIM_PATH)
		return err_set(e, E_INVALID, "'%s' is no path beneath the default workspace", path);
	memcpy(parts, normal, sizeof(parts));
	AUTO_FD int at = fcntl(st->workspace, F_DUPFD_CLOEXEC, 0);
	if (at == -1)
		return err_sys(e, "open %s", st->paths.default_workspace);
	for (char *part; (part = strsep(&rest, "/")) != NULL;)
		if (*part != '\0' && step(&at, part) == -1)
			return workspace_refuse(e, st, normal + 1);
	return 0;
}
