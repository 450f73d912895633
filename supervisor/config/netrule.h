/* One rule for the network as text: see proto/messages/network.def for what it means. */
#pragma once

#include "base/netaddr.h"
#include "wire/msg.h"

struct netrule {
	enum rule_action action;
	char             name[LIM_DNS_NAME + 1]; /* with neither name nor address it is for all */
	char             address[NETADDR_TEXT];
	unsigned         prefix;
	unsigned         port_low, port_high;
	char             text[LIM_NET_RULE + 1]; /* one blank between its words */
};

/* -1: the text names the wrong word and what is allowed there. */
int netrule_parse(struct netrule *, const char *text, struct err *);
