#include "disk/disk_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* Who has CAP_SYS_RESOURCE is above disk quotas on ext4; no command is, so the proof must not be either. */
static int
with_quota(int on)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   data[2];

	if (syscall(SYS_capget, &head, data) == -1)
		return -1;
	if (on)
		data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	else
		data[0].effective |= data[0].permitted & 1U << CAP_SYS_RESOURCE;
	return (int)syscall(SYS_capset, &head, data);
}

/*
 * XFS says ENOSPC, which a full disk would say too.  But where it keeps a limit it shows
 * that as the size of the tree.
 */
static bool
shows_limit(int dir, uint64_t limit)
{
	struct statfs st;

	return fstatfs(dir, &st) == 0 && (uint64_t)st.f_blocks * (uint64_t)st.f_bsize <= limit;
}

/* Space is reserved before anything is written, so the refusal costs no I/O, and the file has no name. */
int
disk_prove(int dir, uint64_t limit, struct err *e)
{
	AUTO_FD int file = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (file == -1)
		return err_sys(e, "try the quota");
	if (with_quota(1) == -1)
		return err_sys(e, "try the quota");
	int refused = fallocate(file, 0, 0, (off_t)(limit + MIB)) == -1 ? errno : 0;
	with_quota(0);
	if (refused == EDQUOT || (refused == ENOSPC && shows_limit(dir, limit)))
		return 0;
	if (refused == 0)
		return err_set(e, E_BACKEND, "a quota was set, but the kernel did not refuse a write beyond it");
	errno = refused;
	return err_sys(e, "try the quota");
}
