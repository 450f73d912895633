/*
 * The native door: MessagePack-RPC of clients on one side, the supervisor's link
 * on the other, and which reply belongs to whom.
 */
#ifndef GATEWAY_RPC_H
#define GATEWAY_RPC_H

#include <ev.h>
#include <stdint.h>

#include "link.h"
#include "listener.h"

struct rpc;

/* Borrows the link and the listener.  Connection ids count up from next_conn; most: an estimate of clients. */
struct rpc *rpc_open(struct ev_loop *, struct link *, struct listener *, uint64_t next_conn, size_t most, struct err *);

/* A client the listener has counted; fd is taken in any case. */
void rpc_accept(struct rpc *, int fd);

/* Tell a client that there is no room for it; fd stays the caller's. */
void rpc_refuse(struct rpc *, int fd);

/* A message of the supervisor for one of the clients. */
void rpc_deliver(struct rpc *, struct msg *);

/* Ends every connection. */
void rpc_close(struct rpc **);

#endif
