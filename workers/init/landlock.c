/*
 * Writing is allowed beneath the mounts that are writable now, and to the devices in
 * /dev; nowhere else, whatever becomes of the mounts later.  A domain also cannot change
 * mounts at all, not even with a capability, and cannot trace, signal or reach by an
 * abstract socket anybody outside of itself.  Reading and executing are left to the
 * mounts and the file modes: everything in the root is meant to be read.
 *
 * /proc is not among the places, and is mounted read-only anyway.  Init has the uid of
 * the commands, so its own files there would be theirs to write; what commands lose by
 * it (oom_score_adj, names of other threads) they can do without, or do by prctl.
 *
 * A writable root covers everything beneath it, /proc too: then only that mount, the
 * domain's own walls, and that device nodes are made nowhere, are left.
 */
#include "landlock.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/landlock.h"

enum {
	ON_FILES = LL_WRITE_FILE | LL_TRUNCATE |
		   LL_IOCTL_DEV, /* all that the kernel takes for one that is no directory */
	BENEATH = ON_FILES | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | LL_MAKE_FIFO |
		  LL_MAKE_SYM | LL_REFER,
	HANDLED = BENEATH | LL_MAKE_CHAR | LL_MAKE_BLOCK, /* which are never given back */
};

/* ---- the writable mounts ------------------------------------------------------------- */

struct mount {
	unsigned id;
	char    *at;
	bool     writable;
	bool     proc;
};

/* Blanks and the like are written as \ooo; in place. */
static void
unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[3] >= '0') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else
			*to++ = *s++;
	}
	*to = '\0';
}

static bool
is_readonly(const char *options)
{
	return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

/* ID PARENT MAJOR:MINOR ROOT AT OPTIONS [FIELD...] - TYPE SOURCE OPTIONS; of the file system and of the mount. */
static bool
mount_parse(char *line, struct mount *m)
{
	char *fields[6], *rest = line, *behind = strstr(line, " - ");

	for (size_t i = 0; i < 6; i++)
		if ((fields[i] = strsep(&rest, " ")) == NULL)
			return false;
	if (behind == NULL)
		return false;
	behind += 3;
	char *type = strsep(&behind, " ");
	strsep(&behind, " ");
	if (behind == NULL)
		return false;
	m->id = (unsigned)strtoul(fields[0], NULL, 10);
	m->at = fields[4];
	m->writable = !is_readonly(fields[5]) && !is_readonly(behind);
	m->proc = strcmp(type, "proc") == 0;
	unescape(m->at);
	return true;
}

/* Only what commands would find there: not what lies under another mount, and not what cannot be reached. */
static int
allow_mount(const struct landlock_rules *s, const struct mount *m, struct err *e)
{
	AUTO_FD int  place = open(m->at, O_PATH | O_CLOEXEC);
	struct statx st;

	if (place == -1 || statx(place, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &st) == -1)
		return 0;
	if (st.stx_mnt_id != m->id)
		return 0;
	return landlock_rules_allow(s, place, S_ISDIR(st.stx_mode) ? BENEATH : ON_FILES, m->at, e);
}

static int
allow_mounts(const struct landlock_rules *s, struct err *e)
{
	FILE  *f = fopen("/proc/self/mountinfo", "re");
	char  *line = NULL;
	size_t size = 0;
	int    r = 0;

	if (f == NULL)
		return err_sys(e, "open /proc/self/mountinfo");
	while (r == 0 && getline(&line, &size, f) != -1) {
		struct mount m;

		line[strcspn(line, "\n")] = '\0';
		if (mount_parse(line, &m) && m.writable && !m.proc)
			r = allow_mount(s, &m, e);
	}
	free(line);
	fclose(f);
	return r;
}

/*
 * Message queues are files of a file system that needs no mount to be used, and so is
 * not in the list.  It is mounted nowhere for a moment, to name its root; a kernel
 * without it has no queues.
 */
static int
allow_queues(const struct landlock_rules *s, struct err *e)
{
	AUTO_FD int fs = (int)syscall(SYS_fsopen, "mqueue", FSOPEN_CLOEXEC);

	if (fs == -1 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1)
		return 0;
	AUTO_FD int root = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return root == -1 ? 0 : landlock_rules_allow(s, root, BENEATH, "message queues", e);
}

/* ---- the whole -------------------------------------------------------------------------- */

static int
allow_places(const struct landlock_rules *s, int slots, struct err *e)
{
	AUTO_FD int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dev != -1 && landlock_rules_allow(s, dev, ON_FILES, "/dev", e) == -1)
		return -1;
	/* to kill a command's cgroup; commands have no way to it */
	if (slots > 0 && landlock_rules_allow(s, slots, LL_WRITE_FILE, "the commands' cgroups", e) == -1)
		return -1;
	return allow_queues(s, e) == -1 ? -1 : allow_mounts(s, e);
}

int
landlock_confine(int slots, struct err *e)
{
	struct landlock_rules s;
	int                   r = landlock_rules_open(&s, HANDLED, 0, e);

	if (r == 1)
		return 0;
	if (r == 0)
		r = allow_places(&s, slots, e);
	if (r == 0)
		r = landlock_rules_restrict(&s, e);
	landlock_rules_close(&s);
	return r;
}
