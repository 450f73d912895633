/*
 * A first filter: refuse, with an errno and never with a kill, what a command in a
 * sandbox has no business with.  Everything else is allowed; the walls are the
 * namespaces, this narrows the kernel behind them.
 */
#include "filter.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"
#include "memfd.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* clang-format off */

/* EPERM: as if a capability were missing. */
static const int refused[] = {
	SCMP_SYS(acct), SCMP_SYS(add_key), SCMP_SYS(adjtimex), SCMP_SYS(bpf), SCMP_SYS(chroot),
	SCMP_SYS(clock_adjtime), SCMP_SYS(clock_settime), SCMP_SYS(create_module), SCMP_SYS(delete_module),
	SCMP_SYS(fanotify_init), SCMP_SYS(finit_module), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fsopen),
	SCMP_SYS(fspick), SCMP_SYS(init_module), SCMP_SYS(ioperm), SCMP_SYS(iopl), SCMP_SYS(kexec_file_load),
	SCMP_SYS(kexec_load), SCMP_SYS(keyctl), SCMP_SYS(lookup_dcookie), SCMP_SYS(mount), SCMP_SYS(mount_setattr),
	SCMP_SYS(move_mount), SCMP_SYS(name_to_handle_at), SCMP_SYS(nfsservctl), SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree), SCMP_SYS(perf_event_open), SCMP_SYS(pivot_root), SCMP_SYS(process_vm_writev),
	SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(reboot), SCMP_SYS(request_key), SCMP_SYS(setdomainname),
	SCMP_SYS(sethostname), SCMP_SYS(setns), SCMP_SYS(settimeofday), SCMP_SYS(swapoff), SCMP_SYS(swapon),
	SCMP_SYS(syslog), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(unshare), SCMP_SYS(userfaultfd),
	SCMP_SYS(vhangup), SCMP_SYS(vm86), SCMP_SYS(vm86old),
};

/* ENOSYS: programs then do without.  clone3 is not here: init needs it, and refuses it to its commands. */
static const int unknown[] = {
	SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
};

static const uint64_t namespaces[] = {
	CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP,
};

/* Calls that change another process of the same uid: init is pid 1 in every sandbox, and not theirs to change. */
static const struct {
	int      call;
	unsigned pid_arg;
} on_processes[] = {
	{ SCMP_SYS(prlimit64), 0 },         { SCMP_SYS(sched_setaffinity), 0 }, { SCMP_SYS(sched_setattr), 0 },
	{ SCMP_SYS(sched_setparam), 0 },    { SCMP_SYS(sched_setscheduler), 0 }, { SCMP_SYS(setpriority), 1 },
	{ SCMP_SYS(ioprio_set), 1 },
};

enum { INIT = 1, PRIO_OF_USER = 2, IOPRIO_OF_USER = 3 };

/* Typing into somebody else's terminal. */
static const unsigned long terminals[] = { TIOCSTI, 0x541C /* TIOCLINUX */ };

/* A subvolume made inside a btrfs workspace would be outside its quota: SNAP_CREATE, SUBVOL_CREATE, and their _V2. */
static const unsigned long subvolumes[] = { 0x50009401, 0x5000940E, 0x50009417, 0x50009418 };

/* The others reach drivers, hypervisors and hardware, not networks.  Above the last: refused as a range. */
static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

/* clang-format on */

enum { NETLINK_ROUTE_ONLY = 0 };

/* For socket and socketpair: the kernel makes a socket of any family before it finds that it has no pairs. */
static int
add_families(scmp_filter_ctx f, int call)
{
	int r = 0;

	for (int family = 0; family <= AF_NETLINK && r == 0; family++) {
		bool fine = false;

		for (size_t i = 0; i < COUNT(families); i++)
			fine |= families[i] == family;
		if (!fine)
			r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1, SCMP_A0(SCMP_CMP_EQ, family, 0));
	}
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPROTONOSUPPORT), call, 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0),
		    SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE_ONLY, 0));
	return r;
}

/* Calls this architecture or this libseccomp does not have are left out by it. */
static int
add_rules(scmp_filter_ctx f)
{
	int r = 0;

	for (size_t i = 0; i < COUNT(refused) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	for (size_t i = 0; i < COUNT(unknown) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), unknown[i], 0);
	for (size_t i = 0; i < COUNT(namespaces) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	/* the kernel looks at the lower half of a pid argument alone, and so must we */
	for (size_t i = 0; i < COUNT(on_processes) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), on_processes[i].call, 1,
		    SCMP_CMP(on_processes[i].pid_arg, SCMP_CMP_MASKED_EQ, 0xffffffffUL, INIT));
	/* all of a uid is init as well */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setpriority), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffUL, PRIO_OF_USER));
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioprio_set), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffUL, IOPRIO_OF_USER));
	/* init's core limit keeps the host's core handler out: it stays, and nobody need know */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(0), SCMP_SYS(setrlimit), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffUL, RLIMIT_CORE));
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(0), SCMP_SYS(prlimit64), 2,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, RLIMIT_CORE), SCMP_A2(SCMP_CMP_NE, 0, 0));
	for (size_t i = 0; i < COUNT(terminals) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, terminals[i]));
	for (size_t i = 0; i < COUNT(subvolumes) && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, subvolumes[i]));
	if (r == 0)
		r = add_families(f, SCMP_SYS(socket));
	return r == 0 ? add_families(f, SCMP_SYS(socketpair)) : r;
}

/* The machine's 32-bit ABI gets the same rules; any other ABI has no calls at all. */
static int
add_abis(scmp_filter_ctx f)
{
	int r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));

	if (r == 0 && seccomp_arch_native() == SCMP_ARCH_X86_64)
		r = seccomp_arch_add(f, SCMP_ARCH_X86);
	if (r == 0 && seccomp_arch_native() == SCMP_ARCH_AARCH64)
		r = seccomp_arch_add(f, SCMP_ARCH_ARM);
	if (r == 0)
		r = seccomp_attr_set(
		    f, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: plain calls cost the same, however many rules */
	return r;
}

int
filter_compile(struct err *e)
{
	AUTO_FD int     file = memfd_create("seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	if (file == -1 || f == NULL) {
		seccomp_release(f);
		return err_sys(e, "start a seccomp filter");
	}
	int r = add_abis(f);
	if (r == 0)
		r = add_rules(f);
	if (r == 0)
		r = seccomp_export_bpf(f, file);
	seccomp_release(f);
	if (r != 0) {
		errno = -r;
		return err_sys(e, "compile the seccomp filter");
	}
	if (memfd_seal(file, e) == -1)
		return -1;
	return fd_take(&file);
}
