#include "bpf.h"

#include <linux/bpf_common.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static uint32_t
load(const struct seccomp_data *d, uint32_t offset)
{
	uint32_t v;

	must(offset % 4 == 0 && offset + 4 <= sizeof(*d));
	memcpy(&v, (const char *)d + offset, 4);
	return v;
}

static bool
compare(unsigned code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	}
	abort();
}

/* Jumps only lead forward, so it ends. */
uint32_t
bpf_run(const struct sock_filter *code, size_t n, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t at = 0; at < n; at++) {
		const struct sock_filter *i = &code[at];

		if (i->code == (BPF_RET | BPF_K))
			return i->k;
		if (i->code == (BPF_LD | BPF_W | BPF_ABS))
			a = load(d, i->k);
		else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= i->k;
		else if (i->code == (BPF_JMP | BPF_JA))
			at += i->k;
		else {
			must(BPF_CLASS(i->code) == BPF_JMP && BPF_SRC(i->code) == BPF_K);
			at += compare(i->code, a, i->k) ? i->jt : i->jf;
		}
	}
	abort(); /* past its end */
}
