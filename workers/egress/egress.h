/* What all sessions of this process share; main.c builds it. */
#pragma once

#include "dns/dns.h"
#include "flow/hello.h"
#include "flow/tracked.h"
#include "flow/fairq.h"
#include "rules/boxd_ports.h"
#include "rules/route.h"
#include "rules/rule_sets.h"
#include "wire/link.h"

struct egress {
	struct ev_loop   *loop;
	struct link      *link;  /* owned, like all below */
	struct fairq     *fairq; /* NULL until started, like all below */
	struct routes    *routes;
	struct hello     *hello;
	struct resolver  *resolver;
	struct rule_sets *sets;
	char             *buffer; /* of PUMP_BUFFER; used by one flow after the other */
	int               spare;  /* a descriptor to give back when no other is left; -1: used */
	struct boxd_ports boxd_ports;
	struct tracked    tracked;     /* owned; of the host */
	uint64_t          connections; /* of one session at one time */
	uint64_t          dns_bytes;   /* of one session in a minute */
	uint64_t          descriptors; /* that this process may have */
	uint64_t          asking;      /* of these, for questions about names */
	uint64_t          flows;       /* of all sessions */
	uint64_t          tenants;
};
