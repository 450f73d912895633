/*
 *	which ABI?          not ours: ENOSYS
 *	which call?         a search that halves; not in the policy: allowed
 *	its rules in order  each jumps behind itself when a test fails, else returns
 *
 * A conditional jump reaches 255 instructions and a plain one any distance, so
 * conditions only ever skip a plain jump.
 */
#include "filter_bpf.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

enum {
	FEW = 4, /* calls that are looked through one by one */
	X32 = 0x40000000,
	MOST_CALLS = 512, /* of one ABI; its numbers end below */
};

/* A rule under its number in one ABI. */
struct entry {
	unsigned                  nr;
	const struct filter_rule *rule; /* sorted by number, then by place in the policy */
};

/* ---- instructions ----------------------------------------------------------- */

/* Past the end nothing is stored, but counted: filter_emit_for looks once. */
static size_t
emit(struct filter_program *p, unsigned code, unsigned k, unsigned jt, unsigned jf)
{
	if (p->n < BPF_MAXINSNS)
		p->code[p->n] = (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
	return p->n++;
}

static void
emit_load(struct filter_program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void
emit_return(struct filter_program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

static size_t
emit_jump(struct filter_program *p)
{
	return emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

/* Make the jump at this place lead to here. */
static void
land(struct filter_program *p, size_t jump)
{
	if (jump < BPF_MAXINSNS)
		p->code[jump].k = (unsigned)(p->n - jump - 1);
}

/* ---- tests ------------------------------------------------------------------- */

static size_t
half_of(unsigned arg, bool upper)
{
	bool second = upper == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	return offsetof(struct seccomp_data, args) + 8 * arg + (second ? 4 : 0);
}

/* Both: the jump of a failed test, to be landed. */
static size_t
emit_pointer_test(struct filter_program *p, const struct filter_test *t)
{
	bool null = t->op == FILTER_EQ;

	emit_load(p, half_of(t->arg, true));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, null ? 2 : 3);
	emit_load(p, half_of(t->arg, false));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, null ? 1 : 0, null ? 0 : 1);
	return emit_jump(p);
}

static size_t
emit_test(struct filter_program *p, const struct filter_test *t)
{
	static const struct {
		unsigned code;
		bool     holds; /* when the jump's condition does */
	} ops[] = {
		[FILTER_EQ] = { BPF_JEQ, true },
		[FILTER_NE] = { BPF_JEQ, false },
		[FILTER_GT] = { BPF_JGT, true },
		[FILTER_GE] = { BPF_JGE, true },
		[FILTER_LT] = { BPF_JGE, false },
		[FILTER_LE] = { BPF_JGT, false },
		[FILTER_ANY] = { BPF_JSET, true },
	};
	bool     holds = ops[t->op].holds;
	uint32_t value = t->op == FILTER_ANY ? t->mask : t->value;

	if (t->pointer)
		return emit_pointer_test(p, t);
	emit_load(p, half_of(t->arg, false));
	if (t->op != FILTER_ANY && t->mask != UINT32_MAX)
		emit(p, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
	emit(p, BPF_JMP | ops[t->op].code | BPF_K, value, holds, !holds);
	return emit_jump(p);
}

/* ---- calls -------------------------------------------------------------------- */

static size_t
same_call(const struct entry *v, size_t n)
{
	size_t i = 1;

	while (i < n && v[i].nr == v[0].nr)
		i++;
	return i;
}

static void
emit_rules(struct filter_program *p, const struct entry *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct filter_rule *r = v[i].rule;
		size_t                    failed[FILTER_TESTS];

		for (unsigned t = 0; t < r->ntests; t++)
			failed[t] = emit_test(p, &r->tests[t]);
		emit_return(p, r->action);
		if (r->ntests == 0)
			return;
		for (unsigned t = 0; t < r->ntests; t++)
			land(p, failed[t]);
	}
	emit_return(p, SECCOMP_RET_ALLOW);
}

/* The number is in the accumulator, and stays there until a call's own rules. */
static void
emit_search(struct filter_program *p, const struct entry *v, size_t n)
{
	if (n > FEW && v[0].nr != v[n - 1].nr) {
		size_t half = n / 2;

		while (half > 0 && v[half - 1].nr == v[half].nr)
			half--;
		if (half == 0)
			half = same_call(v, n);
		emit(p, BPF_JMP | BPF_JGE | BPF_K, v[half].nr, 0, 1);
		size_t right = emit_jump(p);
		emit_search(p, v, half);
		land(p, right);
		emit_search(p, v + half, n - half);
		return;
	}
	for (size_t i = 0, same; i < n; i += same) {
		same = same_call(v + i, n - i);
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, v[i].nr, 1, 0);
		size_t another = emit_jump(p);
		emit_rules(p, v + i, same);
		land(p, another);
	}
	emit_return(p, SECCOMP_RET_ALLOW);
}

/* ---- ABIs ---------------------------------------------------------------------- */

/*
 * i386 has some calls twice, by number and through socketcall, whose arguments no
 * filter can see; libseccomp then tells a number of its own for both.
 */
static int
number_in(uint32_t abi, const struct filter_rule *r)
{
	int nr = seccomp_syscall_resolve_name_arch(abi, r->call);

	if (nr == __NR_SCMP_ERROR)
		return r->number;
	for (int i = 0; nr < 0 && nr > -1000 && i < MOST_CALLS; i++) {
		char *name = seccomp_syscall_resolve_num_arch(abi, i);

		if (name != NULL && strcmp(name, r->call) == 0)
			nr = i;
		free(name);
	}
	return nr; /* below 0: this ABI does not have it */
}

static int
by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void
emit_abi(struct filter_program *p, const struct filter_policy *policy, uint32_t abi, struct entry *v)
{
	size_t n = 0;

	for (size_t i = 0; i < policy->n; i++) {
		int nr = number_in(abi, &policy->rules[i]);

		if (nr >= 0)
			v[n++] = (struct entry){ (unsigned)nr, &policy->rules[i] };
	}
	qsort(v, n, sizeof(*v), by_number);
	emit_load(p, offsetof(struct seccomp_data, nr));
	if (abi == SCMP_ARCH_X86_64) { /* x32 calls itself x86_64 and has this bit in every number */
		emit(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
		emit_return(p, SECCOMP_RET_ERRNO | ENOSYS);
	}
	emit_search(p, v, n);
}

int
filter_emit_for(
    struct filter_program *p, const struct filter_policy *policy, const uint32_t *abis, size_t n, struct err *e)
{
	struct entry *v = calloc(policy->n + 1, sizeof(*v));

	if (v == NULL)
		return err_set(e, E_SYS, "no memory for %zu rules", policy->n);
	p->n = 0;
	for (size_t i = 0; i < n; i++) {
		emit_load(p, offsetof(struct seccomp_data, arch));
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, abis[i], 1, 0);
		size_t another = emit_jump(p);
		emit_abi(p, policy, abis[i], v);
		land(p, another);
	}
	emit_return(p, SECCOMP_RET_ERRNO | ENOSYS);
	free(v);
	if (p->n > BPF_MAXINSNS)
		return err_set(e, E_INVALID, "the policy makes a program of %zu instructions, and the kernel takes %d",
		    p->n, BPF_MAXINSNS);
	return 0;
}

int
filter_emit(struct filter_program *p, const struct filter_policy *policy, struct err *e)
{
	uint32_t abis[2] = { seccomp_arch_native() };
	size_t   n = 1;

	if (abis[0] == SCMP_ARCH_X86_64)
		abis[n++] = SCMP_ARCH_X86;
	if (abis[0] == SCMP_ARCH_AARCH64)
		abis[n++] = SCMP_ARCH_ARM;
	return filter_emit_for(p, policy, abis, n, e);
}
