/*
 * The program that a policy becomes.  We write it ourselves because a policy's rules are tried in the order in which they
 * are written, and libseccomp sorts the rules of a call by its own criteria.  From libseccomp come the call numbers of each ABI.
 *
 *	which ABI?          not ours: ENOSYS
 *	which call?         a search that halves; not in the policy: its default
 *	its rules in order  each jumps behind itself when a test fails, else returns
 *
 * The numbers of an ABI are cut into segments: neighbours that are decided alike without
 * a look at their arguments are one, and so is every gap.  A list of allowed calls has
 * few gaps, so the program stays short though it decides every number.
 *
 * A conditional jump reaches 255 instructions: all of a rule, but not always the second
 * half of a search.  Then it leads over a plain one, which reaches any distance.
 */
#include "config/filter_bpf.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

enum {
	REACH = 255,   /* of a conditional jump */
	FAILS = REACH, /* where a test leads that does not hold, until that place is known; no rule is so long */
	X32 = 0x40000000,
	MOST_CALLS = 512, /* of one ABI; its numbers end below */
};

/* A rule under its number in one ABI. */
struct entry {
	unsigned                  nr;
	const struct filter_rule *rule; /* sorted by number, then by place in the policy */
};

/* Numbers from this one to the next segment's.  Rules: one call's, in order; none: the action, for all of them. */
struct segment {
	unsigned            first;
	const struct entry *rules;
	size_t              n;
	uint32_t            action;
};

/*
 * Init runs under the policy too and needs these for every command, so no policy names
 * them.  It adds a filter of its own that refuses them to commands.
 */
static const struct filter_rule of_init[] = {
	{ .call = "clone3", .number = 435, .action = SECCOMP_RET_ALLOW },
	{ .call = "seccomp", .number = -1, .action = SECCOMP_RET_ALLOW },
	{ .call = "setns", .number = -1, .action = SECCOMP_RET_ALLOW },
};

enum { OF_INIT = sizeof(of_init) / sizeof(*of_init) };

/* ---- instructions ----------------------------------------------------------- */

/* Past the end nothing is stored, but counted: filter_emit_for looks once. */
static size_t
emit_insn(struct filter_program *p, unsigned code, unsigned k, unsigned jt, unsigned jf)
{
	if (p->n < BPF_MAXINSNS)
		p->code[p->n] = (struct sock_filter){ (uint16_t)code, (uint8_t)jt, (uint8_t)jf, k };
	return p->n++;
}

