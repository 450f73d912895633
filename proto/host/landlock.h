/* A landlock ruleset: what a process may do with files, whatever file modes and mounts say. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Debian 12's headers end at ABI 2. */
enum {
	LL_EXECUTE = 1 << 0,
	LL_WRITE_FILE = 1 << 1,
	LL_READ_FILE = 1 << 2,
	LL_READ_DIR = 1 << 3,
	LL_REMOVE_DIR = 1 << 4,
	LL_REMOVE_FILE = 1 << 5,
	LL_MAKE_CHAR = 1 << 6,
	LL_MAKE_DIR = 1 << 7,
	LL_MAKE_REG = 1 << 8,
	LL_MAKE_SOCK = 1 << 9,
	LL_MAKE_FIFO = 1 << 10,
	LL_MAKE_BLOCK = 1 << 11,
	LL_MAKE_SYM = 1 << 12,
	LL_REFER = 1 << 13,     /* ABI 2 */
	LL_TRUNCATE = 1 << 14,  /* 3 */
	LL_IOCTL_DEV = 1 << 15, /* 5 */
	LL_ALL_FILES = (1 << 16) - 1,

	LL_ALL_NET = 3, /* 4: bind and connect TCP */

	LL_SCOPE_ABSTRACT = 1, /* 6: connect to abstract sockets of other domains */
	LL_SCOPE_SIGNAL = 2,
};

struct landlock_rules {
	int      fd; /* owned */
	uint64_t handled;
};

/*
 * What is handled is forbidden where no rule allows it; abstract sockets and signals end at the
 * domain where the kernel knows how.  1: this kernel has no landlock that would do; -1 and why.
 * Without LL_REFER nothing can be moved to another directory, and the first ABI does.
 */
int landlock_rules_open(struct landlock_rules *, uint64_t files, uint64_t net, struct err *);

/* The same, but only these scopes end at the domain. */
int landlock_rules_open_scoped(struct landlock_rules *, uint64_t files, uint64_t net, uint64_t scopes, struct err *);

/* All of this beneath a place; name is for the error. */
int landlock_rules_allow(const struct landlock_rules *, int place, uint64_t what, const char *name, struct err *);

/* From here on, for this process and all that come from it. */
int  landlock_rules_restrict(const struct landlock_rules *, struct err *);
void landlock_rules_close(struct landlock_rules *);
