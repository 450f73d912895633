/*
 * Profiles: what an agent's command gets that asks for nothing, what it may not ask for, and how long it may run.
 * LangBot's, to the number: the table of langbot-plugin 0.7, or that of 0.5, whose default had no network.
 */
#pragma once

#include "wire/msg.h"

#define DEFAULT_IMAGE "rockchin/langbot-sandbox:latest"

enum { PROFILES = PROFILE_OFFLINE_READONLY + 1 };

/* table: "0.5" or "0.7".  Borrows nothing: all of it is there for ever.  NULL: that table has none of the name. */
const struct msg_agent_profile *profile_get(const char *table, enum profile);

/* -1: the text lists the profiles. */
int profile_find(const char *table, const char *name, enum profile *, struct err *);

/* May a request say nothing of this field? */
bool profile_locks(const struct msg_agent_profile *, const char *field);
