/*
 * The seccomp policy: what the language takes and refuses, and what the built-in policy does in each ABI.  The
 * programs are run by t/lib/c/bpf.c, so that the ABIs of other machines are tried too; the attacks ask the kernel.
 */
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "bpf.h"
#include "supervisor/config/filter.h"
#include "supervisor/config/filter_bpf.h"
#include "tap.h"

enum { ALLOWED = -1 };

static const uint32_t abis[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_AARCH64, SCMP_ARCH_ARM };
static const char    *abi_names[] = { "x86_64", "i386", "aarch64", "arm" };

enum { ABIS = sizeof(abis) / sizeof(*abis) };

static struct filter_program program;
static struct err            why;

static int
compile(FILE *f)
{
	struct filter_policy policy;

	why = (struct err){ 0 };
	int r = filter_parse(&policy, f, "file", &why);
	fclose(f);
	if (r == -1)
		return -1;
	r = filter_emit_for(&program, &policy, abis, ABIS, &why);
	filter_policy_clear(&policy);
	return r;
}

static int
compile_text(const char *text)
{
	return compile(fmemopen((void *)(uintptr_t)text, strlen(text), "r"));
}

/* The errno it gets, or ALLOWED. */
static int
call_number(uint32_t abi, int nr, const uint64_t args[6])
{
	struct seccomp_data d = { .nr = nr, .arch = abi };

	memcpy(d.args, args, sizeof(d.args));
	uint32_t r = bpf_run(program.code, program.n, &d);
	return r == SECCOMP_RET_ALLOW ? ALLOWED : (int)(r & SECCOMP_RET_DATA);
}

static int
number_of(uint32_t abi, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(abi, name);

	switch (nr) { /* i386 has these by socketcall as well, and libseccomp then has a number of its own */
	case -101:
		return 359; /* socket */
	case -108:
		return 360; /* socketpair */
	case -114:
		return 366; /* setsockopt */
	}
	return nr;
}

/* ---- the language ------------------------------------------------------------------- */

static void
refuses(const char *text, const char *message)
{
	cmp_ok(compile_text(text), "==", -1, "refused: %.60s", text);
	is(why.text, message, "with the place and the reason");
}

TEST(refuses_what_is_wrong)
{
	refuses("drop mount", "file:1: 'drop' should be allow, deny, ignore or default");
	refuses("\n# x\ndeny EPERM", "file:3: no system call is named");
	refuses("deny", "file:1: deny: '' should be an error such as EPERM or ENOSYS");
	refuses("deny EFUN mount", "file:1: deny: 'EFUN' should be an error such as EPERM or ENOSYS");
	refuses("deny EPERM nosuch", "file:1: there is no system call 'nosuch' (?NAME: only where libseccomp knows it; "
				     "NAME=NUMBER: where it does not)");
	refuses("deny EPERM \033[2J",
	    "file:1: there is no system call '\\x1b[2J' (?NAME: only where libseccomp knows it; "
	    "NAME=NUMBER: where it does not)");
	refuses("deny EPERM nosuch=300", "file:1: nosuch=300: only numbers from 424 on are the same in every ABI");
	refuses("deny EPERM nosuch=", "file:1: nosuch=: only numbers from 424 on are the same in every ABI");
	refuses("deny EPERM openat2=438", "file:1: openat2 is number 437, not 438");
	refuses("deny ENOSYS clone3", "file:1: clone3 is box-init's: it needs it, and refuses it to every command");
	refuses("allow seccomp", "file:1: seccomp is box-init's: it needs it, and refuses it to every command");
	refuses("deny EPERM other=435", "file:1: other is box-init's: it needs it, and refuses it to every command");
	refuses("default", "file:1: default: '' should be allow, or deny with an error");
	refuses("default ignore", "file:1: default: 'ignore' should be allow, or deny with an error");
	refuses("default EPERM", "file:1: default: 'EPERM' should be allow, or deny with an error");
	refuses("default deny", "file:1: deny: '' should be an error such as EPERM or ENOSYS");
	refuses("default allow mount", "file:1: 'mount' should be the end of the line");
	refuses("default allow\ndefault deny EPERM", "file:2: a second default line");
	refuses("",
	    "file: no default line: 'default deny ENOSYS' when the file lists what is allowed, 'default allow' when "
	    "it lists what is refused");
	refuses("deny EPERM mount", "file: no default line: 'default deny ENOSYS' when the file lists what is allowed, "
				    "'default allow' when it lists what is refused");
	refuses("deny EPERM mount if", "file:1: '' should be arg0 to arg5, or ptr0 to ptr5");
	refuses("deny EPERM mount if arg6 == 1", "file:1: 'arg6' should be arg0 to arg5, or ptr0 to ptr5");
	refuses("deny EPERM mount if arg0 = 1", "file:1: '=' should be one of == != > >= < <= &");
	refuses("deny EPERM mount if arg0 ==", "file:1: a value is missing");
	refuses("deny EPERM mount if arg0 == x", "file:1: 'x' is neither a number of 32 bits nor a constant");
	refuses("deny EPERM mount if arg0 == -1", "file:1: '-1' is neither a number of 32 bits nor a constant");
	refuses("deny EPERM mount if arg0 == 0x100000000",
	    "file:1: '0x100000000' is neither a number of 32 bits nor a constant");
	refuses("deny EPERM mount if arg0 == 1|", "file:1: '' is neither a number of 32 bits nor a constant");
	refuses("deny EPERM mount if arg0 & 0", "file:1: a mask of no bits");
	refuses("deny EPERM mount if arg0 & 1 or arg1 & 1", "file:1: 'or' should be 'and', or the end of the line");
	refuses("deny EPERM mount if ptr0 == 1", "file:1: a pointer can only be compared by == 0 and != 0");
	refuses("deny EPERM mount if ptr0 & 1", "file:1: '&' should be one of == != > >= < <= &");
	refuses("allow mount\ndeny EPERM mount", "file:2: mount is decided by a line above: this one is never reached");
	refuses("deny EPERM mount\nallow mount if arg0 == 1",
	    "file:2: mount is decided by a line above: this one is never reached");
	refuses("allow mount if arg0 == 1 and arg0 == 2 and arg0 == 3 and arg0 == 4 and arg0 == 5",
	    "file:1: more than 4 tests");
}

