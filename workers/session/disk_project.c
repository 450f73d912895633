/*
 * Project quota, as ext4 and XFS have it: a number on every file of a tree, inherited by
 * what is made in it, and limits for that number.  A sandbox cannot change the number: the
 * kernel takes it from the initial user namespace only.
 *
 * A directory that has a number already keeps it: whoever gave it one has a plan.  Any
 * other gets one of ours, with all that is in it.
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

#include "bounds.h"
#include "disk_proof.h"
#include "fd.h"
#include "scan.h"

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
		.dqb_ihardlimit = limit->entries,
		.dqb_valid = QIF_LIMITS,
	};

	if (syscall(SYS_quotactl_fd, dir, OF_PROJECT(Q_SETQUOTA), project, &q) == -1)
		return err_sys(e, "set a project quota");
	return 0;
}

/* Ours are far from those a person would write into /etc/projid.  One that counts files already is somebody's. */
static int
find_free(int dir, uint32_t *project, struct err *e)
{
	struct stat  st;
	struct dqblk q;

	if (fstat(dir, &st) == -1)
		return err_sys(e, "look at the workspace");
	for (uint32_t i = 0; i < TRIES; i++) {
		*project = 0x42000000U | (((uint32_t)st.st_ino + i * 7919U) & 0xffffffU);
		if ((quota_get(dir, *project, &q) == -1 && errno == ENOENT) ||
		    (q.dqb_curinodes == 0 && q.dqb_curspace == 0))
			return 0;
	}
	return err_set(e, E_BACKEND, "no free project id");
}

/* ---- the number on every file ------------------------------------------------------- */

static int
mark(int fd, uint32_t project, bool is_dir)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) == -1)
		return -1;
	x.fsx_projid = project;
	if (is_dir)
		x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x);
}

struct marking {
	uint32_t project;
	uint64_t left;
	int      depth;
};

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
		return err_set(e, E_BACKEND, "more files in it than may be, to give them a project id");
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	AUTO_FD int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	if (fd == -1)
		return errno == ENOENT || errno == EXDEV || errno == ELOOP
			   ? 0
			   : err_sys(e, "open a file to give it a project id");
	if (mark(fd, m->project, S_ISDIR(st.st_mode)) == -1)
		return err_sys(e, "give a file a project id");
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

/* The directory itself comes last: once it has its number, all below it has. */
static int
mark_tree(int dir, uint32_t project, uint64_t entries, struct err *e)
{
	struct marking m = { project, entries, 0 };

	if (mark_below(dir, &m, e) == -1)
		return -1;
	return mark(dir, project, true) == -1 ? err_sys(e, "give the workspace a project id") : 0;
}

int
project_limit(int dir, const struct disk_limit *limit, struct err *e)
{
	struct fsxattr x;
	struct dqblk   q;
	uint32_t       project;

	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) == -1)
		return err_sys(e, "the file system has no project ids");
	project = x.fsx_projid;
	if (quota_get(dir, project, &q) == -1 && errno != ENOENT)
		return err_sys(e, "the file system keeps no project quota");
	if (project == 0 && (find_free(dir, &project, e) == -1 || mark_tree(dir, project, limit->entries, e) == -1))
		return -1;
	if (!(x.fsx_xflags & FS_XFLAG_PROJINHERIT) && mark(dir, project, true) == -1)
		return err_sys(e, "have project ids inherited");
	return quota_set(dir, project, limit, e);
}
