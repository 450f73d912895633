/*
 * A name server of the test's own, on UDP and TCP of the loopback, and a session of box-egress in front of it.  The
 * test answers each question itself, at once or later, with whatever bytes it likes.
 */
#pragma once

#include <ev.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A question that reached the server. */
struct nb_question {
	uint16_t           id;
	uint16_t           type;
	char               name[256];
	bool               is_tcp;
	int                fd;   /* to answer on */
	struct sockaddr_in from; /* UDP */
};

struct namebox;

typedef void nb_handler(struct namebox *, const struct nb_question *);

enum { NB_CONNS = 64 };

struct namebox {
	struct ev_loop *loop;
	nb_handler     *handler;
	char            address[32]; /* 127.0.0.1:PORT */
	int             udp, tcp;    /* owned */
	ev_io           udp_ready, tcp_ready;
	struct nb_conn {
		struct namebox *box;
		int             fd; /* owned; -1: free */
		struct buf      in;
		ev_io           ready;
	} conns[NB_CONNS];
	size_t asked, asked_tcp;
};

void namebox_open(struct namebox *, struct ev_loop *, nb_handler *);
void namebox_close(struct namebox *);

/* Sends the bytes as they are, by TCP behind their length. */
void namebox_send(const struct nb_question *, const void *, size_t n);
