/*
 * Verified copies of digest-addressed mounts (proto/wire/digest.h), kept in a cache of each workspace:
 *
 *	<state>/artifacts/<workspace>/<64 digits>/package/...	the copy, read-only
 *	<state>/artifacts/<workspace>/<64 digits>/about		its size
 *	<state>/artifacts/.staging/<number>/			a copy that is being made
 *	<state>/artifacts/.trash/<number>/			what is being removed
 *
 * A copy is made once, by box-artifact, and then mounted for every session and command of the workspace that names its
 * digest.  One that nobody holds may be dropped to make room, the one that was used longest ago first.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

struct artifacts *artifacts_open(struct boxd *, struct err *);
void              artifacts_close(struct artifacts **);

/* Copies that somebody uses.  They stay in the cache as long as it is held. */
struct artifact_hold;

/* Called once: all copies are there (why is NULL), or one cannot be had. */
typedef void artifact_fn(void *arg, const struct err *why);

/*
 * Hold a copy of every digest-addressed mount among these, for a session of this name; other mounts are skipped.
 *
 *	 0	all are there: *hold is set, or NULL when no mount is digest-addressed; fn is never called
 *	 1	*hold is set, and fn is called later, never from within this call
 *	-1	refused at once
 *
 * A hold whose fn got a failure still has to be released.  The mounts are copied.
 */
int artifact_hold(struct boxd *, const char *session, const struct msg_mount *, size_t n, artifact_fn *, void *arg,
    struct artifact_hold **hold, struct err *);

/* The same for a session that lives already: what is there is held, nothing is made, nothing fails. */
struct artifact_hold *artifact_hold_again(struct boxd *, const char *session, const struct msg_mount *, size_t n);

/* For a command of an earlier boxd, whose mounts are unknown: all copies of its workspace. */
struct artifact_hold *artifact_hold_all(struct boxd *, const char *session);

/* Also before fn was called: then it never is.  NULL is ignored. */
void artifact_release(struct artifact_hold **);

/* The highest number among its copies, or 0.  Two holds of the same digests hold the same copies if their numbers match. */
uint64_t artifact_newest(const struct artifact_hold *);

/*
 * Where the worker finds the copies of a session's workspace: <64 digits>/package in this directory.  Owned by the caller;
 * -1: the workspace has no copies.
 */
int artifact_dir(const struct boxd *, const char *session);
