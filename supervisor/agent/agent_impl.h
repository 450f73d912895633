/* Between the files of this room. */
#pragma once

#include <sys/queue.h>

#include "agent/agent.h"
#include "agent/agent_plan.h"
#include "wire/owned_msg.h"

/* One agent_exec on its way. */
struct agent_call {
	LIST_ENTRY(agent_call) next;
	struct agent         *agent;
	uint64_t              conn, id; /* who is answered */
	struct msg_agent_exec body;     /* borrows from the next */
	struct owned_msg      kept;
	struct agent_plan     plan;    /* borrows from the body */
	uint64_t              asked;   /* what it waits for */
	bool                  running; /* and that is the command */
	bool                  cancelled;
	/* sent when the session is gone: a result, or why it failed */
	struct msg_agent_result result; /* borrows from the next */
	struct owned_msg        result_kept;
	struct err              why;
};

LIST_HEAD(agent_calls, agent_call);

struct agent {
	struct boxd       *boxd;
	struct agent_rules rules; /* the paths of its roots are owned */
	struct agent_calls calls; /* owned */
};
