/*
 * The seccomp policy as text: etc/seccomp.policy, which also explains the language.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum {
	FILTER_TESTS = 4,           /* of one rule; no call has more arguments worth a look */
	FILTER_CALL = 31,           /* characters of a system call's name */
	FILTER_SAME_FROM = 424,     /* from this number on a call has the same one in every ABI */
	FILTER_SAME_BELOW = 100000, /* far above what the kernel will have; x32 starts higher */
};

enum filter_op { FILTER_EQ, FILTER_NE, FILTER_GT, FILTER_GE, FILTER_LT, FILTER_LE, FILTER_ANY };

/* About one argument: its lower half, as the kernel sees an int; or, for a pointer, all of it against NULL. */
struct filter_test {
	unsigned       arg;
	bool           pointer;
	enum filter_op op;
	uint32_t       mask; /* laid over the argument before it is compared */
	uint32_t       value;
};

/* One line is as many rules as it names calls. */
struct filter_rule {
	char               call[FILTER_CALL + 1];
	int                number; /* for a libseccomp that does not know the name; -1: none */
	uint32_t           action; /* as a filter returns it */
	struct filter_test tests[FILTER_TESTS];
	unsigned           ntests; /* all of them must hold */
};

struct filter_policy {
	struct filter_rule *rules; /* owned; the first that fits a call decides */
	size_t              n;
	uint32_t            otherwise; /* the action for a call that none fits */
	bool                has_default;
};

/* -1: the text is "name:line: what is wrong", and nothing is to be cleared. */
int  filter_parse(struct filter_policy *, FILE *, const char *name, struct err *);
void filter_policy_clear(struct filter_policy *);
