/*
 * What LangBot asks for, made of what boxd can do: contexts, the fence, and each action as one or more
 * requests to sessions and to the store.
 */
#pragma once

#include "core/ask.h"
#include "boxd.h"
#include "wire/msg.h"

struct langbot *langbot_open(struct boxd *, struct err *);
void            langbot_close(struct langbot **);

/* BOX_* and SKILL_*: all that have a context in front. */
int langbot_deliver(struct boxd *, const struct msg *, struct err *);

/* A connection is gone (0: all of them): its actions are cancelled. */
void langbot_conn_gone(struct langbot *, uint64_t conn);

/* End the sessions of a workspace, except keep (a session's name, or NULL); fn when the last is gone, perhaps at once. */
void langbot_drop_sessions(struct langbot *, const struct msg_context *, const char *keep, ask_fn *fn, void *arg);

/* nsjail, native, or empty when boxd has no such backend as the configured one. */
const char *langbot_backend(const struct langbot *);

/* As box_init left them.  Paths are resolved, and empty when there are none. */
const struct msg_box_limits  *langbot_limits(const struct langbot *);
const struct msg_store_ready *langbot_paths(const struct langbot *);

/* Sessions of this context's generation, and managed processes that run in them; NULL: in all of LangBot's. */
size_t   langbot_sessions(const struct langbot *, const struct msg_context *);
uint64_t langbot_processes(const struct langbot *, const struct msg_context *);

/* For a session of LangBot's, by what box_init said: its roots, and how long ended processes are known.  Else nothing. */
void langbot_add_rules(const struct langbot *, const char *session, struct msg_worker_start *);
void langbot_retention(const struct langbot *, const char *session, uint64_t *sec, uint64_t *count);
