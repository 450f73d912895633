/* The ports of boxd itself, which no rule opens. */
#pragma once

#include "base/netaddr.h"
#include "wire/msg.h"

enum { BOXD_PORTS_MOST = 16 };

struct boxd_ports {
	size_t n;
	struct {
		struct netaddr address;
		uint16_t       port;
	} v[BOXD_PORTS_MOST];
};

/* From "1.2.3.4:5", "[::1]:5". */
int boxd_ports_parse(struct boxd_ports *, const struct strs *, struct err *);

/*
 * host_own: the address is one of this machine.  There such a port is refused on all of them: a port that listens on
 * one address may be reached by another.
 */
bool boxd_ports_have(const struct boxd_ports *, const struct netaddr *, uint16_t port, bool host_own);
