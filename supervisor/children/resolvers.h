/* Who box-egress asks for names: what the operator says, or what /etc/resolv.conf says, also when that changes. */
#pragma once

#include <ev.h>

#include "wire/msg.h"

struct resolvers;

/* configured: addresses with commas between; empty: /etc/resolv.conf, which is watched. */
struct resolvers *resolvers_open(
    struct ev_loop *, const char *configured, void (*changed)(void *), void *arg, struct err *);
void resolvers_close(struct resolvers **);

/* Lent until it changes. */
const struct strs *resolvers_list(const struct resolvers *);
