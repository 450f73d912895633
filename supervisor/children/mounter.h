/*
 * Commands that name mounts of their own, while a mount namespace is made for them.  One box-session does that for all
 * sessions; it is started when it is first needed.
 */
#pragma once

#include <stdbool.h>

#include "core/session.h"
#include "boxd.h"
#include "wire/msg.h"

struct mounter;
struct request;

struct mounter *mounter_open(struct boxd *, struct err *);
void            mounter_close(struct mounter **);

/* Refuse what is obviously wrong, and find out whether it needs other mounts than its session has. */
int mounter_check(const struct msg_spec *session, const struct msg_exec *, bool *needed, struct err *);

/*
 * A mount namespace for a command whose artifacts are held.  0: *ns, to be closed, is one that was kept; 1: session_mounted()
 * follows.
 */
int mounter_ask(
    struct mounter *, struct session *, const struct msg_exec *, const struct request *, int *ns, struct err *);

/* Drop everything that is kept for this session. */
void mounter_forget(struct mounter *, const struct session *);
