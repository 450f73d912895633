/*
 * Every field of every request, at its edges, through the real gateway.  Nothing here knows an action or a message by
 * heart: native requests come from the tables, LangBot's actions from the keys that their own code asks for.
 */
#pragma once

#include "base/buf.h"
#include "wire/msg.h"

/* One client, native or LangBot's. */
struct peer {
	int        fd;
	bool       web;
	struct buf in;
	uint64_t   next; /* id of the next request */
};

void peer_native(struct peer *, const char *socket);
void peer_web(struct peer *, const char *address, const char *token);
void peer_close(struct peer *);

/* Queue a whole message for it, and send what is queued while reading nothing of what comes back is lost. */
void peer_put(struct peer *, const void *bytes, size_t n);

/* The bytes of the next message; false at the end of the connection. */
bool peer_take(struct peer *, struct buf *);

/* The id that a reply answers; 0: it is none. */
uint64_t reply_id(const struct peer *, const struct buf *);

/*
 * A batch: requests that are sent at once, ids [first, next).  Every one must be served, and answered once, and the
 * bystanders must answer a ping of theirs afterwards.
 */
struct batch {
	struct peer *peer;
	uint64_t     first;
	const char  *what;
};

void batch_begin(struct batch *, struct peer *, const char *what);
void batch_end(struct batch *);

/* Requests sent, and batches that failed. */
extern unsigned long edges_sent, edges_failed;

/* ---- values ---- */

/* One edge as JSON text, and as MessagePack. */
enum { EDGE_MISSING = -1, EDGE_TWICE = -2, EDGE_UNKNOWN = -3, EDGE_LOWEST = -3 };

int  edges_count(void);
void edge_json(struct buf *, int edge);
void edge_pack(msgpack_packer *, const struct field *, int edge);

/* ---- the two kinds of clients ---- */

void edges_native(struct peer *);
void edges_langbot(struct peer *);
void edges_envelope(struct peer *);
