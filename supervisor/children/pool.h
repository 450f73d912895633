/*
 * Volumes: file systems of a fixed size and a fixed number of files, in files behind loop devices, mounted where the
 * host and LangBot see them too.  A kernel without project quotas bounds a directory this way, bytes and inodes both.
 * All of it is done by box-pool, a process that may block; here is only whom to answer.
 *
 * Volumes outlive boxd and the machine: what was mounted is mounted again before anything else is served.
 */
#pragma once

#include "core/ask.h"

/* What is recorded is mounted when this returns; what could not be is logged, and never hides or loses a file. */
struct pool *pool_open(struct boxd *, struct err *);
void         pool_close(struct pool **);

/* POOL_CREATE, POOL_REMOVE and POOL_STATUS of a client. */
int pool_deliver(struct boxd *, const struct msg *, struct err *);

/* Is there a volume for every workspace that is let in? */
bool pool_is_used(const struct boxd *);

/*
 * The volume of a workspace, by the name of its directory, made and mounted if it is not.  fn gets a MSG_POOL_VOLUME;
 * without a pool it is called with that at once, and empty.
 */
void pool_workspace(struct boxd *, const char *ns, ask_fn *, void *arg);

/* Ask box-pool.  A refusal is an answer, too, and comes before this returns. */
void pool_ask(struct pool *, enum msg_type, const void *body, ask_fn *, void *arg);
