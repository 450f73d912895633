/*
 * A worker whose sandbox stands needs two rights only: to give a command's cgroup to
 * the sandbox's uid, and to kill init, which is of that uid too.
 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker.h"

int
caps_after_build(struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   data[2] = { 0 };

	if (geteuid() == 0)
		data[0].effective = data[0].permitted = 1U << CAP_CHOWN | 1U << CAP_KILL;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 || syscall(SYS_capset, &head, data) == -1)
		return err_sys(e, "give up capabilities");
	return 0;
}
