#include "sandbox/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/sys.h"
#include "disk/scan.h"

int
procfs_open(int dir, const char *path, struct err *e)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	AUTO_FD int     fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	if (fd == -1)
		return err_sys(e, "open the sandbox's /%s", path);
	if (!proc_is_genuine(fd))
		return err_set(e, E_BACKEND, "/%s of the sandbox is not a proc file system", path);
	return fd_take(&fd);
}

int
procfs_mount(int fd, uint64_t *id)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == -1)
		return -1;
	errno = EOPNOTSUPP; /* without this check all mounts would look like one */
	if (!(st.stx_mask & STATX_MNT_ID))
		return -1;
	*id = st.stx_mnt_id;
	return 0;
}
