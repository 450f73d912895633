/* The part of a spec that is about mounts and the root, as text: nothing of the host is looked at here. */
#ifndef SUPERVISOR_MOUNTSPEC_H
#define SUPERVISOR_MOUNTSPEC_H

#include "err.h"
#include "msg.h"

/* Fill in defaults and refuse what can be seen to be wrong. */
int mountspec_fill(struct msg_spec *, struct err *);

/* The same set of extra mounts?  Neither order nor repetition counts, nor those with mode none. */
bool mountspec_same_extra(const struct msg_spec *, const struct msg_spec *);

/* Does it name any path of the host? */
bool mountspec_wants_host(const struct msg_spec *);

/* Is it what a sandbox is built with when nobody asks for anything?  But for its image. */
bool mountspec_is_default(const struct msg_spec *);

#endif
