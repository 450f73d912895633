#include "cmd.h"
#include "cmd/exec.h"

static int
run_in_session(struct client *c, const struct args *a, void *input)
{
	return exec_run(c, a, a->v[0], a->v + 1, a->n - 1, input);
}

int
cmd_exec(const struct args *a)
{
	return exec_prepared(a, "exec", a->v + 1, a->n - 1, run_in_session);
}
