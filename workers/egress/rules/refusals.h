/* What a namespace refused by itself, as nfnetlink_log reports it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/netaddr.h"
#include "wire/msg.h"

struct refusal {
	enum net_kind  kind; /* NET_TCP, NET_UDP or NET_OTHER */
	struct netaddr to;
	uint16_t       port;     /* 0 of NET_OTHER, and of a fragment */
	bool           too_fast; /* no rule refused it: there were too many connections at once */
};

typedef void refusal_fn(void *arg, const struct refusal *);

/* The packets of one netlink message, or of several in a row; what cannot be read is passed over. */
void refusals_parse(const void *bytes, size_t n, refusal_fn *, void *arg);

/* At most this many messages that wait at the socket; true: there may be more. */
bool refusals_take(int fd, int most, refusal_fn *, void *arg);

/* Which rule of the namespace that was, in words. */
void refusal_rule(const struct refusal *, char rule[LIM_NET_RULE + 1]);
