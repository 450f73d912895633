/*
 * One packet on a SOCK_SEQPACKET socket, whole or not at all, with its
 * descriptors.  A message over LIM_PACKET travels in a sealed memfd; the packet
 * is then a lone nil and that descriptor in front of the others.
 */
#pragma once

#include "wire/msg.h"

/* A pair of channel ends, close-on-exec and non-blocking. */
int chan_pair(int ends[2], struct err *);

/*
 * 0 sent; 1 the socket is full, send it again when it is writable; 2 the kernel is
 * short of something else, send it again after a while; -1 failed.
 */
int chan_send(int fd, struct packet *, struct err *);

/* Where a packet is received into; one per loop is enough. */
struct chan_in {
	char  *bytes; /* owned; LIM_PACKET long */
	void  *map;   /* a message that came in a memfd */
	size_t map_len;
};

/*
 * 0: a message is in *m, valid until msg_clear and the next chan_recv; 1: nothing
 * there now; 2: the peer is gone; -1: what came is not a message it may
 * send (m->id and m->envelope tell what can be told, msg_clear is due).
 */
int  chan_recv(int fd, struct chan_in *, struct msg *m, unsigned from, struct err *);
void chan_in_clear(struct chan_in *);
