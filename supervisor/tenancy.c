#include "tenancy.h"

#include <stdlib.h>
#include <string.h>

struct tenancy {
	struct house *house;
};

struct tenancy *
tenancy_open(struct house *h, struct err *e)
{
	struct tenancy *t = calloc(1, sizeof(*t));

	if (t == NULL)
		err_set(e, E_SYS, "no memory");
	else
		t->house = h;
	return t;
}

void
tenancy_close(struct tenancy **tp)
{
	free(*tp);
	*tp = NULL;
}
