/*
 * LangBot's door: its TCP listener, the token, which instance is trusted, who failed how often.  Decides
 * HTTP_AUTH; the gateway only carries what a client presented.
 *
 * The trusted instance is the configured one.  Without that the first that shows the token is trusted for as long
 * as boxd lives; with auth = none, where anybody could be first, only until its last connection is gone and
 * another instance comes.
 */
#ifndef SUPERVISOR_DOOR_H
#define SUPERVISOR_DOOR_H

#include "base/buf.h"
#include "door/door_handover.h"
#include "door/token.h"
#include "boxd.h"
#include "wire/msg.h"

/* Read and checked with the configuration, before anything is started. */
struct door_start {
	struct handover past;  /* of the boxd that executed us */
	struct token    token; /* not set: that of the state directory is meant */
	struct buf      certificate, key;
	char            instance[INSTANCE_LEN + 1]; /* configured; empty: the first that comes */
};

int  door_prepare(struct door_start *, const struct config *, struct err *);
void door_start_clear(struct door_start *);

/* Takes what is in start. */
struct door *door_open(struct boxd *, struct door_start *, struct err *);
void         door_close(struct door **);

/* boxd is about to execute itself anew: leave the listener, the token and the instance to the next. */
void door_hand_over(struct door *);

/* HTTP_AUTH of a stranger's connection: answered now or later, by reply_send and reply_fail. */
int door_auth(struct boxd *, const struct msg *, struct err *);

/* HTTP_HEALTH and HTTP_READY, which anybody may ask for. */
int door_health(struct boxd *, const struct msg *, struct err *);
int door_ready(struct boxd *, const struct msg *, struct err *);

/* A connection is gone (0: all of them): what it waits for is not wanted any more. */
void door_conn_gone(struct door *, uint64_t conn);

/* The instance that is trusted; empty while none is. */
const char *door_instance(const struct door *);

/* The one workspace of clients that know of no instances and workspaces. */
void door_legacy_context(struct msg_context *);

/* What the gateway must know; borrows from the door. */
void door_tell_gateway(const struct door *, struct msg_gateway_start *);

/* For status: where it listens, or empty; the file with the token, or empty; refused handshakes. */
const char *door_address(const struct door *);
const char *door_token_file(const struct door *);
uint64_t    door_refused(const struct door *);

#endif
