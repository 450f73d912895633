/*
 * A volume comes into being in an order in which a crash at any point loses nothing:
 *	record      shows the next start that something was begun
 *	image       gets its name when its file system is whole, files that were taken in included
 *	aside       a directory that had files is renamed, never emptied; a crash before that is made up for by the next one
 *	mount
 * A record without an image is a volume that never was; it is made again, or forgotten by the next start.
 */
#include "volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/loopfs.h"
#include "image.h"

#define ASIDE ".before-volume-"

enum { TRIAL_INODES = 512 };

/* ---- mounting ---- */

/* Where files are that the volume would hide it is not mounted. */
static int
attach(const struct place *p, int tree, struct err *e)
{
	int empty = dir_is_empty(p->dir, e);

	if (empty == 0)
		return err_set(e, E_CONFLICT,
		    "%s has files, which a volume would hide: move them away, and into it when it is mounted", p->path);
	if (empty == -1)
		return -1;
	if (sys_move_mount(tree, "", p->dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)
		return err_sys(e, "mount at %s", p->path);
	return 0;
}

static int
image_open(int pool, const struct record *r, struct err *e)
{
	char name[64];

	record_image(r, name);
	int fd = openat(pool, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd == -1 ? err_sys(e, "open the image %s of %s", name, r->path) : fd;
}

static int
mount_here(int image, struct place *p, struct err *e)
{
	struct stat like = { .st_mode = 0755 };

	if (p->dir == -1 && fstat(p->parent, &like) == -1)
		return err_sys(e, "look at the parent of %s", p->path);
	if (p->dir == -1 && place_make(p, &like, e) == -1)
		return -1;
	int there = image_is_at(image, p->dir, p->path, e);
	if (there != 0)
		return there == 1 ? 0 : -1;
	AUTO_FD int tree = image_mount(image, e);
	if (tree == -1)
		return err_prefix(e, "%s (e2fsck may repair its image)", p->path);
	return attach(p, tree, e);
}

int
volume_mount(int pool, const struct record *r, struct err *e)
{
	struct place p;
	AUTO_FD int  image = image_open(pool, r, e);

	if (image == -1)
		return -1;
	int result = place_open(&p, r->path, true, e);
	if (result == 0)
		result = mount_here(image, &p, e);
	place_close(&p);
	return result;
}

/* By its name in its parent: through a descriptor of its own it would be in use. */
int
volume_unmount(struct place *p, bool lazy, struct err *e)
{
	fd_close(&p->dir);
	if (fchdir(p->parent) == -1)
		return err_sys(e, "go to the parent of %s", p->path);
	int r = umount2(place_name(p), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0));
	int failed = errno;
	if (chdir("/") == -1)
		return err_sys(e, "go to /");
	errno = failed;
	if (r == -1 && errno == EBUSY)
		return err_set(e, E_BUSY, "%s is in use: end the sessions and programs that are in it first", p->path);
	return r == -1 ? err_sys(e, "unmount %s", p->path) : 0;
}

/* ---- making ---- */

/* Its root is as the directory it covers. */
static int
settle(int tree, const struct stat *like, struct err *e)
{
	AUTO_FD int root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root == -1)
		return err_sys(e, "open the new volume");
	unlinkat(root, "lost+found", AT_REMOVEDIR);
	if (fchown(root, like->st_uid, like->st_gid) == -1 || fchmod(root, like->st_mode & 07777) == -1)
		return err_sys(e, "give the new volume to its owner");
	return 0;
}

/*
 * The same directory, mounted so that no symlink in it is followed.  Commands may work in it, and exchange a directory
 * that cp is about to enter for a symlink; cp has our rights, and would copy what is behind it.
 */
static int
without_links(int dir, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSYMFOLLOW, .propagation = MS_PRIVATE };
	AUTO_FD int       tree = sys_open_tree(dir, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (tree == -1 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) == -1)
		return err_sys(e, "mount it without its symlinks");
	return fd_take(&tree);
}

