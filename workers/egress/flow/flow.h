/*
 * One connection that was let out: a socket in the sandbox's namespace, one out here, and what goes between them.
 *
 *	connecting -> open -> over
 *
 * Both sockets reset their peer when they are closed, until the end of both directions was passed on: then, and only
 * then, they close in order.  So a flow that is cut, or whose process dies, is never taken for one that has ended.
 */
#pragma once

#include "dns/requests.h"
#include "flow/hello.h"
#include "flow/pump.h"
#include "flow/fairq.h"
#include "rules/access.h"

#define FLOW_CONNECT_SEC 30.0  /* until the other side has answered */
#define FLOW_BUFFER (64 * KIB) /* bytes that the kernel keeps for a small one, each way and each side */
#define FLOW_HELLO_SEC 10.0    /* from the first byte to where it says whom it is for */

enum flow_end {
	FLOW_ENDED,  /* by both sides */
	FLOW_BROKEN, /* by one of them */
	FLOW_FAILED, /* it was never connected */
	FLOW_DENIED, /* by what it said */
};

struct flow;

struct flow_ops {
	/* So many bytes more. */
	void (*moved)(void *arg, uint64_t sent, uint64_t received);

	/* What it is for, by its first bytes and by each request of HTTP; name is empty if it shows no name.  false: cut it. */
	bool (*said)(void *arg, struct flow *, enum said, const char *name);

	/* It is over: close it now.  Called once. */
	void (*over)(void *arg, struct flow *, enum flow_end);
};

/* What all flows of a session have in common. */
struct flow_home {
	struct ev_loop *loop;
	struct fairq   *fairq;
	struct hello   *hello;
	char           *buffer; /* of PUMP_BUFFER */
	struct fairq_class *class;
	const struct flow_ops *ops;
	void                  *arg;
};

enum flow_look {
	LOOK_NOT,    /* nobody asked what it is for */
	LOOK_WAIT,   /* nothing passes, either way, before that is known */
	LOOK_SILENT, /* the client ended without a byte: nothing but that passes */
	LOOK_DONE,
};

struct flow {
	TAILQ_ENTRY(flow) next; /* for its session, oldest first */
	const struct flow_home *home;
	struct place            place;
	const char            **names; /* owned, in one piece: by which it was allowed */
	size_t                  n_names;
	struct turn             turn;
	struct wire             client, server; /* own their sockets */
	struct pump             out, in;
	bool                    small, connecting;
	bool                    client_error, server_error; /* it was reset, or worse */
	enum flow_look          look;
	struct requests         requests;   /* of HTTP; the gate of out when it was allowed for a name */
	ev_timer                late;       /* runs while it connects */
	ev_timer                hello_late; /* runs while only a part of its hello is here */
	uint64_t                since_ms;
};

TAILQ_HEAD(flow_list, flow);

struct flow_plan {
	int                client; /* taken in any case */
	struct place       place;
	const char *const *names;
	size_t             n_names;
	bool               look;  /* it was allowed for a name, so it must say that name */
	bool               small; /* its session has many: the kernel shall keep little for this one */
};

/* NULL, and errno. */
struct flow *flow_open(const struct flow_home *, const struct flow_plan *);

/* Both sides are reset, unless it has ended. */
void flow_close(struct flow **);

/* From now on it is allowed by these. */
int flow_rename(struct flow *, const char *const *names, size_t n);

/* It must say whom it is for, from now on; false: it is too late for that. */
bool flow_look_now(struct flow *);

/* Close at once, so that the peer gets a reset. */
void flow_reset(int *fd);
