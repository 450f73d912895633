#include "sandbox/layers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "host/hostpath.h"
#include "sandbox/ids.h"
#include "sandbox/sandbox.h"
#include "sandbox/tree.h"

enum {
	POINTS_MB = 1, /* mount points alone: directories and empty files */
	POINTS = 1024, /* inodes for them: a few for each of 65 mounts */
	SEALED = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
};

/* ---- what is needed ------------------------------------------------------------------ */

/* Places of the skeleton that take a mount as they are, and those below which directories can be made. */
static const char *const ready_made[] = { DEFAULT_MOUNT_PATH, "/opt" };
static const char *const made_in[] = { "/tmp", "/home", "/root", "/var/tmp" };

static bool
is_ready_made(const char *at)
{
	for (size_t i = 0; i < sizeof(ready_made) / sizeof(*ready_made); i++)
		if (strcmp(at, ready_made[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(made_in) / sizeof(*made_in); i++)
		if (path_within(at, made_in[i]))
			return true;
	return false;
}

/* Below another mount the place is that mount's business. */
static bool
lacks_point(const struct mounts *m, const struct mount_entry *en, const char *workspace)
{
	if (is_ready_made(en->at) && !(en->is_file && strcmp(en->at, "/opt") == 0))
		return false;
	if (path_within(en->at, workspace) && strcmp(en->at, workspace) != 0)
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (&m->v[i] != en && path_within(en->at, m->v[i].at))
			return false;
	return true;
}

static bool
lacks_points(const struct msg_spec *s, const struct mounts *m)
{
	char workspace[LIM_PATH + 1] = DEFAULT_MOUNT_PATH;

	path_normal(mounts_workdir(s), workspace);
	if (!is_ready_made(workspace))
		return true;
	for (size_t i = 0; i < m->n; i++)
		if (lacks_point(m, &m->v[i], workspace))
			return true;
	return false;
}

/* ---- in the worker -------------------------------------------------------------------- */

static int
not_mappable(const struct layers *l, int dir, const char *path, const char *at, struct err *e)
{
	int         why = errno;
	char        fs[FS_NAME];
	AUTO_FD int fd = openat(dir, *path == '\0' ? "." : path, O_PATH | O_CLOEXEC);

	return err_set(e, E_BACKEND,
	    "%s%s is on %s, which cannot be id-mapped (%s), so it cannot be a layer of this root: "
	    "ext4, xfs, btrfs and tmpfs can",
	    l->image ? "spec.image: the image" : "spec.read_only_rootfs: ", l->image ? "" : at, hostpath_fs(fd, fs),
	    strerror(why));
}

static int
layer_add(struct layers *l, int ns, int dir, const char *path, const char *at, int map, struct err *e)
{
	AUTO_FD int tree = ns == -1 ? tree_copy(dir, path, false, SEALED) : tree_copy_from(ns, dir, path, SEALED);

	if (tree == -1)
		return err_sys(e, "clone %s for the root", at);
	if (tree_idmap(tree, map) == -1)
		return not_mappable(l, dir, path, at, e);
	l->v[l->n].path = at;
	l->v[l->n++].tree = fd_take(&tree);
	return 0;
}

/* What is a link on the host is one in the skeleton, and what is a file is copied by the child. */
static int
add_host_view(struct layers *l, int map, struct err *e)
{
	for (size_t i = 0; root_host_view[i] != NULL; i++) {
		struct stat st;

		if (lstat(root_host_view[i], &st) == -1 || !S_ISDIR(st.st_mode))
			continue;
		if (layer_add(l, -1, AT_FDCWD, root_host_view[i], root_host_view[i], map, e) == -1)
			return -1;
	}
	return 0;
}

static int
add_layers(struct layers *l, const struct msg_worker_start *s, struct err *e)
{
	struct idmap range = { .uid = 0, .gid = 0, .to = (uint32_t)s->uid_base, .count = ids_mapped(s->uid_count) };
	AUTO_FD int  map = idmap_open(&range);

	if (map == -1)
		return err_sys(e, "make an id map for the root");
	int r = l->image ? layer_add(l, -1, s->image, "", "/", map, e)
			 : layer_add(l, s->skeleton_ns, s->skeleton, "", "/", map, e);
	if (r == -1)
		return -1;
	return l->writable && !l->image ? add_host_view(l, map, e) : 0;
}

int
layers_prepare(struct layers *l, const struct msg_worker_start *s, const struct mounts *m, struct err *e)
{
	*l = (struct layers){ .writable = !s->spec.read_only_rootfs, .image = s->image >= 0 };
	l->used = l->writable || l->image || lacks_points(&s->spec, m) || s->net_mode == NET_MODE_SLIRP;
	l->mb = l->writable ? s->overlay_mb : POINTS_MB;
	l->inodes = l->writable ? s->inodes : POINTS;
	if (!l->used)
		return 0;
	if (s->uid_count > 1)
		return add_layers(l, s, e);
	if (l->writable && !l->image)
		return err_set(e, E_BACKEND,
		    "spec.read_only_rootfs: false needs a boxd that runs as root: to an ordinary user's sandbox the "
		    "host's files belong to nobody, and cannot be changed even in a copy; use an image, or the "
		    "workspace");
	return 0;
}

void
layers_clear(struct layers *l)
{
	for (size_t i = 0; i < l->n; i++)
		fd_close(&l->v[i].tree);
	l->n = 0;
}

/* ---- in the child ------------------------------------------------------------------------ */

/*
 * In a writable /usr root inside owns what root owns outside, to be able to change it;
 * so he can also read what only root may.  Settings with passwords are kept there.
 */
static int
hide_settings(size_t i, struct err *e)
{
	char        lower[32], upper[32];
	struct stat st;

	snprintf(lower, sizeof(lower), "lower%zu/local", i);
	snprintf(upper, sizeof(upper), "upper%zu/local", i);
	if (lstat(lower, &st) == -1 || !S_ISDIR(st.st_mode))
		return 0;
	if (mkdir(upper, 0755) == -1)
		return err_sys(e, "hide /usr/local/etc");
	strcat(upper, "/etc");
	if (mknod(upper, S_IFCHR, 0) == -1) /* what an overlay writes for a removed file */
		return err_sys(e, "hide /usr/local/etc");
	return 0;
}

static int
overlay(size_t i, int lower, const char *path, struct err *e)
{
	char dirs[3][16], options[128], at[PATH_MAX];

	for (int k = 0; k < 3; k++) {
		snprintf(dirs[k], sizeof(dirs[k]), "%s%zu", (const char *[]){ "lower", "upper", "work" }[k], i);
		if (mkdir(dirs[k], 0755) == -1)
			return err_sys(e, "make a layer");
	}
	if (tree_put(lower, dirs[0], e) == -1 || (strcmp(path, "/usr") == 0 && hide_settings(i, e) == -1))
		return -1;
	snprintf(at, sizeof(at), "root%s", path);
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s,userxattr", dirs[0], dirs[1], dirs[2]);
	if (mount("overlay", at, "overlay", MS_NOSUID | MS_NODEV, options) == -1)
		return err_sys(e, "mount an overlay on %s", at);
	return 0;
}

/* A file that is mounted cannot be replaced, and programs replace these: so a copy. */
static int
copy_file(const char *path, struct err *e)
{
	AUTO_FD int from = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FD int to = from == -1 ? -1 : open(path + 1, O_WRONLY | O_TRUNC | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	char        bytes[16384];
	ssize_t     n = 0;

	if (from == -1)
		return 0; /* the host has none */
	while (to >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return err_sys(e, "copy %s", path);
	return to == -1 || n == -1 ? err_sys(e, "copy %s", path) : 0;
}

static int
copy_files(struct err *e)
{
	struct stat st;

	for (size_t i = 0; root_host_view[i] != NULL; i++)
		if (lstat(root_host_view[i], &st) == 0 && S_ISREG(st.st_mode) && copy_file(root_host_view[i], e) == -1)
			return -1;
	return 0;
}

int
layers_build(const struct layers *l, int base, struct err *e)
{
	umask(022);
	if (mkdir("root", 0755) == -1 || mkdir("empty", 0555) == -1)
		return err_sys(e, "make a directory for the root");
	if (overlay(0, l->n > 0 ? l->v[0].tree : base, "/", e) == -1)
		return -1;
	for (size_t i = 1; i < l->n; i++)
		if (overlay(i, l->v[i].tree, l->v[i].path, e) == -1)
			return -1;
	if (chdir("root") == -1)
		return err_sys(e, "chdir to the new root");
	return l->writable && !l->image ? copy_files(e) : 0;
}

int
layers_seal(const struct layers *l, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (!l->used || l->writable)
		return 0;
	if (sys_mount_setattr(AT_FDCWD, ".", 0, &attr) == -1)
		return err_sys(e, "make the root read-only");
	return 0;
}
