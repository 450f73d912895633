/* A client's message: which actor is it for. */
#ifndef SUPERVISOR_ROUTER_H
#define SUPERVISOR_ROUTER_H

#include "house.h"

/* -1: refused with a reason, which the caller tells the client. */
int route(struct house *, struct msg *, struct err *);

#endif
