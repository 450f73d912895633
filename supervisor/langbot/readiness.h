/*
 * Can this machine do what LangBot requires?  Measured, and cached for as long as the policy says.
 */
#pragma once

#include "core/ask.h"

struct readiness *readiness_open(struct boxd *, struct err *);
void              readiness_close(struct readiness **);

/* Reply with a MSG_READINESS, perhaps before this returns. */
void readiness_ask(struct boxd *, uint64_t conn, uint64_t id);

/* After box_init. */
void readiness_forget(struct boxd *);

/* "Managed sandbox isolation is not ready (failed checks: ...)", or 0. */
int readiness_refusal(const struct msg_readiness *, struct err *);
