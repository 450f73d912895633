/*
 * A quota on directories of the host that no kernel keeps: they are measured before and
 * after each command and while any process of the session lives.
 *
 *	before   too much: the command is refused
 *	during   too much: every running command is killed, since any may be the writer
 *	after    too much: the result says so, with cause disk
 *	between  too much and growing: a background process writes, and the session ends
 *
 * Files change while they are counted, so too much is believed when it is seen twice.
 * What cannot be measured, or is too much to be looked at, counts as too much.
 *
 * When those who measure have died or do not answer, all commands are killed, and the
 * worker ends: it has no rights left to start others.  The next worker has.
 */
#pragma once

#include "base/err.h"
#include "wire/msg.h"

struct scanner;
struct worker;
struct watch;

/* Before the worker gives its rights up.  NULL and the reason. */
struct watch *watch_open(struct worker *, struct err *);

/*
 * Mounts of a command that count against the quota come when the worker has given its rights up.  So another process
 * starts a scanner that measures them too, and gives it to the worker, which takes it in place of its own.
 */
int watch_start_scanner(struct worker *, struct scanner *, struct err *);
int watch_take_scanner(struct worker *, struct scanner *, struct err *);

/* The worker is ready; commands may be running that another one started. */
void watch_wake(struct watch *);

/* An exec: held until there is room for sure, then started or refused.  mounts: its mount namespace, lent; or -1. */
int watch_before(struct watch *, struct msg *, int mounts, struct err *);

/* That exec is held here and shall not be started: 0, or -1 when it is not. */
int watch_cancel(struct watch *, uint64_t exec);

/* That exec has ended; exec_measured is called for it. */
void watch_after(struct watch *, uint64_t exec);

/* Nothing that is held will be started. */
void watch_fail_all(struct watch *, const struct err *);

void watch_close(struct watch **);
