/*
 * The gateway's link to the supervisor as all its rooms share it: who is connected and under which id, what is for
 * whom, and what happens when the supervisor does not keep up.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/link.h"

struct uplink;
struct caller; /* one client, as the supervisor knows it */

/* The supervisor does not keep up (or does again): nobody is accepted until then. */
typedef void uplink_congested(void *arg, bool);

struct caller_ops {
	/* A reply or a notice for this client; cleared after the call. */
	void (*on_msg)(void *arg, struct msg *);

	/* The supervisor does not keep up (or does again): it is not to be read until then. */
	void (*on_congested)(void *arg, bool);
};

/* Borrows the link.  Connection ids count up from next_conn; most: an estimate of clients. */
struct uplink *uplink_open(
    struct ev_loop *, struct link *, uint64_t next_conn, size_t most, uplink_congested *, void *arg, struct err *);

/* A message of the supervisor that names a connection. */
void uplink_deliver(struct uplink *, struct msg *);

/* Clients that are here. */
size_t uplink_callers(const struct uplink *);

/* When every caller is closed. */
void uplink_close(struct uplink **);

/* A client with an id of its own, never used before; the supervisor does not know it yet. */
struct caller *caller_open(struct uplink *, const struct caller_ops *, void *arg, struct err *);
uint64_t       caller_id(const struct caller *);

/* Tell the supervisor, with a copy of its socket. */
int caller_announce(struct caller *, int fd, enum speaks, struct err *);

/* A request, or a notice (id 0), in its name. */
int caller_send(struct caller *, enum msg_type, uint64_t id, const void *body, struct err *);

/* It is gone; the supervisor learns it as soon as the link takes that. */
void caller_close(struct caller **);
