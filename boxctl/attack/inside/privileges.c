/* What a command is, and what it cannot become: capabilities, user ids, setuid programs, the filter itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

/* ---- capabilities ---- */

static void
has_any(struct report *r, const void *arg)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	char                     value[64];

	for (size_t i = 0; i < COUNT(sets); i++)
		if (status_field("/proc/self/status", sets[i], value, sizeof(value)) && strtoull(value, NULL, 16) != 0)
			works(r, "%s is %s", sets[i], value);
	holds(r, "all five sets are empty");
}

static void
capset_all(struct report *r, const void *arg)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct   all[2] = { { ~0U, ~0U, ~0U }, { ~0U, ~0U, ~0U } };
	struct __user_cap_data_struct   inherit[2] = { { 0, 0, ~0U }, { 0, 0, ~0U } };

	refused(r, syscall(SYS_capset, &header, all), "capset");
	refused(r, syscall(SYS_capset, &header, inherit), "capset, inheritable alone");
	for (int cap = 0; cap <= 40; cap++)
		refused(r, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0), "ambient capability %d", cap);
}

static void
securebits(struct report *r, const void *arg)
{
	refused(r, prctl(PR_SET_SECUREBITS, 0), "securebits 0");
	refused(r, prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS | SECBIT_NO_SETUID_FIXUP), "securebits, no fixup");
}

/* ---- becoming somebody else ---- */

static void
other_user(struct report *r, const void *arg)
{
	gid_t group = 5;

	failed(r, syscall(SYS_setuid, 1), "setuid(1)");
	failed(r, syscall(SYS_setresuid, 65534, 65534, 65534), "setresuid(65534)");
	failed(r, syscall(SYS_setgid, 1), "setgid(1)");
	failed(r, syscall(SYS_setresgid, 65534, 65534, 65534), "setresgid(65534)");
	failed(r, syscall(SYS_setgroups, 1, &group), "setgroups(5)");
	syscall(SYS_setfsuid, 1); /* returns the old one; the second call shows the result */
	failed(r, syscall(SYS_setfsuid, -1) == 1 ? 0 : (errno = EPERM, -1), "setfsuid(1)");
}

static const char *const setuid_programs[] = { "/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount",
	"/bin/mount", "/usr/bin/chsh", "/usr/bin/newgrp", "/usr/bin/sudo", "/usr/bin/pkexec", "/usr/bin/gpasswd",
	"/usr/bin/fusermount3" };

static _Noreturn void
run_program(const char *path)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	execl(path, path, "--version", (char *)NULL);
	_exit(127);
}

/* A process that has ended still shows who it was, until somebody waits for it. */
static void
compare_rights(struct report *r, const char *path)
{
	static const char *const fields[] = { "Uid", "Gid", "CapPrm", "CapEff", "NoNewPrivs" };
	char                     status[64], was[128], is[128];
	siginfo_t                info;
	pid_t                    pid = fork();

	if (pid == 0)
		run_program(path);
	if (pid == -1 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == -1)
		return;
	snprintf(status, sizeof(status), "/proc/%d/status", (int)pid);
	for (size_t i = 0; i < COUNT(fields); i++)
		if (status_field("/proc/self/status", fields[i], was, sizeof(was)) &&
		    status_field(status, fields[i], is, sizeof(is)) && strcmp(was, is) != 0)
			works(r, "%s has %s %s, not %s", path, fields[i], is, was);
	waitpid(pid, NULL, 0);
}

static void
setuid_program(struct report *r, const void *arg)
{
	struct stat st;
	unsigned    n = 0;

	for (size_t i = 0; i < COUNT(setuid_programs); i++)
		if (stat(setuid_programs[i], &st) == 0 && (st.st_mode & S_ISUID) != 0) {
			compare_rights(r, setuid_programs[i]);
			n++;
		}
	if (n == 0)
		skips(r, "the host has no setuid program");
	else
		holds(r, "%u setuid programs of the host were run: none gained a user id or a capability", n);
}

static void
no_new_privs(struct report *r, const void *arg)
{
	prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		works(r, "no_new_privs is not set");
	holds(r, "no_new_privs is set and stays");
}

/* ---- the filter ---- */

static void
filter(struct report *r, const void *arg)
{
	char value[32] = "";

	status_field("/proc/self/status", "Seccomp", value, sizeof(value));
	if (atoi(value) != 2)
		works(r, "no seccomp filter is in force (mode %s)", value);
	else if (failed(r, prctl(PR_SET_SECCOMP, 0, 0, 0, 0), "take the filter off by prctl"))
		failed(r, syscall(SYS_seccomp, 0xffff, 0, NULL), "take the filter off by seccomp");
}

