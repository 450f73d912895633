/*
 * A mount namespace for one command: what its sandbox has mounted, and what the command names.
 *
 * The worker of a session has no rights left, so boxd keeps one more box-session that does nothing else.  Each
 * command has a child of it, forked ahead, that opens and judges the host's paths as the builder of a sandbox does.  If these
 * are what a namespace has that boxd kept, that one will do, and the child waits for the next command.  Else it enters the
 * user and mount namespaces of the sandbox, makes a copy of the latter, mounts there, and ends.  The descriptor of that namespace goes to
 * boxd, the worker and init, whose newborn enters it.  It lasts as long as a process is in it,
 * and what cannot be changed from inside is kept a while for the next command (supervisor/children/mountsets.h).
 */
#pragma once

#include "worker.h"

/* The first command.  The others come to the children directly; each is answered by MOUNTS_MADE in any case. */
int mounter_start(struct worker *, struct msg *, struct err *);
