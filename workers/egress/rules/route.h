/* Where an address leads from here: out, to this machine itself, or nowhere. */
#pragma once

#include "base/err.h"
#include "base/netaddr.h"

enum way {
	WAY_OUT,
	WAY_OWN,  /* an address of this machine, or a broadcast, anycast or multicast of its networks */
	WAY_NONE, /* there is no route */
};

struct routes;

struct routes *routes_open(struct err *); /* NULL and the reason */
void           routes_close(struct routes **);

/* What the kernel's tables say now.  WAY_OWN as well when they cannot be asked. */
enum way route_to(struct routes *, const struct netaddr *);
