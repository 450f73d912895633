/*
 * A struct of messages.def that owns its strings and lists, for whoever needs it longer than
 * the message it came in.
 */
#pragma once

#include "wire/msg.h"

struct owned_msg {
	struct buf bytes; /* owned */
	struct msg msg;   /* owned */
};

/* Copy a struct msg_<type>; *body becomes the copy.  What was kept before goes, but only on success. */
int  owned_msg_copy(struct owned_msg *, enum msg_type, void *body, struct err *);
void owned_msg_clear(struct owned_msg *);
