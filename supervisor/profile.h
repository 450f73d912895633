/*
 * Profiles: what an agent's command gets that asks for nothing, what it may not ask for, and how long it may run.
 * LangBot's four, to the number.
 */
#ifndef SUPERVISOR_PROFILE_H
#define SUPERVISOR_PROFILE_H

#include "msg.h"

#define DEFAULT_IMAGE "rockchin/langbot-sandbox:latest"

/* Borrows nothing: all of it is there for ever. */
const struct msg_agent_profile *profile_get(enum profile);

/* -1: the text tells which there are. */
int profile_find(const char *name, enum profile *, struct err *);

/* May a request say nothing of this field? */
bool profile_locks(const struct msg_agent_profile *, const char *field);

#endif
