/*
 * A helper process of boxd: started when it is needed, and restarted when it dies.
 *
 *	STARTING -> SERVING	it said that it is ready, or its plan wants no such message
 *	SERVING  -> LEAVING	another took its place, and it still has requests in hand
 *	   any   -> gone	it died, did not answer in time, or was refused
 *
 * A request waits until a process serves, and fails if the process that has it dies.  The owner knows what the messages
 * mean; its functions may make requests, but not close the service.
 */
#pragma once

#include "base/restart.h"
#include "boxd.h"
#include "children/child.h"
#include "core/ask.h"

struct service;

struct service_plan {
	const char   *program;   /* "box-store" */
	unsigned      from;      /* FROM_STORE */
	enum msg_type ready;     /* what it says when it serves; MSG_NONE: it does at once */
	double        start_sec; /* until it says so; then it is killed */
	double answer_sec;       /* without any answer while some are due; then it is killed.  0: as long as it likes */
	double wait_sec;         /* a request that is not answered by then fails.  0: as long as the process lives */
	struct restart_policy restart;  /* after a death; first_sec 0: when it is needed again */
	bool                  finishes; /* it ends by itself when its channel does, and may take its time for that */

	/* Send the first message.  May be NULL. */
	int (*start)(void *owner, struct link *, struct err *);

	/* One that starts said this: -1 and why refuses it.  May be NULL. */
	int (*judge)(void *owner, const struct msg *, struct err *);
	/* It serves; waiting requests are sent after this.  May be NULL, and is without a ready message. */
	void (*on_ready)(void *owner, const struct msg *);
	/* A candidate was refused, died or was late; nothing has changed.  Only for who calls service_try(). */
	void (*on_refused)(void *owner, const struct err *why);
	/* What is no reply, from one that serves or leaves.  May be NULL. */
	void (*on_msg)(void *owner, struct msg *);
	/* Refuse a request, now that it is encoded.  May be NULL. */
	int (*admit)(void *owner, void *tag, const struct packet *, struct err *);
	/* For each request once, before who asked hears of it.  May be NULL. */
	void (*on_answer)(void *owner, void *tag, const struct msg *reply);
	/* It died: log it, and say what its requests fail with. */
	void (*on_gone)(void *owner, pid_t, const char *how, struct err *why);
};

/* Nothing is started yet.  The plan stays where it is. */
struct service *service_open(struct boxd *, const struct service_plan *, void *owner, struct err *);

/* Requests that wait or are in hand are answered no more. */
void service_close(struct service **);

/* Unless a process starts, serves or will be restarted.  -1: its policy says when it is tried again. */
int service_start(struct service *, struct err *);

/* Start a candidate beside the one that serves, which it replaces when it is ready. */
int service_try(struct service *, struct err *);

/* Who is replied to, and what the owner keeps about the request, for its own functions. */
struct asker {
	uint64_t conn, id;
	void    *tag;
};

/* -1: refused at once, and nobody is replied to. */
int service_ask(struct service *, const struct asker *, enum msg_type, const void *body, struct err *);

/* The same for boxd itself.  fn is called once; a refusal is an answer, before this returns. */
void service_ask_own(struct service *, enum msg_type, const void *body, void *tag, ask_fn *, void *arg);

/* All requests are answered with this. */
void service_fail_all(struct service *, const struct err *why);

/* A notice to the process that serves, if one does.  A process that cannot take it is killed, as it would miss it. */
void service_tell(struct service *, enum msg_type, const void *body);

/* The one that serves, or NULL. */
struct child *service_child(const struct service *);
