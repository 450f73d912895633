#include "relay.h"

int
relay_open(struct ws *w, const struct relay_plan *plan, struct err *e)
{
	(void)w;
	(void)plan;
	return err_set(e, E_STATE, "no relay");
}
