/*
 * Who may use a sandbox at all, when LangBot requires grants: the policy, grants with their expiry, revocations,
 * and the fences that only rise.  Revisions and revocations are in the state directory, so a restart forgets none.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

struct admission *admission_open(struct boxd *, struct err *);
void              admission_close(struct admission **);

/* The admission section of a box_init (has_admission: given; admission_error: malformed).  Cannot fail: it fails closed. */
void admission_configure(struct admission *, const struct msg_box_init *);

bool admission_enforced(const struct admission *);

/* Why the configuration is wrong; empty: it is not. */
const char *admission_config_error(const struct admission *);

const struct msg_box_policy *admission_policy(const struct admission *);

/* Does a grant let this context use sessions?  -1: no, and why.  The caller checks readiness. */
int admission_check(struct admission *, const struct msg_context *, struct err *);

/* How many sessions its grant allows; UINT64_MAX where no grant is needed. */
uint64_t admission_max_sessions(struct admission *, const struct msg_context *);

/* May the workspace, which has that many, have one more session?  One more managed process? */
int admission_check_session(struct admission *, const struct msg_context *, size_t have, bool is_new, struct err *);
int admission_check_process(struct admission *, const struct msg_context *, size_t have, struct err *);

struct admitted;

/* Refuse an admitted spec, or set the fields that the runtime decides.  See admission_spec.h. */
int admission_normalise(
    struct admission *, const struct msg_context *, struct msg_box_spec *, const struct admitted *, struct err *);

/* BOX_UPSERT_GRANT and BOX_REVOKE_GRANT: answered when sessions that must go are gone. */
int admission_upsert(struct boxd *, const struct msg *, struct err *);
int admission_revoke(struct boxd *, const struct msg *, struct err *);
