/*
 * A session's state file (message SESSION_STATE): written by its worker before it gives
 * its rights up and later by the supervisor, read by the next worker and by the next
 * supervisor.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/msg.h"

#define STATE_FILE "state" /* in the session's directory */
#define STATE_NEW STATE_FILE ".new"
#define STATE_CONTROL "ctl" /* init's control socket, beside it */

/* Replace the file in that directory, whole or not at all. */
int statefile_write(int dir, const struct msg_session_state *, struct err *);

/*
 * Read it.  The message borrows from *bytes, which the caller owns; both are to be
 * cleared after success and failure.  1 when there is no file.
 */
int statefile_read(int dir, struct buf *bytes, struct msg *, struct err *);

/* When a process started, in clock ticks since boot; 0 when there is no such process. */
uint64_t process_start(pid_t);
