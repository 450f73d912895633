/*
 * All commands of the sandbox, by id.
 */
#pragma once

#include "loop.h"
#include "spawn.h"
#include "wire/msg.h"

struct execs;

/* marks: commands without a cgroup of their own are welcome.  NULL and the reason. */
struct execs *execs_open(struct loop *, const struct spawner *, bool marks, struct err *);

/* What a master asks; -1 and why not. */
int execs_spawn(struct execs *, struct msg *, struct err *);
int execs_cancel(struct execs *, uint64_t id, struct err *);
int execs_ack(struct execs *, const struct msg_output_ack *, struct err *);
int execs_detach(struct execs *, uint64_t id, struct err *);
int execs_release(struct execs *, uint64_t id, struct err *);

/* Of managed processes.  bytes: what *out borrows besides the process; to be cleared. */
int execs_look(
    const struct execs *, const struct msg_look *, struct msg_managed *out, struct buf bytes[2], struct err *);
int execs_remember(struct execs *, const struct msg_remember *, struct err *);
int execs_feed(struct execs *, uint64_t request, const struct msg_feed *, struct err *);
int execs_follow(struct execs *, const struct msg_follow *, struct msg_followed *out, struct err *);
int execs_terminate(struct execs *, const struct msg_terminate *, struct err *);

/* Go on for another master from where it says; out->execs.v is to be freed. */
int execs_attach(struct execs *, const struct msg_attach *, struct msg_attached *out, struct err *);

/* The next message for the master: 1 encoded, 0 none, -1 not now. */
int execs_next(struct execs *, struct packet *, struct err *);

/* What buffers of all sockets may hold, as the last command was told. */
struct sockets_limit {
	uint64_t bytes;      /* 0: any */
	bool     is_counted; /* the kernel bounds most of it by itself */
};

const struct sockets_limit *execs_sockets(const struct execs *);

/* All that run, for this reason. */
void execs_kill_all(struct execs *, enum cause, const char *why);

/* Children have died. */
void execs_child_signal(struct execs *);

/* Reap, look at the clock, free what is gone: once per turn of the loop. */
void execs_turn(struct execs *);

/* When the next turn is due at the latest. */
int64_t execs_wake(const struct execs *);

/* How many are known: running, or ended and not released. */
size_t execs_known(const struct execs *);
