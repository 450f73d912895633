/*
 * As root the worker makes a detached mount of each checked descriptor, id-mapped so
 * that the owner of a directory is root inside: what the sandbox writes there belongs
 * to him, and he to nobody else.  Not what is mounted below the directory: it was not
 * looked at, so it is not shown.  The child only moves these mounts to their places.
 *
 * The worker of an ordinary user may not make mounts; its child may, in a mount
 * namespace where the worker's descriptors mean nothing.  It opens the real path again,
 * following no symlink at all, and goes on only when that is the very inode that was
 * checked.  The kernel shows an ordinary user a directory only together with what is
 * mounted below it.  Its owner needs no id map: root inside is that user.
 *
 * Either way what is mounted is the inode that was judged, whatever has been renamed
 * or linked meanwhile.
 */
#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/sys.h"
#include "host/hostpath.h"
#include "sandbox/place.h"
#include "sandbox/shadow.h"
#include "sandbox/tree.h"
#include "wire/digest.h"

const char *
mounts_workdir(const struct msg_spec *s)
{
	return *s->mount_path != '\0' ? s->mount_path : DEFAULT_MOUNT_PATH;
}

bool
mounts_private(const struct msg_spec *s)
{
	return *s->host_path == '\0' || s->host_path_mode == MOUNT_NONE;
}

void
mounts_init(struct mounts *m)
{
	*m = (struct mounts){ .workspace = -1, .map = -1 };
}

void
mounts_prepared(struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		fd_close(&m->v[i].fd);
		fd_close(&m->v[i].tree);
		free(m->v[i].real);
	}
	fd_close(&m->map);
	free(m->v);
	m->v = NULL;
	m->n = 0;
}

void
mounts_clear(struct mounts *m)
{
	mounts_prepared(m);
	fd_close(&m->workspace);
	while (m->nextra > 0)
		fd_close(&m->extra[--m->nextra]);
}

/* ---- in the worker ------------------------------------------------------------------ */

static uint64_t
attributes(const struct mount_entry *en)
{
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (en->read_only ? MOUNT_ATTR_RDONLY : 0);
}

static int
map_of(struct mounts *m, const struct stat *st, uint64_t uid_base)
{
	struct idmap map = { .uid = st->st_uid, .gid = st->st_gid, .to = (uint32_t)uid_base, .count = 1 };

	if (m->map >= 0 && m->map_uid == map.uid && m->map_gid == map.gid)
		return m->map;
	fd_close(&m->map);
	m->map_uid = map.uid;
	m->map_gid = map.gid;
	return m->map = idmap_open(&map);
}

/* Reading needs no map where there can be none; writing does. */
static int
detach(struct mounts *m, struct mount_entry *en, const struct hostpath *h, const struct hostpath_ask *ask,
    uint64_t uid_base, struct err *e)
{
	char fs[FS_NAME];

	en->tree = tree_copy(h->fd, "", false, attributes(en));
	if (en->tree == -1)
		return err_sys(e, "%s: mount %s", ask->field, h->real);
	int owner = map_of(m, &h->st, uid_base);
	if (owner == -1)
		return err_sys(e, "%s: make an id map", ask->field);
	if (tree_idmap(en->tree, owner) == 0 || (errno == EINVAL && en->read_only))
		return 0;
	if (errno != EINVAL)
		return err_sys(e, "%s: map the owner of %s", ask->field, h->real);
	return err_set(e, E_INVALID,
	    "%s: %s is on %s, which cannot be id-mapped, so the sandbox could not write there as its owner; "
	    "mount it read-only, or choose a directory on another file system such as ext4, xfs, btrfs or tmpfs",
	    ask->field, h->real, hostpath_fs(h->fd, fs));
}

/* A copy that boxd has verified, in the directory that came with the spec; nobody else can write there. */
static int
artifact_open(struct hostpath *h, const struct hostpath_ask *ask, const char *digits, int artifacts, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	char            path[DIGEST_DIGITS + 16], link[64];
	ssize_t         n = -1;

	snprintf(path, sizeof(path), "%s/package", digits);
	AUTO_FD int fd = (int)syscall(SYS_openat2, artifacts, path, &how, sizeof(how));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd == -1 || fstat(fd, &h->st) == -1 || (n = readlink(link, h->real, sizeof(h->real) - 1)) == -1)
		return err_sys(e, "%s: open the copy of %s", ask->field, digits);
	h->real[n] = '\0';
	h->fd = fd_take(&fd);
	return 0;
}

