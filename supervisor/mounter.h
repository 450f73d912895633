/*
 * Commands that name mounts of their own, while a mount namespace is made for them.  One box-session does that for all
 * sessions; it is started when it is first needed.
 */
#ifndef SUPERVISOR_MOUNTER_H
#define SUPERVISOR_MOUNTER_H

#include <stdbool.h>

#include "house.h"
#include "msg.h"
#include "session.h"

struct mounter;

struct mounter *mounter_open(struct house *, struct err *);
void            mounter_close(struct mounter **);

/* Refuse what can be seen to be wrong, and tell whether it must see other mounts than its session has. */
int mounter_check(const struct msg_spec *session, const struct msg_exec *, bool *needed, struct err *);

/* session_mounted() follows.  exec: the command's id. */
int mounter_ask(struct mounter *, struct session *, const struct msg_exec *, uint64_t exec, struct err *);

#endif
