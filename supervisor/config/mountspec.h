/* The part of a spec that is about mounts and the root, as text: nothing of the host is looked at here. */
#pragma once

#include "base/err.h"
#include "wire/msg.h"

/* Fill in defaults and refuse what can be seen to be wrong.  of: whose extra mounts these are, spec or exec. */
int mountspec_fill(struct msg_spec *, const char *of, struct err *);

/* Is this mount one of its own? */
bool mountspec_has_extra(const struct msg_spec *, const struct msg_mount *);

/* Does it name any path of the host? */
bool mountspec_wants_host(const struct msg_spec *);

/* Is it what a sandbox is built with when nobody asks for anything?  But for its image. */
bool mountspec_is_default(const struct msg_spec *);