/* To be freed. */
static char *
rules(int n)
{
	char  *text = NULL;
	size_t size;
	FILE  *f = open_memstream(&text, &size);

	fprintf(f, "default allow\n");
	for (int i = 0; i < n; i++)
		fprintf(f, "deny EPERM mount if arg0 == %d and arg1 == %d\n", i, i);
	fclose(f);
	return text;
}

TEST(refuses_what_is_large)
{
	char *many = rules(1025), *fewer = rules(1024), words[400];

	refuses(many, "file:1026: more than 1024 rules");
	cmp_ok(compile_text(fewer), "==", -1, "a program that the kernel would not load is refused");
	like(why.text, "instructions, and the kernel takes 4096", "by its size");
	free(many);
	free(fewer);
	memset(words, ' ', sizeof(words));
	for (size_t i = 0; i < sizeof(words) - 1; i += 2)
		words[i] = 'x';
	words[sizeof(words) - 1] = '\0';
	refuses(words, "file:1: more than 64 words: make it two lines");
}

static int
try_mount(uint64_t a, uint64_t b)
{
	return call_number(SCMP_ARCH_X86_64, number_of(SCMP_ARCH_X86_64, "mount"), (uint64_t[6]){ a, b });
}

TEST(tests_hold)
{
	static const struct {
		const char *test;
		uint64_t    yes, no;
	} v[] = {
		{ "arg0 == 5", 5, 4 },
		{ "arg0 == 5", 1ULL << 32 | 5, 1ULL << 32 },
		{ "arg0 != 5", 4, 1ULL << 32 | 5 },
		{ "arg0 > 5", 6, 5 },
		{ "arg0 >= 5", 5, 1ULL << 32 | 4 },
		{ "arg0 < 5", 1ULL << 32 | 4, 5 },
		{ "arg0 <= 5", 5, 6 },
		{ "arg0 & 06000", 02755, 0755 },
		{ "arg0 & 06000", 04000, 1ULL << 43 },
		{ "arg0 & 0xf == 3", 0x83, 0x84 },
		{ "arg0 & 0xf > 3", 0x84, 0x83 },
		{ "arg0 & O_CREAT|O_TMPFILE", 020000000, 0200000 },
		{ "ptr0 != 0", 1ULL << 32, 0 },
		{ "ptr0 != 0", 1, 0 },
		{ "ptr0 == 0", 0, 1ULL << 32 },
		{ "ptr0 == 0", 0, 1 },
		{ "arg0 == 1 and ptr1 == 0", 1, 2 },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		char text[128];

		snprintf(text, sizeof(text), "default allow\ndeny EPERM mount if %s", v[i].test);
		if (!ok(compile_text(text) == 0, "compiles: %s", text))
			diag("%s", why.text);
		cmp_ok(try_mount(v[i].yes, 0), "==", EPERM, "holds for %#lx", v[i].yes);
		cmp_ok(try_mount(v[i].no, 0), "==", ALLOWED, "and not for %#lx", v[i].no);
	}
}

