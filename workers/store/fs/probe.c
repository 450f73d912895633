/*
 * Two arrangements can be proved without touching what others use:
 *
 *	a file system of its own, mounted at the skills root: it is filled to the end for a moment, with a file
 *	that has no name
 *	a quota on the directory (project quota, btrfs subvolume): something larger than it leaves, and far smaller
 *	than the disk has, is refused
 *
 * Where the skills share a file system and no quota refuses a write, nothing is bounded, however large the
 * disk: what one workspace uploads can fill it for all.
 */
#include "fs/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "zip/staging.h"

enum { FILES_MOST = 200000 }; /* that are made to see the next one refused: a few seconds */

#define QUOTA_MOST (1024UL * MIB) /* and bytes, where the file system is shared */

struct place {
	struct statfs here, above; /* the skills root, and the directory it is in */
	bool          own;         /* a file system that is mounted for it alone */
};

static int
look(const struct store *st, struct place *p, struct err *e)
{
	struct stat here, above, root;

	AUTO_FD int up = openat(st->skills, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up == -1 || fstat(st->skills, &here) == -1 || fstat(up, &above) == -1 || stat("/", &root) == -1 ||
	    fstatfs(st->skills, &p->here) == -1 || fstatfs(up, &p->above) == -1)
		return err_sys(e, "look at the file system of %s", st->paths.skills_root);
	/* a btrfs subvolume has a device number of its own, and shares the disk all the same */
	p->own = here.st_dev != above.st_dev && here.st_dev != root.st_dev && p->here.f_type != BTRFS_SUPER_MAGIC;
	return 0;
}

static uint64_t
bytes_left(const struct statfs *s)
{
	return (uint64_t)s->f_bavail * (uint64_t)s->f_bsize;
}

/* Space for so much, taken and given back.  0: there was; else the errno that refused it. */
static int
try_bytes(int dir, uint64_t n)
{
	AUTO_FD int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd == -1)
		return errno;
	return fallocate(fd, 0, 0, (off_t)n) == 0 ? 0 : errno;
}

static bool
refused(int code)
{
	return code == ENOSPC || code == EDQUOT;
}

/* A quota shows itself as a smaller file system than the one around it, or by its own error. */
static bool
is_quota(const struct place *p, int code)
{
	return code == EDQUOT || (code == ENOSPC && p->here.f_blocks < p->above.f_blocks);
}

static bool
bytes_bounded(const struct place *p, int dir, char *why)
{
	uint64_t share = bytes_left(&p->above) / 2;

	if (p->own) {
		int code = try_bytes(dir, ((uint64_t)p->here.f_blocks + 1) * (uint64_t)p->here.f_bsize);

		if (!refused(code))
			snprintf(why, LIM_TEXT + 1, "more than the whole file system was not refused: %s",
			    code == 0 ? "it was given" : strerror(code));
		return refused(code);
	}
	int code = try_bytes(dir, share < QUOTA_MOST ? share : QUOTA_MOST);
	if (!is_quota(p, code))
		snprintf(why, LIM_TEXT + 1,
		    "the skills root is not a file system of its own, and no quota refused %lu MiB there",
		    (share < QUOTA_MOST ? share : QUOTA_MOST) / MIB);
	return is_quota(p, code);
}

/* One more file than there may be: 0: they could all be made; else the errno that refused one. */
static int
try_files(int dir, uint64_t n)
{
	char name[32];

	for (uint64_t i = 0; i <= n; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd == -1)
			return errno;
	}
	return 0;
}

static bool
files_bounded(const struct place *p, int dir, char *why)
{
	uint64_t left = (uint64_t)p->here.f_ffree;

	if (p->here.f_files == 0 || (!p->own && p->here.f_files >= p->above.f_files)) {
		snprintf(why, LIM_TEXT + 1, "the number of files in the skills root has no limit");
		return false;
	}
	if (left > FILES_MOST) {
		snprintf(why, LIM_TEXT + 1, "%lu files are left in the skills root: more than %d are not tried", left,
		    FILES_MOST);
		return false;
	}
	int code = try_files(dir, left);
	if (!refused(code))
		snprintf(why, LIM_TEXT + 1, "more files than there may be were not refused: %s",
		    code == 0 ? "they could be made" : strerror(code));
	return refused(code);
}

int
probe(const struct store *st, struct msg_store_disk *out, char *why, struct err *e)
{
	struct staging s;
	struct place   p = { 0 };

	*why = '\0';
	msg_defaults(MSG_STORE_DISK, out);
	if (look(st, &p, e) == -1 || staging_open(&s, st->skills, e) == -1)
		return -1;
	out->hard_bytes = bytes_bounded(&p, s.dir, why);
	/* without the first the second is no wall either, and trying could hurt others */
	if (out->hard_bytes)
		out->hard_inodes = files_bounded(&p, s.dir, why);
	out->why = why;
	return staging_close(&s, e);
}

uint64_t
probe_mark(const struct store *st)
{
	struct statfs s;
	uint64_t      id;

	if (fstatfs(st->skills, &s) == -1)
		return 0;
	memcpy(&id, &s.f_fsid, sizeof(id));
	return id * 31 + (uint64_t)s.f_blocks * 7 + (uint64_t)s.f_files + 1;
}
