/*
 * Project quota, as ext4 and XFS have it: a number on every file of a tree, inherited by
 * what is made in it, and limits for that number.  A sandbox cannot change the number: the
 * kernel takes it from the initial user namespace only.
 *
 * A directory without a number gets one of ours, with all that is in it.  A number that we
 * did not give is an operator's: it and its limits are left alone, on the directory and
 * on all below it.  So is a limit that we did not set, whatever it is for.  What is ours is
 * known by this:
 *
 *	a number	follows from the inode number of the directory; below a directory of
 *			ours, another directory's does not
 *	a limit		soft and hard are equal, which nobody else has a use for
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "disk/disk_proof.h"
#include "disk/scan.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

/* libc's QCMD shifts a sign bit. */
#define OF_PROJECT(command) ((uint32_t)(command) << SUBCMDSHIFT | PRJQUOTA)

enum { TRIES = 64, QUOTA_BLOCK = 1024 };

static int
quota_get(int dir, uint32_t project, struct dqblk *q)
{
	memset(q, 0, sizeof(*q));
	return (int)syscall(SYS_quotactl_fd, dir, OF_PROJECT(Q_GETQUOTA), project, q);
}

static int
quota_set(int dir, uint32_t project, const struct disk_limit *limit, struct err *e)
{
	struct dqblk q = {
		.dqb_bhardlimit = limit->bytes / QUOTA_BLOCK,
		.dqb_bsoftlimit = limit->bytes / QUOTA_BLOCK,
		.dqb_ihardlimit = limit->entries,
		.dqb_isoftlimit = limit->entries,
		.dqb_valid = QIF_LIMITS,
	};

	if (syscall(SYS_quotactl_fd, dir, OF_PROJECT(Q_SETQUOTA), project, &q) == -1)
		return err_sys(e, "set a project quota");
	return 0;
}

/* None is nobody's. */
static bool
limit_is_ours(const struct dqblk *q)
{
	return q->dqb_bsoftlimit == q->dqb_bhardlimit && q->dqb_isoftlimit == q->dqb_ihardlimit;
}

/* Ours are far from those a person would write into /etc/projid. */
static uint32_t
number_for(const struct stat *st, uint32_t try)
{
	return 0x42000000U | (((uint32_t)st->st_ino + try * 7919U) & 0xffffffU);
}

static bool
number_is_ours(const struct stat *st, uint32_t project)
{
	for (uint32_t i = 0; i < TRIES; i++)
		if (number_for(st, i) == project)
			return true;
	return false;
}

/* One that counts files already is somebody's.  A limit of ours may be that of a directory that is gone. */
static int
find_free(int dir, const struct stat *st, uint32_t *project, struct err *e)
{
	struct dqblk q;

	for (uint32_t i = 0; i < TRIES; i++) {
		*project = number_for(st, i);
		if ((quota_get(dir, *project, &q) == -1 && errno == ENOENT) ||
		    (q.dqb_curinodes == 0 && q.dqb_curspace == 0 && limit_is_ours(&q)))
			return 0;
	}
	return err_set(e, E_BACKEND, "no free project id");
}

/* ---- the number on every file ------------------------------------------------------- */

struct marking {
	uint32_t           project;
	const struct stat *root; /* whose project it is */
	bool               only_look;
	uint64_t           most, left;
	int                depth;
};

static int
mark(int fd, const struct marking *m, bool is_dir, struct err *e)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) == -1)
		return err_sys(e, "read the project id of a file");
	if (x.fsx_projid != 0 && !number_is_ours(m->root, x.fsx_projid))
		return err_set(e, E_BACKEND, "a file in it has project id %u, which is not its own", x.fsx_projid);
	if (m->only_look)
		return 0;
	x.fsx_projid = m->project;
	if (is_dir)
		x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x) == -1 ? err_sys(e, "give a file a project id") : 0;
}

static int mark_below(int dir, struct marking *, struct err *);

/* Symbolic links and the like cannot be opened and take no blocks to speak of. */
static int
mark_entry(int dir, const char *name, struct marking *m, struct err *e)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	struct stat st;

	if (m->left-- == 0)
		return err_set(e, E_BACKEND, "it holds too many files to assign a project id to each");
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	AUTO_FD int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	if (fd == -1)
		return errno == ENOENT || errno == EXDEV || errno == ELOOP
			   ? 0
			   : err_sys(e, "open a file to give it a project id");
	if (mark(fd, m, S_ISDIR(st.st_mode), e) == -1)
		return -1;
	return S_ISDIR(st.st_mode) ? mark_below(fd, m, e) : 0;
}

static int
mark_below(int dir, struct marking *m, struct err *e)
{
	struct names names;
	struct name  n;
	int          fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd == -1)
		return err_sys(e, "open a directory to give it a project id");
	if (++m->depth > LIM_SCAN_DEPTH)
		r = err_set(e, E_BACKEND, "directories too deep to give them a project id");
	names_open(&names, fd);
	while (r == 0 && names_next(&names, &n) == 1)
		r = mark_entry(fd, n.name, m, e);
	names_close(&names);
	m->depth--;
	return r;
}

/*
 * All is looked at before anything is changed.  The directory itself comes last: once it has its number,
 * all below it has.
 */
static int
mark_tree(int dir, struct marking *m, struct err *e)
{
	for (int pass = 0; pass < 2; pass++) {
		m->only_look = pass == 0;
		m->left = m->most;
		if (mark_below(dir, m, e) == -1)
			return -1;
	}
	return mark(dir, m, true, e);
}

/* It has a number: is that ours, and its limit too? */
static int
check_ours(uint32_t project, const struct stat *st, const struct dqblk *q, struct err *e)
{
	if (!number_is_ours(st, project))
		return err_set(
		    e, E_BACKEND, "it has project id %u, which is another directory's or an operator's", project);
	if (!limit_is_ours(q))
		return err_set(e, E_BACKEND, "its project has a limit that boxd did not set, which stays");
	return 0;
}

int
project_limit(int dir, const struct disk_limit *limit, struct err *e)
{
	struct fsxattr x;
	struct dqblk   q;
	struct stat    st;

	if (fstat(dir, &st) == -1 || ioctl(dir, FS_IOC_FSGETXATTR, &x) == -1)
		return err_sys(e, "the file system has no project ids");
	if (quota_get(dir, x.fsx_projid, &q) == -1 && errno != ENOENT)
		return err_sys(e, "the file system keeps no project quota");
	struct marking m = { .project = x.fsx_projid, .root = &st, .most = limit->entries };
	if (m.project == 0) {
		if (find_free(dir, &st, &m.project, e) == -1 || mark_tree(dir, &m, e) == -1)
			return -1;
	} else if (check_ours(m.project, &st, &q, e) == -1)
		return -1;
	if (!(x.fsx_xflags & FS_XFLAG_PROJINHERIT) && mark(dir, &m, true, e) == -1)
		return -1;
	return quota_set(dir, m.project, limit, e);
}
