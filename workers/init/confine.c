/*
 * We arrive as uid 0 of a user namespace with every capability in it.  A
 * capability can come back by exec only through the bounding set, the ambient
 * set or the special treatment of uid 0; all three are closed and locked, so
 * that commands have none whatever they execute.
 *
 * Init keeps two for the newborn of a command that has mounts of its own: SYS_ADMIN and
 * SYS_CHROOT take it into the mount namespace that was made for it.  They are permitted,
 * and raised by that newborn alone (spawn.c).
 *
 * With marks it uses three: SYS_ADMIN makes the UTS namespaces, SYS_PTRACE reads whose
 * namespace a process is in even when it is not dumpable, KILL ends it whoever it is.
 *
 * Everything a command inherits unchanged (umask, rlimits, signal actions) is
 * set here once instead of in each newborn child.
 */
#include "confine.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rlimits.h"

static const uint32_t KEPT_FOR_MARKS = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_PTRACE | 1U << CAP_KILL;
static const uint32_t KEPT_FOR_MOUNTS = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_CHROOT;

static const unsigned long SECUREBITS = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
					SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
					SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

/* The kernel says EINVAL behind the last capability it knows. */
static int
drop_bounding_set(struct err *e)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			return err_sys(e, "drop capability %lu from the bounding set", cap);
	return 0;
}

static int
keep_caps(uint32_t used, uint32_t kept, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   data[_LINUX_CAPABILITY_U32S_3] = {
		  { .effective = used, .permitted = used | kept },
	};

	return syscall(SYS_capset, &head, data) == -1 ? err_sys(e, "capset") : 0;
}

static int
drop_privileges(bool marks, struct err *e)
{
	if (drop_bounding_set(e) == -1)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return err_sys(e, "clear the ambient capabilities");
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) == -1)
		return err_sys(e, "set securebits");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "set no_new_privs");
	return keep_caps(marks ? KEPT_FOR_MARKS : 0, KEPT_FOR_MOUNTS, e);
}

/*
 * Commands inherit actions; a signal that our starter ignored must not stay ignored in
 * them.  libc keeps two signals to itself and would not reset them: the kernel does.
 */
static void
default_signals(void)
{
	unsigned long default_action[4] = { 0 }; /* handler, flags, restorer, mask */
	sigset_t      all;

	for (int s = 1; s < NSIG; s++)
		syscall(SYS_rt_sigaction, s, default_action, NULL, sizeof(default_action[3]));
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

int
confine(bool marks, struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "become undumpable");
	if (limits_of_all(e) == -1)
		return -1;
	umask(022);
	default_signals();
	return drop_privileges(marks, e);
}