TEST(first_rule_decides)
{
	ok(compile_text("default allow\nallow mount if arg0 == 1 and arg1 == 1\nignore mount if arg0 == 1\n"
			"deny ENOSYS mount ?nosuch umount2 # why\n") == 0,
	    "several rules of one call");
	cmp_ok(try_mount(1, 1), "==", ALLOWED, "the first that fits decides");
	cmp_ok(try_mount(1, 0), "==", 0, "then the next");
	cmp_ok(try_mount(0, 0), "==", ENOSYS, "then the last");
	ok(compile_text("default allow\ndeny EPERM mount\nallow umount2 mount") == 0,
	    "a rule before a list that names its call");
	cmp_ok(try_mount(0, 0), "==", EPERM, "decides");
	ok(compile_text("deny EPERM nosuch=600\ndefault allow") == 0,
	    "a call that libseccomp does not know, by number");
	for (size_t i = 0; i < ABIS; i++)
		cmp_ok(call_number(abis[i], 600, (uint64_t[6]){ 0 }), "==", EPERM, "refused in %s", abi_names[i]);
	ok(compile_text("default allow") == 0, "a policy of its default alone");
	cmp_ok(try_mount(0, 0), "==", ALLOWED, "allows everything");
	cmp_ok(call_number(SCMP_ARCH_PPC64, 1, (uint64_t[6]){ 0 }), "==", ENOSYS, "but in a strange ABI");
}

/* Against every number there is: the search must find each call and no other. */
TEST(search_finds_each)
{
	char  *text = NULL;
	size_t size;
	FILE  *f = open_memstream(&text, &size);
	int    wrong = 0;

	fprintf(f, "default allow\n");
	for (int n = 430; n < 760; n += 3)
		fprintf(f, "deny %s n%d=%d if arg0 == 1\n", n % 2 ? "EPERM" : "ENOSYS", n, n);
	fclose(f);
	for (char *at = text; (at = strstr(at, " n4")) != NULL; at++)
		at[1] = 'm'; /* no name that a later libseccomp could know */
	ok(compile_text(text) == 0, "a hundred calls");
	for (size_t i = 0; i < ABIS; i++)
		for (int n = 0; n < 800; n++) {
			bool there = n >= 430 && n < 760 && (n - 430) % 3 == 0;
			int  want = there ? (n % 2 ? EPERM : ENOSYS) : ALLOWED;

			wrong += call_number(abis[i], n, (uint64_t[6]){ 1 }) != want;
			wrong += call_number(abis[i], n, (uint64_t[6]){ 2 }) != ALLOWED;
		}
	cmp_ok(wrong, "==", 0, "each is found, and nothing else");
	free(text);
}

TEST(default_decides)
{
	ok(compile_text("default deny ENOSYS\nallow mount if arg0 == 1\nallow umount2") == 0,
	    "a list of what is allowed");
	cmp_ok(try_mount(1, 0), "==", ALLOWED, "what a line fits is allowed");
	cmp_ok(try_mount(2, 0), "==", ENOSYS, "the default is for a call whose lines do not fit");
	for (size_t i = 0; i < ABIS; i++) {
		cmp_ok(call_number(abis[i], number_of(abis[i], "umount2"), (uint64_t[6]){ 0 }), "==", ALLOWED,
		    "%s: named", abi_names[i]);
		cmp_ok(call_number(abis[i], number_of(abis[i], "read"), (uint64_t[6]){ 0 }), "==", ENOSYS,
		    "%s: not named", abi_names[i]);
		cmp_ok(call_number(abis[i], 435, (uint64_t[6]){ 0 }), "==", ALLOWED, "%s: init's clone3", abi_names[i]);
		cmp_ok(call_number(abis[i], number_of(abis[i], "seccomp"), (uint64_t[6]){ 0 }), "==", ALLOWED,
		    "%s: init's seccomp", abi_names[i]);
		cmp_ok(call_number(abis[i], number_of(abis[i], "setns"), (uint64_t[6]){ 0 }), "==", ALLOWED,
		    "%s: init's setns", abi_names[i]);
		cmp_ok(call_number(abis[i], 5000, (uint64_t[6]){ 0 }), "==", ENOSYS, "%s: not known", abi_names[i]);
		cmp_ok(call_number(abis[i], -1, (uint64_t[6]){ 0 }), "==", ENOSYS, "%s: below 0", abi_names[i]);
	}
}

