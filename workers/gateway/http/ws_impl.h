/* What http/ sees of a WebSocket; its handler sees ws.h. */
#pragma once

#include "flow.h"
#include "http/ws.h"
#include "uplink.h"

/* On a flow whose handshake is done; borrows flow and caller.  heartbeat: ping a client that is silent. */
struct ws *ws_open(struct ev_loop *, struct flow *, struct caller *, bool heartbeat, struct err *);

/* The flow's on_bytes and on_drained, the caller's on_msg. */
size_t ws_bytes(struct ws *, const char *, size_t n);
void   ws_drained(struct ws *);
void   ws_deliver(struct ws *, struct msg *);

/* Report the end to the handler. */
void ws_close(struct ws **);