static int
copy_in(int dir, int tree, struct err *e)
{
	char        source[64], target[64];
	char       *argv[] = { "cp", "-a", "--", source, target, NULL };
	AUTO_FD int from = without_links(dir, e);

	if (from == -1)
		return -1;
	snprintf(source, sizeof(source), "/proc/%d/fd/%d/.", getpid(), from);
	snprintf(target, sizeof(target), "/proc/%d/fd/%d/", getpid(), tree);
	return tool_run(access("/usr/bin/cp", X_OK) == 0 ? "/usr/bin/cp" : "/bin/cp", argv, e);
}

/* A directory with files makes way for its volume, but stays beside it, under another name. */
static int
set_aside(struct place *p, int image, struct err *e)
{
	char        aside[LIM_NAME + 32];
	struct stat like;
	int         empty = dir_is_empty(p->dir, e), there = image_is_at(image, p->dir, p->path, e);

	if (empty == -1 || there == -1)
		return -1;
	if (empty == 1 || there == 1)
		return 0;
	if (fstat(p->dir, &like) == -1)
		return err_sys(e, "look at %s", p->path);
	snprintf(aside, sizeof(aside), ASIDE "%.255s", place_name(p));
	if (renameat2(p->parent, place_name(p), p->parent, aside, RENAME_NOREPLACE) == -1)
		return err_sys(e, "set %s aside as %s", p->path, aside);
	log_warn("volume of %s: the directory as it was, with its files, is %s beside it", p->path, aside);
	return place_make(p, &like, e);
}

static int
fill(const struct newfile *file, const struct place *p, bool full, const struct stat *like, struct err *e)
{
	AUTO_FD int tree = image_mount(file->fd, e);

	if (tree == -1 || settle(tree, like, e) == -1)
		return -1;
	if (full && copy_in(p->dir, tree, e) == -1)
		return err_prefix(e, "copy the files of %s into its volume", p->path);
	AUTO_FD int root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root == -1 || syncfs(root) == -1 ? err_sys(e, "write the volume of %s", p->path) : 0;
}

static int
make(int pool, struct place *p, const struct msg_pool_create *ask, const struct record *r, struct err *e)
{
	struct newfile file;
	struct stat    like;
	char           name[64];

	if (fstat(p->dir != -1 ? p->dir : p->parent, &like) == -1)
		return err_sys(e, "look at %s", p->path);
	if (p->dir == -1 && place_make(p, &like, e) == -1)
		return -1;
	int empty = dir_is_empty(p->dir, e);
	if (empty == -1 || image_is_at(-1, p->dir, p->path, e) == -1)
		return -1;
	if (!empty && !ask->take_in)
		return err_set(e, E_CONFLICT, "%s has files: --take-in copies them into the volume", p->path);
	if (record_write(pool, r, e) == -1 || image_make(pool, ask->size_mb, ask->inodes, &file, e) == -1)
		return -1;
	if (fill(&file, p, !empty, &like, e) == -1) {
		newfile_drop(&file);
		return -1;
	}
	record_image(r, name);
	if (fsync(file.fd) == -1 || newfile_commit(&file, name) == -1)
		return err_sys(e, "name the image of %s", p->path);
	return 0;
}

