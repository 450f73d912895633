#include "door.h"

#include <stdlib.h>

struct door {
	struct house *house;
};

struct door *
door_open(struct house *h, struct err *e)
{
	struct door *d = calloc(1, sizeof(*d));

	if (d == NULL)
		err_set(e, E_SYS, "no memory");
	else
		d->house = h;
	return d;
}

void
door_close(struct door **dp)
{
	free(*dp);
	*dp = NULL;
}

int
door_auth(struct house *h, const struct msg *m, struct err *e)
{
	(void)h;
	(void)m;
	return err_set(e, E_UNAUTHORIZED, "Unauthorized");
}

const char *
door_instance(const struct door *d)
{
	(void)d;
	return "";
}
