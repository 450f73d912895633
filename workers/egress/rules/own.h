/* The doors of boxd itself, which no rule opens. */
#ifndef EGRESS_OWN_H
#define EGRESS_OWN_H

#include "base/netaddr.h"
#include "wire/msg.h"

enum { OWN_MOST = 16 };

struct own {
	size_t n;
	struct {
		struct netaddr address;
		uint16_t       port;
	} v[OWN_MOST];
};

/* From "1.2.3.4:5", "[::1]:5". */
int own_parse(struct own *, const struct strs *, struct err *);

/*
 * host_own: the address is one of this machine.  There such a port is refused on all of them: a door that listens on
 * one address may be reached by another.
 */
bool own_is(const struct own *, const struct netaddr *, uint16_t port, bool host_own);

#endif