static void
emit_load(struct filter_program *p, size_t offset)
{
	emit_insn(p, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void
emit_return(struct filter_program *p, uint32_t action)
{
	emit_insn(p, BPF_RET | BPF_K, action, 0, 0);
}

static size_t
emit_jump(struct filter_program *p)
{
	return emit_insn(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

/* Make the jump at this place lead to here. */
static void
jump_land(struct filter_program *p, size_t jump)
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

static void
emit_pointer_test(struct filter_program *p, const struct filter_test *t)
{
	bool null = t->op == FILTER_EQ;

	emit_load(p, half_of(t->arg, true));
	emit_insn(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, null ? FAILS : 2);
	emit_load(p, half_of(t->arg, false));
	emit_insn(p, BPF_JMP | BPF_JEQ | BPF_K, 0, null ? 0 : FAILS, null ? FAILS : 0);
}

static void
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

	if (t->pointer) {
		emit_pointer_test(p, t);
		return;
	}
	emit_load(p, half_of(t->arg, false));
	if (t->op != FILTER_ANY && t->mask != UINT32_MAX)
		emit_insn(p, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
	emit_insn(p, BPF_JMP | ops[t->op].code | BPF_K, value, holds ? 0 : FAILS, holds ? FAILS : 0);
}

/* Tests from there on that do not hold lead to here. */
static void
land_tests(struct filter_program *p, size_t from)
{
	for (size_t i = from; i < p->n && i < BPF_MAXINSNS; i++) {
		struct sock_filter *c = &p->code[i];

		if (BPF_CLASS(c->code) != BPF_JMP)
			continue;
		if (c->jt == FAILS)
			c->jt = (uint8_t)(p->n - i - 1);
		if (c->jf == FAILS)
			c->jf = (uint8_t)(p->n - i - 1);
	}
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
emit_rules(struct filter_program *p, const struct entry *v, size_t n, uint32_t otherwise)
{
	for (size_t i = 0; i < n; i++) {
		const struct filter_rule *r = v[i].rule;
		size_t                    from = p->n;

		for (unsigned t = 0; t < r->ntests; t++)
			emit_test(p, &r->tests[t]);
		emit_return(p, r->action);
		if (r->ntests == 0)
			return;
		land_tests(p, from);
	}
	emit_return(p, otherwise);
}

/* The second half begins here.  Jumps within the first stay right when it moves: all are relative. */
static void
land_search(struct filter_program *p, size_t at)
{
	size_t far = p->n - at - 1;

	if (far > REACH) {
		emit_jump(p); /* room for one more */
		if (p->n > BPF_MAXINSNS)
			return;
		memmove(&p->code[at + 2], &p->code[at + 1], far * sizeof(*p->code));
		p->code[at].jf = 1;
		p->code[at + 1] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (unsigned)far };
	} else if (at < BPF_MAXINSNS)
		p->code[at].jt = (uint8_t)far;
}

/* The number is in the accumulator, and stays there until a call's own rules. */
static void
emit_search(struct filter_program *p, const struct segment *v, size_t n)
{
	if (n == 1) {
		emit_rules(p, v->rules, v->n, v->action);
		return;
	}
	size_t half = n / 2;
	size_t at = emit_insn(p, BPF_JMP | BPF_JGE | BPF_K, v[half].first, 0, 0);
	emit_search(p, v, half);
	land_search(p, at);
	emit_search(p, v + half, n - half);
}

/* ---- segments ------------------------------------------------------------------ */

/* The next number that nobody named, or a call whose arguments do not matter: it may be as its neighbours are. */
static size_t
segment_plain(struct segment *v, size_t n, unsigned first, uint32_t action)
{
	if (n > 0 && v[n - 1].n == 0 && v[n - 1].action == action)
		return n;
	v[n] = (struct segment){ .first = first, .action = action };
	return n + 1;
}

/* Room for 2 * n + 1: each call and the gap behind it. */
static size_t
segments_of(struct segment *v, const struct entry *e, size_t n, uint32_t otherwise)
{
	size_t   made = segment_plain(v, 0, 0, otherwise);
	unsigned next = 0;

	for (size_t i = 0, same; i < n; i += same) {
		same = same_call(e + i, n - i);
		if (e[i].nr == 0)
			made = 0;
		else if (e[i].nr > next)
			made = segment_plain(v, made, next, otherwise);
		if (e[i].rule->ntests == 0)
			made = segment_plain(v, made, e[i].nr, e[i].rule->action);
		else
			v[made++] = (struct segment){ e[i].nr, e + i, same, otherwise };
		next = e[i].nr + 1;
	}
	return segment_plain(v, made, next, otherwise);
}

/* ---- ABIs ---------------------------------------------------------------------- */

/*
 * i386 has some calls twice, by number and through socketcall, whose arguments no
 * filter can see; libseccomp then has a number of its own for both.
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

static size_t
entry_add(struct entry *v, size_t n, uint32_t abi, const struct filter_rule *r)
{
	int nr = number_in(abi, r);

	if (nr >= 0)
		v[n++] = (struct entry){ (unsigned)nr, r };
	return n;
}

static int
emit_abi(struct filter_program *p, const struct filter_policy *policy, uint32_t abi, struct err *e)
{
	struct entry   *v = calloc(policy->n + OF_INIT, sizeof(*v));
	struct segment *s = calloc(2 * (policy->n + OF_INIT) + 1, sizeof(*s));
	size_t          n = 0;

	if (v == NULL || s == NULL) {
		free(v);
		free(s);
		return err_set(e, E_SYS, "no memory for %zu rules", policy->n);
	}
	for (size_t i = 0; i < policy->n; i++)
		n = entry_add(v, n, abi, &policy->rules[i]);
	for (size_t i = 0; i < OF_INIT; i++)
		n = entry_add(v, n, abi, &of_init[i]);
	qsort(v, n, sizeof(*v), by_number);
	emit_load(p, offsetof(struct seccomp_data, nr));
	if (abi == SCMP_ARCH_X86_64) { /* x32 calls itself x86_64 and has this bit in every number */
		emit_insn(p, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
		emit_return(p, SECCOMP_RET_ERRNO | ENOSYS);
	}
	emit_search(p, s, segments_of(s, v, n, policy->otherwise));
	free(v);
	free(s);
	return 0;
}

int
filter_emit_for(
    struct filter_program *p, const struct filter_policy *policy, const uint32_t *abis, size_t n, struct err *e)
{
	p->n = 0;
	for (size_t i = 0; i < n; i++) {
		emit_load(p, offsetof(struct seccomp_data, arch));
		emit_insn(p, BPF_JMP | BPF_JEQ | BPF_K, abis[i], 1, 0);
		size_t another = emit_jump(p);
		if (emit_abi(p, policy, abis[i], e) == -1)
			return -1;
		jump_land(p, another);
	}
	emit_return(p, SECCOMP_RET_ERRNO | ENOSYS);
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
