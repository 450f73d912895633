/* The walls around the gateway: those of proto/host/confine.c, no TCP by landlock, and clients to accept. */
#include "confine.h"

#include <seccomp.h>

#include "host/landlock.h"

/* Nothing makes a socket. */
static const int calls[] = {
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
};

int
confine(const struct confinement *c, struct err *e)
{
	struct confinement all = *c;

	all.net = LL_ALL_NET;
	all.calls = calls;
	all.n_calls = sizeof(calls) / sizeof(calls[0]);
	return confine_all(&all, e);
}
