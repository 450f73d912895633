/*
 * A session is one sandbox and the requests waiting on it.
 *
 *	STARTING -> READY <-> RESTARTING
 *	    \         |           /
 *	     `----> CLOSING <----'  -> freed by the registry
 *
 * Its worker process may crash and be replaced while the sandbox lives on
 * (RESTARTING).  CLOSING ends when a worker has reported that nothing is left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boxd.h"
#include "core/groups.h"

struct registry_entry;
struct request;
struct session;

/* Start a new one; the client of m (a CREATE) is answered when it stands.  NULL and the reason. */
struct session *session_create(
    struct boxd *, const char *name, const struct msg_spec *, uint32_t uid_base, const struct msg *m, struct err *);

/* Build a sandbox in advance.  Until it is claimed it has a name that no client can use. */
struct session *session_prepare(struct boxd *, const struct msg_spec *, uint32_t uid_base, struct err *);

/* Is it one of those, and ready for a session with this spec? */
bool session_is_spare(const struct session *);
bool session_fits(const struct session *, const struct msg_spec *);

/* Becomes the session that the client of m (a CREATE) asked for.  The registry has renamed it. */
int session_claim(struct session *, const struct msg_spec *, const struct msg *m, struct err *);

/* For the registry alone: the name is its key. */
void session_rename(struct session *, const char *name);

/* Take over one that an earlier boxd left standing. */
struct session *session_adopt(struct boxd *, const struct msg_session_state *, int dir, struct err *);

/* Remove what an earlier boxd left of one; its state, if it got as far as that. */
struct session *session_sweep(struct boxd *, uint64_t id, const struct msg_session_state *, int dir, struct err *);

/* No client can say a name that begins with a dot. */
#define SPARE_PREFIX ".spare."

/* Is that the name of a spare, which nobody misses? */
bool session_was_spare(const char *name);

/* A client's message for it. */
int session_deliver(struct session *, const struct msg *, struct err *);

bool session_is_closing(const struct session *);

/* Is it ready?  Then its idle time starts again. */
bool session_reuse(struct session *);

/* Has no worker got this exec of boxd's own yet? */
bool session_exec_waits(const struct session *, uint64_t id);

/* End it; why goes to the log and to clients that wait. */
void session_close(struct session *, const char *why);

/* The client of a request is gone: a command goes on without it unless it chose otherwise. */
void session_lose_client(struct request *);

const char            *session_name(const struct session *);
const struct msg_spec *session_spec(const struct session *);
uint32_t               session_uid_base(const struct session *);

/* Borrows from the session and the machine. */
struct msg_session_info session_info(const struct session *);

/* What it adds to the groups that it is counted in. */
struct group_sum session_sum(const struct session *);

/* Managed processes that have ended and can still be asked about. */
uint64_t session_ended_processes(const struct session *);

/* For the registry alone. */
void                   session_free(struct session *);
struct registry_entry *session_entry(struct session *);

/* A mount namespace for one of its commands, which it takes; or the reason for its failure.  The command may be gone. */
void session_mounted(struct session *, uint64_t exec, int mounts, const struct err *why);

/* Ask for it again; -1: no command waits for it any more. */
int session_mount_again(struct session *, uint64_t exec, struct err *);
