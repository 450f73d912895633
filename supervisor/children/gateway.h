/*
 * The gateway process seen from inside: clients' requests come in here, replies and
 * notices go out.  It is restarted when it dies; sessions do not notice.
 */
#pragma once

#include "boxd.h"

struct identity;

/* Takes the listening socket. */
struct gateway *gateway_open(struct boxd *, int listener, struct err *);
void            gateway_close(struct gateway **);

/* To one client.  Nothing happens if the client or the gateway is gone. */
void gateway_reply(struct gateway *, enum msg_type, uint64_t conn, uint64_t id, const void *body);
void gateway_fail(struct gateway *, uint64_t conn, uint64_t id, const struct err *);
void gateway_notice(struct gateway *, enum msg_type, uint64_t conn, const void *body);

/* To the gateway itself.  The next one learns it from its GATEWAY_START. */
void gateway_tell(struct gateway *, enum msg_type, const void *body);

void gateway_send(struct gateway *, struct packet *);

/* Who a connection is; NULL when it is gone. */
struct identity *gateway_client(const struct gateway *, uint64_t conn);

/* It has shown that it may use /rpc/ws.  And how many have. */
void   gateway_client_is_rpc(struct gateway *, uint64_t conn);
size_t gateway_rpc(const struct gateway *);
/* boxd is stopping: say so to clients of LangBot's door; those of the control socket see it close. */
void gateway_go_away(struct gateway *);

size_t   gateway_connections(const struct gateway *);
uint64_t gateway_restarts(const struct gateway *);
