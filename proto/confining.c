#include "confining.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* Looking for leaks at exit takes a thread and ptrace, which the filter forbids. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int
confining_bounding_set(struct err *e)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		/* EPERM: we may not, having no CAP_SETPCAP; no_new_privs keeps the set out of reach then */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1 && errno != EPERM)
			return err_sys(e, "drop capability %d", cap);
	}
	return 0;
}

int
confining_identity(uid_t uid, gid_t gid, struct err *e)
{
	if (setgroups(0, NULL) == -1)
		return err_sys(e, "setgroups");
	if (setresgid(gid, gid, gid) == -1)
		return err_sys(e, "setresgid %u", gid);
	if (setresuid(uid, uid, uid) == -1)
		return err_sys(e, "setresuid %u", uid);
	return 0;
}

int
confining_capabilities(struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_sys(e, "no_new_privs");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return err_sys(e, "ambient set");
	if (syscall(SYS_capset, &head, none) == -1)
		return err_sys(e, "capset");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_sys(e, "dumpable");
	return 0;
}

static int
add_rules(scmp_filter_ctx ctx, const int *allowed, size_t n, const struct call_if *only_if, size_t n_if)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < n_if; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, only_if[i].nr, 1,
		    SCMP_CMP(only_if[i].arg, SCMP_CMP_MASKED_EQ, only_if[i].mask, only_if[i].wanted));
	if (r == 0) /* abort(3), of ourselves only */
		r = seccomp_rule_add(
		    ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	return r;
}

int
confining_calls(const int *allowed, size_t n, const struct call_if *only_if, size_t n_if, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int             r = -ENOMEM;

	if (ctx != NULL)
		r = add_rules(ctx, allowed, n, only_if, n_if);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx != NULL)
		seccomp_release(ctx);
	errno = -r;
	return r == 0 ? 0 : err_sys(e, "load the filter");
}
