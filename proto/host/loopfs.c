#include "host/loopfs.h"

#include <errno.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"

enum { TRIES = 64 }; /* between asking for a free loop device and taking it others may take it */

/* ---- programs ---- */

static const char *
find_mkfs(void)
{
	static const char *const places[] = { "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* Its standard error becomes the reason. */
int
tool_run(const char *program, char *const argv[], struct err *e)
{
	static char *const         env[] = { "MKE2FS_CONFIG=/dev/null", "LC_ALL=C", NULL };
	posix_spawn_file_actions_t io;
	char                       said[256] = "";
	int                        ends[2], status = -1;
	pid_t                      pid;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(e, "pipe");
	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_addopen(&io, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&io, 0, 1);
	posix_spawn_file_actions_adddup2(&io, ends[1], 2);
	posix_spawn_file_actions_addclosefrom_np(&io, 3);
	int r = posix_spawn(&pid, program, &io, NULL, argv, env);
	posix_spawn_file_actions_destroy(&io);
	close(ends[1]);
	for (ssize_t got = 0, n = 1; r == 0 && n > 0 && got<(ssize_t)sizeof(said) - 1; got += n> 0 ? n : 0)
		n = read(ends[0], said + got, sizeof(said) - 1 - (size_t)got);
	close(ends[0]); /* should it have more to say, it ends by SIGPIPE */
	if (r != 0) {
		errno = r;
		return err_sys(e, "start %s", program);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (status == 0)
		return 0;
	said[strcspn(said, "\n")] = '\0';
	return err_set(e, E_BACKEND, "%s failed: %s", program, *said ? said : "it said nothing");
}

int
loopfs_mkfs(char *const argv[], struct err *e)
{
	const char *program = find_mkfs();

	if (program == NULL)
		return err_set(e, E_BACKEND, "mkfs.ext4 is not installed (package e2fsprogs)");
	return tool_run(program, argv, e);
}

/* ---- the loop device and the mount ---- */

static int
loop_take(int control, int image, char device[32], struct err *e)
{
	int n = ioctl(control, LOOP_CTL_GET_FREE);

	if (n == -1)
		return err_sys(e, "no free loop device: LOOP_CTL_GET_FREE");
	snprintf(device, 32, "/dev/loop%d", n);
	AUTO_FD int loop = open(device, O_RDWR | O_CLOEXEC);
	if (loop == -1 && errno == ENOENT)
		return err_set(
		    e, E_BACKEND, "there is no %s: in a container, give it the loop devices of the host", device);
	if (loop == -1)
		return err_sys(e, "open %s", device);
	struct loop_config config = {
		.fd = (uint32_t)image,
		.block_size = LOOPFS_BLOCK,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR },
	};
	if (ioctl(loop, LOOP_CONFIGURE, &config) == -1)
		return err_sys(e, "LOOP_CONFIGURE of %s", device);
	return fd_take(&loop);
}

int
loopfs_attach(int image, char device[32], struct err *e)
{
	AUTO_FD int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int         loop = -1;

	if (control == -1)
		return err_sys(e, "no loop devices: /dev/loop-control");
	for (int i = 0; i < TRIES && loop == -1; i++) {
		errno = 0;
		loop = loop_take(control, image, device, e);
		if (loop == -1 && errno != EBUSY)
			break;
	}
	return loop;
}

int
loopfs_mount(const char *device, struct err *e)
{
	AUTO_FD int fs = sys_fsopen("ext4");

	if (fs == -1)
		return err_sys(e, "this kernel has no ext4");
	/* noinit_itable: writing zeros over the inode tables would only fill the sparse image */
	if (sys_fsconfig_set(fs, "source", device) == -1 || sys_fsconfig_flag(fs, "noinit_itable") == -1 ||
	    sys_fsconfig_create(fs) == -1)
		return err_sys(e, "mount ext4 of %s", device);
	int tree = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree == -1 ? err_sys(e, "mount ext4 of %s", device) : tree;
}
