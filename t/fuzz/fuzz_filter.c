/*
 * The policy parser on any text.  What it takes compiles into a program that the
 * kernel would load, and that ends, in every ABI and for any call.
 */
#include <seccomp.h>

#include "bpf.h"
#include "fuzz.h"
#include "supervisor/config/filter_bpf.h"

static const uint32_t abis[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_AARCH64, SCMP_ARCH_ARM };

enum { ABIS = sizeof(abis) / sizeof(*abis) };

/* Its own bytes are the arguments, shifted a little for each call. */
static void
try_calls(const struct filter_program *p, const uint8_t *bytes, size_t n)
{
	struct seccomp_data d = { 0 };

	for (unsigned nr = 0; nr < 600; nr++)
		for (size_t i = 0; i <= ABIS; i++) {
			for (size_t b = 0; b < sizeof(d.args); b++)
				((uint8_t *)d.args)[b] = bytes[(b + nr) % n];
			d.nr = (int)nr;
			d.arch = i < ABIS ? abis[i] : 7;
			bpf_run(p->code, p->n, &d);
		}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct filter_program program;
	struct filter_policy         policy;
	struct err                   e = { 0 };

	if (n == 0)
		return 0;
	FILE *f = fmemopen((void *)(uintptr_t)p, n, "r");
	if (f == NULL)
		return 0;
	if (filter_parse(&policy, f, "fuzz", &e) == 0) {
		if (filter_emit_for(&program, &policy, abis, ABIS, &e) == 0)
			try_calls(&program, p, n);
		filter_policy_clear(&policy);
	} else if (strncmp(e.text, "fuzz:", 5) != 0)
		abort(); /* an error without its place */
	fclose(f);
	return 0;
}
