/*
 * Writing is allowed beneath the mounts that are writable now, and to the devices in
 * /dev; nowhere else, whatever becomes of the mounts later.  A domain also cannot change
 * mounts at all, not even with a capability, and cannot trace, signal or reach by an
 * abstract socket anybody outside of itself.  Reading and executing are left to the
 * mounts and the file modes: everything in the root is meant to be read.
 *
 * /proc is not among the places.  Init has the uid of the commands, so its own files
 * there would be theirs to write; what commands lose by it (oom_score_adj, names of
 * other threads) they can do without, or do by prctl.
 *
 * A writable root covers everything beneath it, /proc too: then only the domain's own
 * walls are left, and that device nodes are made nowhere.
 */
#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"

/* Debian 12's headers end at ABI 2. */
enum {
	CREATE_RULESET_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,

	WRITE_FILE = 1 << 1,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	MAKE_FIFO = 1 << 10,
	MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12,
	REFER = 1 << 13,     /* ABI 2 */
	TRUNCATE = 1 << 14,  /* 3 */
	IOCTL_DEV = 1 << 15, /* 5 */

	SCOPE_ABSTRACT_SOCKET = 1 << 0, /* 6 */
	SCOPE_SIGNAL = 1 << 1,
};

enum {
	ON_FILES = WRITE_FILE | TRUNCATE | IOCTL_DEV, /* all that the kernel takes for one that is no directory */
	BENEATH = ON_FILES | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER,
	HANDLED = BENEATH | MAKE_CHAR | MAKE_BLOCK, /* which are never given back */
};

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_beneath_attr {
	uint64_t allowed;
	int32_t  parent;
} __attribute__((packed));

struct ruleset {
	int      fd; /* owned */
	uint64_t handled;
};

static int
ruleset_open(struct ruleset *s, int abi, struct err *e)
{
	struct ruleset_attr attr = { .handled_fs = HANDLED };

	if (abi < 5)
		attr.handled_fs &= ~(uint64_t)IOCTL_DEV;
	if (abi < 3)
		attr.handled_fs &= ~(uint64_t)TRUNCATE;
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
	s->handled = attr.handled_fs;
	s->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return s->fd == -1 ? err_sys(e, "make a landlock ruleset") : 0;
}

static int
allow(const struct ruleset *s, int place, uint64_t what, const char *name, struct err *e)
{
	struct path_beneath_attr attr = { .allowed = what & s->handled, .parent = place };

	if (syscall(SYS_landlock_add_rule, s->fd, RULE_PATH_BENEATH, &attr, 0) == -1)
		return err_sys(e, "landlock rule for %s", name);
	return 0;
}

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
allow_mount(const struct ruleset *s, const struct mount *m, struct err *e)
{
	AUTO_FD int  place = open(m->at, O_PATH | O_CLOEXEC);
	struct statx st;

	if (place == -1 || statx(place, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &st) == -1)
		return 0;
	if (st.stx_mnt_id != m->id)
		return 0;
	return allow(s, place, S_ISDIR(st.stx_mode) ? BENEATH : ON_FILES, m->at, e);
}

static int
allow_mounts(const struct ruleset *s, struct err *e)
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
allow_queues(const struct ruleset *s, struct err *e)
{
	AUTO_FD int fs = (int)syscall(SYS_fsopen, "mqueue", FSOPEN_CLOEXEC);

	if (fs == -1 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1)
		return 0;
	AUTO_FD int root = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return root == -1 ? 0 : allow(s, root, BENEATH, "message queues", e);
}

/* ---- the whole -------------------------------------------------------------------------- */

static int
allow_places(const struct ruleset *s, int slots, struct err *e)
{
	AUTO_FD int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dev != -1 && allow(s, dev, ON_FILES, "/dev", e) == -1)
		return -1;
	/* to kill a command's cgroup; commands have no way to it */
	if (slots > 0 && allow(s, slots, WRITE_FILE, "the commands' cgroups", e) == -1)
		return -1;
	return allow_queues(s, e) == -1 ? -1 : allow_mounts(s, e);
}

int
landlock_confine(int slots, struct err *e)
{
	int            abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	struct ruleset s = { .fd = -1 };

	/* the first ABI lets nobody move a file to another directory */
	if (abi < 2)
		return 0;
	if (ruleset_open(&s, abi, e) == -1)
		return -1;
	int r = allow_places(&s, slots, e);
	if (r == 0 && syscall(SYS_landlock_restrict_self, s.fd, 0) == -1)
		r = err_sys(e, "landlock_restrict_self");
	close(s.fd);
	return r;
}
