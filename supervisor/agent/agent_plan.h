/*
 * What an agent's request becomes: which session, made how, and which command in it.  It sends
 * no request and looks at no file.
 */
#pragma once

#include "config/config.h"

struct agent_plan {
	char                            session_id[LIM_NAME + 1]; /* as the agent's host knows it */
	char                            session[LIM_NAME + 1];    /* as all others do */
	char                            host_path[LIM_PATH + 1];
	char                            workdir[LIM_PATH + 1];
	const struct msg_agent_profile *profile;
	struct msg_spec                 spec; /* borrows from here, the request and the rules */
	uint64_t                        timeout_sec;
};

/* What the operator has configured. */
struct agent_rules {
	const struct config *config;
	struct strs          roots; /* agent.mount_roots, without symlinks */
};

/* -1: LangBot's text of what is wrong. */
int agent_plan(struct agent_plan *, const struct agent_rules *, const struct msg_agent_exec *, struct err *);

/* What the names of a workspace's sessions begin with. */
void agent_prefix(const char *instance, const char *workspace, char prefix[LIM_NAME + 1]);