/* No two neighbours alike: the program of one machine cannot become longer without tests of arguments. */
TEST(largest_list_fits)
{
	char                *text = NULL;
	size_t               size;
	FILE                *f = open_memstream(&text, &size);
	struct filter_policy policy;
	int                  named = 0;

	fprintf(f, "default deny ENOSYS\n");
	for (int nr = 0; nr < 470; nr++)
		for (int i = 0; i < 2; i++) { /* x86_64, and what only i386 has */
			char *name = seccomp_syscall_resolve_num_arch(abis[i], nr);

			if (name != NULL && strcmp(name, "clone3") != 0 && strcmp(name, "seccomp") != 0 &&
			    (i == 0 || seccomp_syscall_resolve_name_arch(abis[0], name) < 0))
				fprintf(f, "%s %s\n", named++ % 2 == 0 ? "allow" : "deny EPERM", name);
			free(name);
		}
	fclose(f);
	f = fmemopen(text, size, "r");
	if (!ok(filter_parse(&policy, f, "file", &why) == 0, "every call that libseccomp knows: %d", named))
		diag("%s", why.text);
	int r = filter_emit_for(&program, &policy, abis, 2, &why);
	ok(r == 0 && program.n > 1000, "in two ABIs: %zu instructions", program.n);
	filter_policy_clear(&policy);
	fclose(f);
	free(text);
}

/* ---- the built-in policy ---------------------------------------------------------------- */

