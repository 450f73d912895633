/*
 * MessagePack-RPC of clients on one side, the supervisor's link
 * on the other, and which reply belongs to whom.
 */
#pragma once

#include "flow.h"
#include "uplink.h"

struct rpc;

/* A client that speaks HTTP: its flow is the callee's from here on. */
typedef void rpc_http(void *arg, struct flow *);

/* Borrows the uplink. */
struct rpc *rpc_open(struct ev_loop *, struct uplink *, rpc_http *, void *arg, struct err *);

/* A client; fd is taken in any case. */
void rpc_accept(struct rpc *, int fd);

/* Tell a client that there is no room for it; fd stays the caller's. */
void rpc_refuse(struct rpc *, int fd);

/* Close the oldest client that has sent nothing yet; false: there was no such client. */
bool rpc_make_room(struct rpc *);

/* Ends every connection. */
void rpc_close(struct rpc **);
