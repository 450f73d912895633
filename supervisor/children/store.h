/*
 * box-store seen from outside: skills and LangBot's workspace directories.  It is started when it is needed
 * or configured, and restarted when it dies; the requests that it had fail.
 */
#pragma once

#include "core/ask.h"

struct store *store_open(struct boxd *, struct err *);
void          store_close(struct store **);

/*
 * Another configuration: a second store tries it, and takes the place of the first when it stands.  fn gets a
 * MSG_STORE_READY, or a failure, and then nothing has changed.
 */
int store_configure(struct store *, const struct msg_box_local *, ask_fn *, void *arg, struct err *);

/* Ask it; as ask() does, but fn is never called before this returns.  An answer that is not wanted any more: ask_drop(). */
uint64_t store_ask(struct store *, enum msg_type, const void *body, ask_fn *, void *arg, struct err *);

/* The same with the id of an ask_open().  -1: refused at once. */
int store_send(struct store *, uint64_t id, enum msg_type, const void *body, struct err *);