bool
volume_exists(int pool, const struct record *r)
{
	char        name[64];
	struct stat st;

	record_image(r, name);
	return fstatat(pool, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Also what an earlier box-pool did not come to the end of. */
static int
volume_finish(int pool, struct place *p, const struct msg_pool_create *ask, const struct record *r, struct err *e)
{
	AUTO_FD int image = image_open(pool, r, e);

	if (image == -1 || (ask->take_in && p->dir != -1 && set_aside(p, image, e) == -1))
		return -1;
	return mount_here(image, p, e);
}

int
volume_create(const char *pool_path, const struct msg_pool_create *ask, struct record *r, struct err *e)
{
	struct place p;
	struct err   ignored;

	if (geteuid() != 0)
		return err_set(
		    e, E_BACKEND, "volumes need a boxd that is root: nobody else can mount one for others to see");
	AUTO_FD int pool = pool_dir_open(pool_path, true, e);
	if (pool == -1)
		return -1;
	int result = place_open(&p, ask->path, true, e);
	record_name(r, p.path);
	if (result == 0 && (record_read(pool, r, e) != 0 || !volume_exists(pool, r))) {
		r->size_mb = ask->size_mb;
		result = make(pool, &p, ask, r, e);
		if (result == -1 && !volume_exists(pool, r))
			record_remove(pool, r, &ignored);
	}
	if (result == 0)
		result = volume_finish(pool, &p, ask, r, e);
	place_close(&p);
	return result;
}

int
volume_trial(int pool, struct place *p, struct err *e)
{
	struct newfile file;
	struct stat    like;

	if (fstat(p->dir, &like) == -1)
		return err_sys(e, "look at %s", p->path);
	if (image_make(pool, LIM_VOLUME_MB, TRIAL_INODES, &file, e) == -1)
		return -1;
	AUTO_FD int tree = image_mount(file.fd, e);
	int         r = tree == -1 || settle(tree, &like, e) == -1 || attach(p, tree, e) == -1 ? -1 : 0;
	newfile_drop(&file);
	return r;
}

/* ---- telling and removing ---- */

static void
tell_use(int dir, struct msg_pool_volume *v)
{
	struct statfs st;

	if (fstatfs(dir, &st) == -1)
		return;
	v->inodes = (uint64_t)st.f_files;
	v->used_inodes = (uint64_t)(st.f_files - st.f_ffree);
	v->free_bytes = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	v->used_bytes = (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
}

void
volume_tell(int pool, const char *pool_path, struct volume_text *t, struct msg_pool_volume *v)
{
	struct place p;
	char         name[64];
	AUTO_FD int  fd = image_open(pool, &t->record, &t->problem);

	msg_defaults(MSG_POOL_VOLUME, v);
	record_image(&t->record, name);
	snprintf(t->image, sizeof(t->image), "%.4000s/%s", pool_path, name);
	v->path = t->record.path;
	v->size_mb = t->record.size_mb;
	v->image = t->image;
	if (place_open(&p, v->path, false, &t->problem) == 0 && p.dir != -1 && fd != -1)
		v->mounted = image_is_at(fd, p.dir, v->path, &t->problem) == 1;
	if (v->mounted)
		tell_use(p.dir, v);
	else
		v->problem = *t->problem.text != '\0' ? t->problem.text : "not mounted";
	place_close(&p);
}

/* What is mounted there must be ours, and empty or not missed. */
static int
detach(int image, struct place *p, bool force, struct err *e)
{
	int there = p->dir == -1 ? 0 : image_is_at(image, p->dir, p->path, e);

	if (there != 1) {
		if (there == 0 && !force)
			return err_set(
			    e, E_STATE, "the volume of %s is not mounted: --force removes it with its files", p->path);
		return there;
	}
	int empty = dir_is_empty(p->dir, e);
	if (empty == 0 && !force)
		return err_set(e, E_CONFLICT, "the volume of %s has files: --force removes them", p->path);
	return empty == -1 ? -1 : volume_unmount(p, false, e);
}

int
volume_remove(int pool, const char *path, bool force, struct err *e)
{
	struct record r;
	struct place  p;
	int           result = place_open(&p, path, false, e);

	record_name(&r, p.path);
	if (result == 0 && (result = record_read(pool, &r, e)) == 1)
		result = err_set(e, E_NOTFOUND, "there is no volume of %s", p.path);
	AUTO_FD int image = result == 0 ? image_open(pool, &r, e) : -1;
	if (result == 0)
		result = image == -1 ? -1 : detach(image, &p, force, e);
	place_close(&p);
	return result == -1 ? -1 : record_remove(pool, &r, e);
}
