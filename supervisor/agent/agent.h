/*
 * Agents without LangBot: what its service layer does around a command is done here, with requests of our own to
 * the session.
 *
 *	plan -> CREATE -> EXEC -> the result, made short
 *	                       `-> too much in the workspace: DELETE -> a refusal
 */
#pragma once

#include "core/ask.h"

struct agent *agent_open(struct boxd *, struct err *);
void          agent_close(struct agent **);

/* Their requests, by their names. */
int agent_exec(struct boxd *, const struct msg *, struct err *);
int agent_profiles(struct boxd *, const struct msg *, struct err *);
int agent_errors(struct boxd *, const struct msg *, struct err *);
int agent_status(struct boxd *, const struct msg *, struct err *);

/* A CANCEL that names an agent_exec of its connection: true, and it is answered. */
bool agent_cancel(struct agent *, const struct msg *);

/* A connection is gone (0: all of them): its commands are cancelled. */
void agent_conn_gone(struct agent *, uint64_t conn);