static const struct {
	const char *call;
	uint64_t    args[6];
	int         result;
} builtin[] = {
	{ "mount", { 0 }, EPERM },
	{ "clone", { CLONE_NEWUSER | 17 }, EPERM },
	{ "clone", { 0x3d0f00 }, ALLOWED },
	{ "clone3", { 0 }, ALLOWED },
	{ "unshare", { 0 }, EPERM },
	{ "chmod", { 0, 04755 }, EPERM },
	{ "chmod", { 0, 01777 }, ALLOWED },
	{ "fchmod", { 0, 02755 }, EPERM },
	{ "fchmodat", { 0, 0, 06000 }, EPERM },
	{ "fchmodat", { 06000, 06000, 0644 }, ALLOWED },
	{ "fchmodat2", { 0, 0, 04000 }, EPERM },
	{ "creat", { 0, 04755 }, EPERM },
	{ "mknod", { 0, 0104755 }, EPERM },
	{ "mknodat", { 0, 0, 0102755 }, EPERM },
	{ "open", { 0, O_CREAT, 04755 }, EPERM },
	{ "open", { 0, 020200000, 02755 }, EPERM },
	{ "open", { 0, O_RDONLY, 04755 }, ALLOWED },
	{ "openat", { 0, 0, O_CREAT | O_WRONLY, 04755 }, EPERM },
	{ "openat", { 0, 0, O_CREAT | O_WRONLY, 0644 }, ALLOWED },
	{ "openat", { 0, 0, O_RDONLY, 07777 }, ALLOWED },
	{ "openat2", { 0 }, ENOSYS },
	{ "io_uring_setup", { 0 }, ENOSYS },
	{ "ptrace", { 16, 1 }, EPERM },
	{ "ptrace", { 16, 1ULL << 32 | 1 }, EPERM },
	{ "ptrace", { 0, 0 }, ALLOWED },
	{ "prlimit64", { 1, 7, 0 }, EPERM },
	{ "prlimit64", { 0, 4, 0x1000 }, 0 },
	{ "prlimit64", { 0, 4, 0 }, ALLOWED },
	{ "prlimit64", { 0, 7, 0x1000 }, ALLOWED },
	{ "personality", { 0xffffffff }, ALLOWED },
	{ "personality", { 0 }, ALLOWED },
	{ "personality", { 8 }, ALLOWED },
	{ "personality", { 0x0040000 }, ALLOWED },
	{ "personality", { 0x0400000 }, EPERM },
	{ "personality", { 0x0100000 }, EPERM },
	{ "personality", { 0x80000000 }, EPERM },
	{ "personality", { 0x80400000 }, EPERM },
	{ "personality", { 3 }, EPERM },
	{ "ioctl", { 0, TIOCSTI }, EPERM },
	{ "ioctl", { 0, 1ULL << 32 | TIOCSTI }, EPERM },
	{ "ioctl", { 0, TCGETS }, ALLOWED },
	{ "prctl", { 62 }, EINVAL },
	{ "prctl", { 22, 2 }, EINVAL },
	{ "prctl", { 77 }, EINVAL },
	{ "prctl", { 1ULL << 32 | 22, 2 }, EINVAL },
	{ "prctl", { 0x53564d41 }, ALLOWED },
	{ "prctl", { 0x59616d61 }, ALLOWED },
	{ "prctl", { 38, 1 }, ALLOWED },
	{ "socket", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 }, ALLOWED },
	{ "socket", { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 6 }, ALLOWED },
	{ "socket", { AF_INET6, SOCK_DGRAM, 0 }, ALLOWED },
	{ "socket", { AF_INET, SOCK_STREAM, 132 }, EPROTONOSUPPORT },
	{ "socket", { AF_INET, SOCK_STREAM, 262 }, EPROTONOSUPPORT },
	{ "socket", { AF_INET, SOCK_RAW, 1 }, EPERM },
	{ "socket", { AF_INET, 10, 0x300 }, ESOCKTNOSUPPORT },
	{ "socket", { AF_INET, 6, 0 }, ESOCKTNOSUPPORT },
	{ "socket", { AF_NETLINK, SOCK_RAW, 0 }, ALLOWED },
	{ "socket", { AF_NETLINK, SOCK_RAW, 9 }, EPROTONOSUPPORT },
	{ "socket", { AF_VSOCK, 1, 0 }, EAFNOSUPPORT },
	{ "socket", { 1ULL << 32 | AF_VSOCK, 1, 0 }, EAFNOSUPPORT },
	{ "socketpair", { AF_UNIX, 1, 0 }, ALLOWED },
	{ "socketpair", { AF_INET, 1, 0 }, EAFNOSUPPORT },
	{ "socketcall", { 1 }, EAFNOSUPPORT },
	{ "socketcall", { 14 }, ENOPROTOOPT },
	{ "socketcall", { 3 }, ALLOWED },
	{ "setsockopt", { 3, SOL_SOCKET, SO_ATTACH_FILTER }, ENOPROTOOPT },
	{ "setsockopt", { 3, 1ULL << 32 | SOL_SOCKET, SO_ATTACH_BPF }, ENOPROTOOPT },
	{ "setsockopt", { 3, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF }, ENOPROTOOPT },
	{ "setsockopt", { 3, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF }, ENOPROTOOPT },
	{ "setsockopt", { 3, SOL_SOCKET, SO_REUSEADDR }, ALLOWED },
	{ "setsockopt", { 3, 6, SO_ATTACH_FILTER }, ALLOWED },
	{ "ustat", { 0 }, ENOSYS },
	{ "sysfs", { 0 }, ENOSYS },
	{ "io_setup", { 0 }, ENOSYS },
	{ "memfd_secret", { 0 }, ENOSYS },
	{ "futex", { 0 }, ALLOWED },
	{ "restart_syscall", { 0 }, ALLOWED },
	{ "landlock_create_ruleset", { 0 }, ALLOWED },
	{ "seccomp", { 1 }, ALLOWED },
	{ "mkdir", { 0, 06777 }, ALLOWED },
	{ "read", { 0 }, ALLOWED },
};