static void
personalities(struct report *r, const void *arg)
{
	const unsigned long *bits = arg;

	refused(r, syscall(SYS_personality, *bits), "personality(0x%lx)", *bits);
}

static void
null_page(struct report *r, const void *arg)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	failed(r, p == MAP_FAILED ? -1 : 0, "map the page at 0");
}

/* ---- files that give rights ---- */

static void
file_capability(struct report *r, const void *arg)
{
	struct vfs_cap_data    cap = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		   .data = { { ~0U, 0 }, { ~0U, 0 } } };
	struct vfs_ns_cap_data for_root = { .magic_etc = VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE,
		.data = { { ~0U, 0 }, { ~0U, 0 } } };
	const char            *path = scratch_file("capable");

	failed(r, setxattr(path, "security.capability", &cap, sizeof(cap), 0), "set a file capability");
	failed(
	    r, setxattr(path, "security.capability", &for_root, sizeof(for_root), 0), "set one for a namespace's root");
	failed(r, setxattr(path, "trusted.overlay.opaque", "y", 1, 0), "set a trusted attribute");
	failed(r, setxattr(path, "security.attack", "x", 1, 0), "set a security attribute");
}

/* Every way a mode comes into being; on a shared directory such a file would serve a user of the host. */
static void
mode_bits(struct report *r, const void *arg)
{
	const mode_t bit = *(const mode_t *)arg;
	const char  *path = scratch_file("mode");
	char         made[160];
	int          fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat  st;

	failed(r, syscall(SYS_fchmod, fd, 0755 | bit), "fchmod %o", 0755 | bit);
#ifdef SYS_chmod
	failed(r, syscall(SYS_chmod, path, 0755 | bit), "chmod %o", 0755 | bit);
#endif
	failed(r, syscall(SYS_fchmodat, AT_FDCWD, path, 0755 | bit), "fchmodat %o", 0755 | bit);
	failed(r, syscall(452 /* fchmodat2 */, AT_FDCWD, path, 0755 | bit, 0), "fchmodat2 %o", 0755 | bit);
	snprintf(made, sizeof(made), "%s/made", scratch());
	int new = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755 | bit);
	if (new != -1 && fstat(new, &st) == 0 && (st.st_mode & bit) != 0)
		works(r, "open with mode %o makes one", 0755 | bit);
	snprintf(made, sizeof(made), "%s/node", scratch());
	if (mknod(made, S_IFREG | 0755 | bit, 0) == 0 && stat(made, &st) == 0 && (st.st_mode & bit) != 0)
		works(r, "mknod with mode %o makes one", 0755 | bit);
	if (stat(path, &st) == 0 && (st.st_mode & bit) != 0)
		works(r, "a file of mode %o is there", (unsigned)st.st_mode & 07777U);
}

static const unsigned long read_implies_exec = 0x0400000, page_zero = 0x0100000;
static const mode_t        setuid_bit = S_ISUID, setgid_bit = S_ISGID;

const struct attack privilege_attacks[] = {
	{ "privileges.capabilities", "root's rights over what the sandbox has", ANYWHERE, has_any, NULL },
	{ "privileges.capset", "capabilities are taken", INSIDE, capset_all, NULL },
	{ "privileges.securebits", "capabilities outlive a change of user", INSIDE, securebits, NULL },
	{ "privileges.user", "another user's files and processes", INSIDE, other_user, NULL },
	{ "privileges.setuid-program", "a setuid program of the host makes root", ANYWHERE, setuid_program, NULL },
	{ "privileges.no_new_privs", "executing a program can give rights", ANYWHERE, no_new_privs, NULL },
	{ "privileges.filter", "every call of the kernel, without a filter", ANYWHERE, filter, NULL },
	{ "privileges.read-implies-exec", "data can be executed", ANYWHERE, personalities, &read_implies_exec },
	{ "privileges.page-zero", "null pointers of the kernel lead to the attacker's data", ANYWHERE, personalities,
	    &page_zero },
	{ "privileges.null-page", "null pointers of the kernel lead to the attacker's data", ANYWHERE, null_page,
	    NULL },
	{ "privileges.file-capability", "a program that gives capabilities to who runs it", INSIDE, file_capability,
	    NULL },
	{ "privileges.setuid-file", "a program that makes whoever runs it this user", INSIDE, mode_bits, &setuid_bit },
	{ "privileges.setgid-file", "a program that makes whoever runs it this group", INSIDE, mode_bits, &setgid_bit },
	{ .name = NULL },
};
