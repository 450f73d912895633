#include "actions.h"

int
actions_open(struct ws *w, struct actions_shared *shared, struct err *e)
{
	(void)w;
	(void)shared;
	return err_set(e, E_STATE, "no actions");
}
