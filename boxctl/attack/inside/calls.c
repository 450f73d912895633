/* Calls that no command needs, with arguments that only a filter refuses.  One row each. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

#define CALL(n, means, ...) ROW("calls." #n, means, ANYWHERE, call_filtered, RAW(#n, SYS_##n, __VA_ARGS__))

const struct attack call_attacks[] = {
	CALL(bpf, "programs in the kernel", 9999, 0, 0),
	CALL(perf_event_open, "what other processes do is measured", BAD, 0, 0, -1, 0),
	CALL(userfaultfd, "the kernel is held up at a chosen instruction", 0x40000000),
	CALL(io_uring_setup, "calls that no filter sees", 0, BAD),
	CALL(io_uring_enter, "calls that no filter sees", -1, 0, 0, 0, 0, 0),
	CALL(io_uring_register, "calls that no filter sees", -1, 0, 0, 0),
	CALL(add_key, "keys that outlive the sandbox", BAD, BAD, 0, 0, 0),
	CALL(request_key, "a program of the host run for a key", BAD, BAD, 0, 0),
	CALL(keyctl, "keys of the host's users", 9999, 0, 0, 0, 0),
	CALL(kexec_load, "another kernel", 0, 9999, 0, 0x7fff),
#ifdef SYS_kexec_file_load
	CALL(kexec_file_load, "another kernel", -1, -1, 0, 0, 0x7fff),
#endif
	CALL(init_module, "code in the kernel", BAD, 0, BAD),
	CALL(finit_module, "code in the kernel", -1, BAD, 0),
	CALL(delete_module, "a module of the kernel removed", BAD, 0),
#ifdef SYS_iopl
	CALL(iopl, "the machine's devices", 99),
	CALL(ioperm, "the machine's devices", 1 << 30, 1, 1),
#endif
	CALL(quotactl, "disk quotas of the host", 0x7fffffff, BAD, 0, 0),
	CALL(quotactl_fd, "disk quotas of the host", -1, 0x7fffffff, 0, 0),
	CALL(swapon, "the host's swap", BAD, 0),
	CALL(swapoff, "the host's swap", BAD),
	CALL(reboot, "the machine is restarted", 1, 2, 3, 0),
	CALL(sethostname, "a name that others believe", BAD, 5),
	CALL(setdomainname, "a name that others believe", BAD, 5),
	CALL(settimeofday, "the machine's clock", BAD, 0),
	CALL(clock_settime, "the machine's clock", 0, BAD),
	CALL(clock_adjtime, "the machine's clock", 0, BAD),
	CALL(adjtimex, "the machine's clock", BAD),
	CALL(acct, "a log of all processes of the machine", BAD),
	CALL(syslog, "the kernel's messages", -1, 0, 0),
	CALL(fanotify_init, "every use of files is seen", 0x7fffffff, 0),
	CALL(name_to_handle_at, "handles by which files are opened without a path", -1, BAD, BAD, BAD, 0),
	CALL(open_by_handle_at, "any file of a file system, by its number", -1, BAD, 0),
	CALL(setns, "another namespace", -1, 0),
	CALL(unshare, "a namespace of its own", 1),
	CALL(process_vm_writev, "another process's memory", 0, BAD, 1, BAD, 1, 0),
	{ "calls.vhangup", "terminals of others are closed", INSIDE, call_filtered, RAW("vhangup", SYS_vhangup, 0) },
	CALL(seccomp, "memory for filters, of which all sandboxes of the machine share one budget", 1, 0, BAD),
	CALL(io_setup, "all of the machine's asynchronous I/O", 1, BAD),
#ifdef SYS_ustat
	CALL(ustat, "the host's file systems, by their numbers", 0, BAD),
	CALL(sysfs, "a call that nobody uses, and any hole in it", 99),
#endif
#ifdef SYS_lookup_dcookie
	CALL(lookup_dcookie, "paths of the host", 0, BAD, 0),
#endif
	{ .name = NULL },
};
