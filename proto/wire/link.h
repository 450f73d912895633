/*
 * A channel on the event loop: messages in by callback, messages out through a
 * bounded queue.  A link owns its descriptor.
 */
#pragma once

#include <ev.h>
#include <sys/types.h>

#include "wire/chan.h"

struct link;

struct link_ops {
	/* A valid message.  It is cleared after the call; replies have no type yet. */
	void (*on_msg)(void *arg, struct msg *);

	/*
	 * The peer is gone, or sent what is no message (why->code is E_NONE for a plain
	 * end).  Called once; the owner closes the link then or later.
	 */
	void (*on_gone)(void *arg, const struct err *why);

	/*
	 * A message with a whole envelope and a wrong content came, and is in the log.
	 * NULL: a request is refused, a notice dropped, and a reply delivered as one
	 * that failed; the link lives on.
	 */
	void (*on_bad)(void *arg, const struct err *why);
};

/* from: who is at the other end.  Takes fd when it succeeds; NULL and the reason if not. */
struct link *link_open(struct ev_loop *, int fd, unsigned from, const struct link_ops *, void *arg, struct err *);

/*
 * Send or queue.  -1: the message cannot be encoded, the queue is full or the
 * peer is gone; nothing was sent then.
 */
int link_send(struct link *, enum msg_type, uint64_t id, uint64_t conn, const void *body, struct err *);
int link_reply(struct link *, enum msg_type, uint64_t id, uint64_t conn, const void *body, struct err *);
int link_fail(struct link *, uint64_t id, uint64_t conn, const struct err *why, struct err *);

/*
 * The same, by a sender who has nothing else to do if it fails: a link that is gone is its owner's to notice, from the loop.
 * A reply that cannot be made becomes its failure, so that the asker has an answer.
 */
void link_tell(struct link *, enum msg_type, uint64_t id, uint64_t conn, const void *body);
void link_tell_reply(struct link *, enum msg_type, uint64_t id, uint64_t conn, const void *body);
void link_tell_failure(struct link *, uint64_t id, uint64_t conn, const struct err *why);

/* link_send() of a message encoded earlier.  Takes the packet in any case. */
int link_send_packet(struct link *, struct packet *, struct err *);

/* Stop and start reading: the way to push back. */
void link_pause(struct link *);
void link_resume(struct link *);

/* Who the log should say is at the other end. */
void link_name_peer(struct link *, pid_t);

/* Packets waiting for the peer to read. */
size_t link_queued(const struct link *);

void link_close(struct link **);
