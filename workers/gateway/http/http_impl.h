/* Between the files of this room: http.c has all visitors, http_visit.c each of them. */
#pragma once

#include <sys/queue.h>

#include "base/tally.h"
#include "http/http.h"
#include "http/http_request.h"
#include "http/http_route.h"
#include "strangers.h"

#define GOING_AWAY "Box runtime shutting down"
#define NEEDED "another client needed its place"

struct visitor {
	LIST_ENTRY(visitor) next;
	struct http        *http;
	struct flow        *flow;   /* owned */
	struct caller      *caller; /* owned */
	struct http_request request;
	struct http_route   route;
	enum { READING, ASKING, UPGRADED, ANSWERED } state;
	bool            local;    /* came by the control socket */
	bool            resting;  /* ASKING: answered, and the answer is still on its way */
	uint64_t        asked;    /* requests made to the supervisor so far; the last one's id */
	struct stranger stranger; /* one until it has shown who it is, unless local */
	struct ws      *ws;       /* owned; UPGRADED */
};

LIST_HEAD(visitors, visitor);

struct http {
	struct ev_loop       *loop;
	struct uplink        *up;
	struct tls_keys      *tls;
	struct strs           origins, hosts; /* owned */
	struct strangers      strangers;
	struct tally          refusals;
	size_t                remote; /* visitors that are not local */
	struct actions_shared shared;
	uint64_t              relay_line_bytes;
	bool                  going_away;
	struct visitors       visitors; /* owned */
};

/* Without its flow yet.  from: its address; NULL: it came by the control socket. */
struct visitor *visitor_open(struct http *, const struct netaddr *from, struct err *);
void            visitor_close(struct visitor *);

/* It has its flow: report it to the supervisor, and start its timer. */
void visitor_begin(struct visitor *);

/* Another client needs its place. */
void visitor_make_room(struct visitor *);

/* boxd is stopping. */
void visitor_go_away(struct visitor *);

extern const struct flow_ops visitor_flow_ops;