static int
entry_add(struct mounts *m, const struct hostpath_ask *ask, const char *digits, const char *at,
    const struct msg_worker_start *s, struct err *e)
{
	struct mount_entry *en = &m->v[m->n];
	struct hostpath     h = { .fd = -1 };

	*en = (struct mount_entry){ .fd = -1, .tree = -1, .read_only = !ask->writable };
	snprintf(en->field, sizeof(en->field), "%s", ask->field);
	if (!path_normal(at, en->at))
		return err_set(
		    e, E_INVALID, "%s: '%s' is no place to mount it", ask->field, log_escape(at, strlen(at)));
	if ((digits != NULL ? artifact_open(&h, ask, digits, s->artifacts, e) : hostpath_open(&h, ask, s, e)) == -1)
		return -1;
	en->fd = h.fd;
	en->is_file = !S_ISDIR(h.st.st_mode);
	en->real = strdup(h.real);
	m->n++;
	if (en->real == NULL)
		return err_set(e, E_SYS, "no memory for a mount");
	return s->uid_count > 1 ? detach(m, en, &h, ask, s->uid_base, e) : 0;
}

static int
add_workspace(struct mounts *m, const struct msg_worker_start *s, struct err *e)
{
	const struct msg_spec *spec = &s->spec;
	bool                   rw = spec->host_path_mode == MOUNT_RW;
	struct hostpath_ask ask = { "spec.host_path", spec->host_path, rw, rw, true, &spec->roots, FIELD_HOST_PATH, 0 };

	if (mounts_private(spec))
		return 0;
	if (entry_add(m, &ask, NULL, mounts_workdir(spec), s, e) == -1)
		return -1;
	m->workspace = fcntl(m->v[m->n - 1].fd, F_DUPFD_CLOEXEC, 0);
	return m->workspace == -1 ? err_sys(e, "keep the workspace's directory") : 0;
}

/* The same mount named twice is one. */
static bool
is_placed(const struct mounts *m, const char *at)
{
	char normal[LIM_PATH + 1];

	for (size_t i = 0; i < m->n; i++)
		if (path_normal(at, normal) && strcmp(m->v[i].at, normal) == 0)
			return true;
	return false;
}

/* What can be written counts against the quota, if one was asked for. */
static int
keep_extra(struct mounts *m, int fd, const struct msg_spec *spec, struct err *e)
{
	if (spec->workspace_quota_mb == 0)
		return 0;
	if (m->nextra == LIM_MOUNTS)
		return err_set(
		    e, E_CAPACITY, "more than %d writable mounts count against workspace_quota_mb", LIM_MOUNTS);
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (kept == -1)
		return err_sys(e, "keep an extra mount's directory");
	m->extra[m->nextra++] = kept;
	return 0;
}

static int
add_extra(struct mounts *m, const struct msg_worker_start *s, struct err *e)
{
	for (size_t i = 0; i < s->spec.extra_mounts.n; i++) {
		const struct msg_mount *x = &s->spec.extra_mounts.v[i];
		char                    field[64];
		bool                    rw = x->mode == MOUNT_RW;
		struct hostpath_ask     ask = { field, x->host_path, rw, false, false, NULL, FIELD_EXTRA_MOUNTS, i };

		snprintf(
		    field, sizeof(field), "%s.extra_mounts.%zu.host_path", s->work == WORK_MOUNT ? "exec" : "spec", i);
		if (x->mode == MOUNT_NONE || is_placed(m, x->mount_path))
			continue;
		if (entry_add(m, &ask, digest_of(x), x->mount_path, s, e) == -1 ||
		    (rw && keep_extra(m, m->v[m->n - 1].fd, &s->spec, e) == -1))
			return -1;
	}
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	return strcmp(((const struct mount_entry *)a)->at, ((const struct mount_entry *)b)->at);
}

int
mounts_prepare(struct mounts *m, const struct msg_worker_start *s, struct err *e)
{
	if (mounts_private(&s->spec) && s->spec.extra_mounts.n == 0)
		return 0;
	m->v = calloc(s->spec.extra_mounts.n + 1, sizeof(*m->v));
	if (m->v == NULL)
		return err_set(e, E_SYS, "no memory for mounts");
	if (add_workspace(m, s, e) == -1 || add_extra(m, s, e) == -1)
		return -1;
	qsort(m->v, m->n, sizeof(*m->v), by_place); /* a directory comes before what is below it */
	return 0;
}

int
mounts_sources(const struct mounts *m, char *line, size_t size, struct err *e)
{
	size_t at = (size_t)snprintf(line, size, "%zu", m->n);

	for (size_t i = 0; i < m->n; i++) {
		struct statx   st;
		struct statvfs fs;

		if (statx(m->v[i].fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) == -1 ||
		    fstatvfs(m->v[i].fd, &fs) == -1)
			return err_sys(e, "look at %s", m->v[i].real);
		at += (size_t)snprintf(line + at, size - at, " %x:%x:%llx:%llx:%lx", st.stx_dev_major, st.stx_dev_minor,
		    (unsigned long long)st.stx_ino, (unsigned long long)st.stx_mnt_id, fs.f_flag);
		if (at >= size)
			return err_set(e, E_SYS, "the description of %zu mounts is too long", m->n);
	}
	return 0;
}

