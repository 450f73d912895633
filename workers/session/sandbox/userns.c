/* Who root inside is outside. */
#include <grp.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "base/sys.h"
#include "sandbox/ids.h"
#include "sandbox/sandbox.h"

static int
write_proc(pid_t pid, const char *file, const char *text, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		return err_sys(e, "write '%s' to %s", text, path);
	return 0;
}

int
userns_map(pid_t child, const struct sandbox_plan *p, struct err *e)
{
	char uids[64], gids[64];

	if (p->uid_count > 1) {
		snprintf(uids, sizeof(uids), "0 %u %u", p->uid_base, ids_mapped(p->uid_count));
		if (write_proc(child, "gid_map", uids, e) == -1)
			return -1;
		return write_proc(child, "uid_map", uids, e);
	}
	/* an ordinary user may map itself only, and must give up setgroups for its gid */
	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (write_proc(child, "setgroups", "deny", e) == -1 || write_proc(child, "gid_map", gids, e) == -1)
		return -1;
	return write_proc(child, "uid_map", uids, e);
}

/*
 * The kernel charges what a sandbox uses of per-user quotas (inotify, pending signals,
 * message queues, locked memory) to the owner of its user namespace as well.  Were that
 * root, one sandbox could use up the host's.  So it is made by the uid that root inside
 * is, without giving up the rights that making it needs.  And by its gid: the child in between
 * writes cgroup.procs by it, see sandbox.c.
 */
int
userns_owner(const struct sandbox_plan *p, uid_t owner, struct err *e)
{
	if (p->uid_count == 1)
		return 0;
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == -1 ||
	    setresgid((gid_t)-1, owner, (gid_t)-1) == -1 || setresuid((uid_t)-1, owner, (uid_t)-1) == -1)
		return err_sys(e, "become uid %u for a moment", owner);
	return 0;
}

/* From here on nothing of the daemon's own uid is left in the child. */
int
userns_become_root(const struct sandbox_plan *p, struct err *e)
{
	if (p->uid_count > 1 && setgroups(0, NULL) == -1)
		return err_sys(e, "setgroups inside");
	if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
		return err_sys(e, "become root inside");
	return 0;
}
