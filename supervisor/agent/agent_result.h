/* What an agent is shown of a command's end. */
#pragma once

#include "agent/agent_plan.h"

struct agent_output {
	struct buf out, err; /* owned; what the result points to */
};

/* The result borrows from all of them.  -1: the output could not be read. */
int agent_result(struct msg_agent_result *, struct agent_output *, const struct agent_plan *,
    const struct msg_exec_result *, size_t limit, struct err *);

void agent_output_clear(struct agent_output *);
