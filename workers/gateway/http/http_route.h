/*
 * What a request is for, and whether it may be asked here: its target against the routes, its Host and Origin
 * against those that are ours.  Pure.
 */
#pragma once

#include "base/bounds.h"
#include "http/http_request.h"
#include "wire/msg.h"

enum http_route_kind { ROUTE_NONE, ROUTE_HEALTH, ROUTE_READY, ROUTE_RPC, ROUTE_RELAY };

struct http_route {
	enum http_route_kind kind;
	char                 session[LIM_NAME + 1]; /* relay: decoded */
	char                 process[LIM_NAME + 1];
};

/* 0, or the status to refuse it with and why. */
unsigned http_route_find(struct http_route *, const char *target, const char **why);

/* Is it an address, localhost or one of the names?  With or without a port. */
bool http_host_is_ours(const char *host, const struct strs *names);

bool http_origin_is_listed(const char *origin, const struct strs *origins);

/* A whole number from 1, without sign, leading zero or spaces; else 0. */
uint64_t http_generation(const char *);
