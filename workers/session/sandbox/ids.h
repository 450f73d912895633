/*
 * Who a worker is once its sandbox stands.  Of a session's uids the last is the worker's own and is not mapped into the
 * sandbox; the first is root inside.  The worker keeps the latter as its saved uid: only with that effective uid may it
 * kill init and open a v1 tasks file that a command can write itself into.  Gids are the same numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct ids {
	uid_t worker;
	uid_t sandbox; /* the same where boxd has one uid only */
};

struct ids ids_of(uint64_t uid_base, uint64_t uid_count);

static inline bool
ids_differ(const struct ids *i)
{
	return i->worker != i->sandbox;
}

/* How many uids from the first on the sandbox has. */
uint32_t ids_mapped(uint64_t uid_count);

/* As root: what is made now belongs to the worker; and to root again. */
int  ids_make_as_worker(const struct ids *, struct err *);
void ids_make_as_root(const struct ids *);

/* Be the sandbox's uid for the next call, and root or the worker again. */
void ids_act_as_sandbox(const struct ids *);
void ids_act_as_ourselves(const struct ids *);
