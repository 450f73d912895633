/*
 * LangBot's door: HTTP/1.1 up to the upgrade, and the WebSockets behind it.  Every client of it is a stranger until
 * the supervisor has looked at what it presents.
 */
#pragma once

#include "base/netaddr.h"
#include "flow.h"
#include "langbot/actions.h"
#include "tls.h"
#include "uplink.h"

struct http;

struct http_plan {
	struct tls_keys   *tls; /* of accepted clients; borrowed; NULL: none */
	const struct strs *origins, *hosts;
	size_t             max_strangers; /* clients that have not shown who they are */
	uint64_t           max_rpc_file_bytes;
	uint64_t           relay_line_bytes;
	bool               legacy_clients;
};

/* Borrows the uplink. */
struct http *http_open(struct ev_loop *, struct uplink *, const struct http_plan *, struct err *);

/* A client of LangBot's door; fd is taken in any case. */
void http_accept(struct http *, int fd, const struct netaddr *from);

/* Close a stranger for a client of that address (NULL: of the control socket); false: no stranger is left. */
bool http_make_room(struct http *, const struct netaddr *from);

/* Clients of LangBot's door. */
size_t http_visitors(const struct http *);

/* A client of the control socket that turned out to speak HTTP; the flow is taken in any case. */
void http_adopt(struct http *, struct flow *);

/* Tell a client that there is no room for it; fd stays the caller's. */
void http_refuse(struct http *, int fd, const struct netaddr *from);

/* HTTP_LIMITS of the supervisor. */
void http_limit(struct http *, const struct msg_http_limits *);

/* boxd is stopping: every WebSocket is closed with 1001, and nobody else is let in. */
void http_go_away(struct http *);

/* Ends every connection; WebSockets get a close frame if their sockets accept it at once. */
void http_close(struct http **);
