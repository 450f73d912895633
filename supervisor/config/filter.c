/*
 * Policy is data: etc/seccomp.policy, which is also in this program, so that boxd
 * needs no installed file.  It is compiled once, when boxd starts, and every sandbox
 * gets the same sealed program.
 */
#include "config/filter.h"

#include <stdlib.h>

#include "base/memfd.h"
#include "config/filter_bpf.h"

/* The makefile knows that this object depends on the file. */
__asm__(".pushsection .rodata\n"
	"builtin_policy: .incbin \"etc/seccomp.policy\"\n"
	"builtin_policy_end: .byte 0\n"
	".popsection\n");
extern const char builtin_policy[] __attribute__((visibility("hidden")));
extern const char builtin_policy_end[] __attribute__((visibility("hidden")));

static FILE *
policy_open(const char *path, struct err *e)
{
	FILE *f = *path != '\0' ? fopen(path, "re")
				: fmemopen((void *)builtin_policy, (size_t)(builtin_policy_end - builtin_policy), "r");

	if (f == NULL)
		err_sys(e, "seccomp_policy: open %s", *path != '\0' ? path : "the one built in");
	return f;
}

static int
policy_read(struct filter_policy *p, const char *path, struct err *e)
{
	FILE *f = policy_open(path, e);

	if (f == NULL)
		return -1;
	int r = filter_parse(p, f, *path != '\0' ? path : "seccomp.policy", e);
	fclose(f);
	return r;
}

int
filter_compile(const char *path, struct err *e)
{
	struct filter_policy   policy;
	struct filter_program *program = malloc(sizeof(*program));
	int                    fd = -1;

	if (program == NULL)
		return err_set(e, E_SYS, "no memory for a seccomp program");
	if (policy_read(&policy, path, e) == 0) {
		if (filter_emit(program, &policy, e) == 0)
			fd = memfd_of("seccomp", program->code, program->n * sizeof(*program->code), e);
		filter_policy_clear(&policy);
	}
	free(program);
	return fd;
}

void
filter_print(FILE *f)
{
	fwrite(builtin_policy, 1, (size_t)(builtin_policy_end - builtin_policy), f);
}