/* What the text says, found without the program: each rule is looked at in its order. */
static bool
test_holds(const struct filter_test *t, const uint64_t args[6])
{
	uint32_t v = (uint32_t)args[t->arg] & t->mask;

	if (t->pointer)
		return (args[t->arg] == 0) == (t->op == FILTER_EQ);
	switch (t->op) {
	case FILTER_EQ:
		return v == t->value;
	case FILTER_NE:
		return v != t->value;
	case FILTER_GT:
		return v > t->value;
	case FILTER_GE:
		return v >= t->value;
	case FILTER_LT:
		return v < t->value;
	case FILTER_LE:
		return v <= t->value;
	case FILTER_ANY:
		return v != 0;
	}
	return false;
}

static uint32_t
text_says(const struct filter_policy *p, const char *name, int nr, const uint64_t args[6])
{
	if (nr == 435 || (name != NULL && (strcmp(name, "seccomp") == 0 || strcmp(name, "setns") == 0)))
		return SECCOMP_RET_ALLOW;
	for (size_t i = 0; i < p->n; i++) {
		const struct filter_rule *r = &p->rules[i];
		bool                      fits = name != NULL ? strcmp(name, r->call) == 0 : r->number == nr;

		for (unsigned t = 0; fits && t < r->ntests; t++)
			fits = test_holds(&r->tests[t], args);
		if (fits)
			return r->action;
	}
	return p->otherwise;
}

/* Of every number, with arguments that the rules look at and others. */
static int
differences(const struct filter_policy *p, uint32_t abi, int *unnamed)
{
	static const uint64_t values[] = { 0, 1, 2, 16, 26, 62, 06755, 0101, 0x5412, 0x50009401, 0x10000000, ~0ULL };
	int                   wrong = 0;

	for (int nr = 0; nr <= 600; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(abi, nr);

		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
			for (size_t arg = 0; arg < 5; arg++) {
				struct seccomp_data d = { .nr = nr, .arch = abi, .args = { 1, 1, 1, 1, 1, 1 } };

				d.args[arg] = values[i];
				d.args[arg + 1] = values[(i + nr) % (sizeof(values) / sizeof(*values))];
				wrong += bpf_run(program.code, program.n, &d) !=
					 text_says(p, name, nr, (const uint64_t *)d.args);
			}
		*unnamed += call_number(abi, nr, (uint64_t[6]){ 0 }) == ENOSYS;
		free(name);
	}
	return wrong;
}

TEST(program_is_the_text)
{
	struct filter_policy policy;
	FILE                *f = tmpfile();

	filter_print(f);
	rewind(f);
	ok(filter_parse(&policy, f, "file", &why) == 0 && filter_emit_for(&program, &policy, abis, ABIS, &why) == 0,
	    "the built-in policy, as text and as program");
	fclose(f);
	cmp_ok((int)policy.otherwise, "==", (int)(SECCOMP_RET_ERRNO | ENOSYS), "what it does not name does not exist");
	for (size_t i = 0; i < ABIS; i++) {
		int unnamed = 0;

		cmp_ok(differences(&policy, abis[i], &unnamed), "==", 0,
		    "%s: they say the same of the numbers 0 to 600", abi_names[i]);
		ok(unnamed > 150, "%s: many of which nobody named", abi_names[i]);
	}
	filter_policy_clear(&policy);
}

TEST(builtin_policy_holds)
{
	FILE *f = tmpfile();
	int   tried = 0;

	filter_print(f);
	rewind(f);
	if (!ok(compile(f) == 0, "the built-in policy compiles, for four ABIs: %zu instructions", program.n))
		diag("%s", why.text);
	for (size_t a = 0; a < ABIS; a++)
		for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++) {
			int nr = number_of(abis[a], builtin[i].call);

			if (nr < 0)
				continue;
			tried++;
			cmp_ok(call_number(abis[a], nr, builtin[i].args), "==", builtin[i].result,
			    "%s: %s %#lx %#lx %#lx", abi_names[a], builtin[i].call, builtin[i].args[0],
			    builtin[i].args[1], builtin[i].args[2]);
		}
	ok(tried > 200, "most calls are there in every ABI");
	cmp_ok(call_number(SCMP_ARCH_X86_64, 0x40000000 | 39, (uint64_t[6]){ 0 }), "==", ENOSYS, "x32 has no calls");
	AUTO_FD int fd = filter_compile("", &why);
	ok(fd != -1, "and this machine's program is made");
	cmp_ok(filter_compile("/nowhere", &why), "==", -1, "not of a file that is missing");
	is(why.text, "seccomp_policy: open /nowhere: No such file or directory", "which is named");
}
