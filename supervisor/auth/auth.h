/*
 * LangBot's door: its TCP listener, the token, which instance is trusted, who failed how often.  Decides
 * HTTP_AUTH; the gateway only carries what a client presented.
 *
 * The trusted instance is the configured one.  If none is configured, boxd trusts the first instance that shows the
 * token for as long as it runs; with auth = none, where anybody could be first, only until the last connection of that
 * instance is gone and another instance comes.
 */
#pragma once

#include "base/buf.h"
#include "auth/handover.h"
#include "auth/token.h"
#include "boxd.h"
#include "wire/msg.h"

/* Read and checked with the configuration, before anything is started. */
struct auth_start {
	struct handover past;  /* of the boxd that executed us */
	struct token    token; /* not set: that of the state directory is meant */
	struct buf      certificate, key;
	char            instance[INSTANCE_LEN + 1]; /* configured; empty: the first that comes */
};

int  auth_prepare(struct auth_start *, const struct config *, struct err *);
void auth_start_clear(struct auth_start *);

/* Takes what is in start. */
struct auth *auth_open(struct boxd *, struct auth_start *, struct err *);
void         auth_close(struct auth **);

/* boxd is about to execute itself: leave the listener, the token and the instance to the next boxd. */
void auth_hand_over(struct auth *);

/* HTTP_AUTH of a stranger's connection: answered now or later, by reply_send and reply_fail. */
int http_auth(struct boxd *, const struct msg *, struct err *);

/* HTTP_HEALTH and HTTP_READY, which anybody may ask for. */
int http_health(struct boxd *, const struct msg *, struct err *);
int http_ready(struct boxd *, const struct msg *, struct err *);

/* A connection is gone (0: all of them): drop what it waits for. */
void auth_conn_gone(struct auth *, uint64_t conn);

/* The trusted instance; empty while there is none. */
const char *auth_instance(const struct auth *);

/* The one workspace of clients that know of no instances and workspaces. */
void auth_legacy_context(struct msg_context *);

/* Fill in what the gateway must know; borrows from auth. */
void auth_for_gateway(const struct auth *, struct msg_gateway_start *);

/* For status: where it listens, or empty; the file with the token, or empty; refused handshakes. */
const char *auth_address(const struct auth *);
const char *auth_token_file(const struct auth *);
uint64_t    auth_refused(const struct auth *);