static int
reopen_extra(struct mounts *m, const char *path, const struct msg_worker_start *s, struct err *e)
{
	struct hostpath_ask ask = { "extra_mounts", path, true, false, false, NULL, FIELD_EXTRA_MOUNTS, 0 };
	struct hostpath     h;
	struct stat         st;

	if (hostpath_open(&h, &ask, s, e) == -1)
		return lstat(path, &st) == -1 && errno == ENOENT ? 0 : -1; /* removed: it cannot grow */
	AUTO_FD int fd = h.fd;
	return keep_extra(m, fd, &s->spec, e);
}

int
mounts_reopen(struct mounts *m, const struct msg_worker_start *s, struct err *e)
{
	struct hostpath_ask ask = { "spec.host_path", s->spec.host_path, s->spec.host_path_mode == MOUNT_RW, false,
		true, &s->spec.roots, FIELD_HOST_PATH, 0 };
	struct hostpath     h;

	for (size_t i = 0; i < s->counted.n; i++)
		if (reopen_extra(m, s->counted.v[i], s, e) == -1)
			return -1;
	if (mounts_private(&s->spec))
		return 0;
	if (hostpath_open(&h, &ask, s, e) == -1)
		return -1;
	m->workspace = h.fd;
	return 0;
}

/* ---- in the child --------------------------------------------------------------------- */

/* The inode that was checked, as our own mount namespace has it. */
static int
open_again(const struct mount_entry *en, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	AUTO_FD int     fd = (int)syscall(SYS_openat2, AT_FDCWD, en->real, &how, sizeof(how));
	struct stat     checked, found;

	if (fd == -1 || fstat(fd, &found) == -1 || fstat(en->fd, &checked) == -1)
		return err_sys(e, "open %s again", en->real);
	if (found.st_dev != checked.st_dev || found.st_ino != checked.st_ino)
		return err_set(e, E_INVALID, "%s was replaced while the sandbox was built", en->real);
	return fd_take(&fd);
}

int
mounts_detach(struct mounts *m, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		struct mount_entry *en = &m->v[i];

		if (en->tree >= 0)
			continue;
		AUTO_FD int fd = open_again(en, e);
		if (fd == -1)
			return -1;
		if ((en->tree = tree_copy(fd, "", true, attributes(en))) == -1)
			return err_sys(e, "mount %s", en->real);
	}
	return 0;
}

/* Commands write beneath what was writable when their sandbox was built, and landlock lets them nowhere else. */
static int
check_writable(const struct mount_entry *en, int at, struct err *e)
{
	struct statvfs fs;

	if (fstatvfs(at, &fs) == -1)
		return err_sys(e, "what is at %s", en->at);
	if (!(fs.f_flag & ST_RDONLY) && !en->sealed)
		return 0;
	return err_set(e, E_INVALID,
	    "%s: nothing can be written at %s, which is not below a place that was writable when the sandbox was "
	    "built; "
	    "mount %s read-only, or below the workspace, or name it when the session is made",
	    en->field, en->at, en->real);
}

/* How many of its parts are there already; UINT_MAX: all. */
static unsigned
depth_there(const char *at)
{
	char        path[LIM_PATH + 2];
	struct stat st;
	unsigned    n = 0;

	for (const char *end = at; *end != '\0'; n++) {
		end += 1 + strcspn(end + 1, "/");
		snprintf(path, sizeof(path), ".%.*s", (int)(end - at), at);
		if (lstat(path, &st) == -1)
			return n;
	}
	return UINT_MAX;
}

/*
 * A shadow shows copies of what is mounted below it, so the one nearest to the root comes first, and all of them before
 * anything is mounted in them.
 */
static int
make_places(const struct mounts *m, struct err *e)
{
	for (size_t turn = 0; turn < m->n; turn++) {
		const struct mount_entry *next = NULL;
		unsigned                  least = UINT_MAX;

		for (size_t i = 0; i < m->n; i++) {
			unsigned depth = depth_there(m->v[i].at);

			if (depth < least) {
				least = depth;
				next = &m->v[i];
			}
		}
		if (next == NULL)
			break;
		AUTO_FD int at = place_make_for_client(next->at, next->is_file, true, e);
		if (at == -1)
			return -1;
	}
	return 0;
}

int
mounts_put(struct mounts *m, bool living, struct err *e)
{
	if (living && m->n > 1 && make_places(m, e) == -1)
		return -1;
	for (size_t i = 0; i < m->n; i++) {
		AUTO_FD int at = place_make_for_client(m->v[i].at, m->v[i].is_file, living, e);

		if (at == -1)
			return -1;
		m->v[i].sealed = living && shadow_has(at);
		if (living && !m->v[i].read_only && check_writable(&m->v[i], at, e) == -1)
			return -1;
		if (sys_move_mount(m->v[i].tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)
			return err_sys(e, "mount %s on %s", m->v[i].real, m->v[i].at);
	}
	for (size_t i = 0; i < m->n; i++)
		if (place_check(m->v[i].at, m->v[i].tree, e) == -1)
			return -1;
	return 0;
}
bool
mounts_are_sealed(const struct mounts *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (!m->v[i].sealed)
			return false;
	return true;
}
