/*
 * Requests waiting on a session.  Each ends in exactly one reply, or without one if its client is gone.  An index finds
 * a request by its client's id or its worker's; counters of each kind change as requests come and go.
 */
#pragma once

#include <sys/queue.h>

#include "children/artifact.h"
#include "boxd.h"
#include "wire/msg.h"

/* Of a process_attach: what the next worker needs to go on with it. */
struct attachment {
	char     process[LIM_NAME + 1];
	uint64_t offset, acked, window, again;
	bool     go_on;
};

struct requests;

struct request {
	TAILQ_ENTRY(request) next;
	LIST_ENTRY(request) same_id, same_conn, same_exec; /* in the index */
	struct requests *of;                               /* those it waits among; NULL: taken out */
	enum msg_type    type;                             /* MSG_NONE: see request_park */
	uint64_t         conn;                             /* 0: nobody waits any more */
	uint64_t         id;
	uint64_t         exec;           /* what is passed on: its id towards the worker; else 0 */
	uint64_t         streamed_to[2]; /* streamed: output passed on so far, by stream */
	bool             streamed;
	enum on_timeout  on_timeout;
	bool             dies_alone; /* EXEC: cancelled when its client is gone */
	uint64_t         denied;     /* EXEC: how many connections of its session were refused before it started */
	enum { MOUNTS_OWN, MOUNTS_WANTED, MOUNTS_ASKED } mounts; /* EXEC: those of its session, or none yet */
	int                   ns;                                /* owned; EXEC: its mount namespace, or -1 */
	struct artifact_hold *artifacts;                         /* owned; EXEC: copies that are mounted for it */
	struct packet         held;       /* not yet sent to a worker; EXEC, after a timeout: the reply */
	struct packet         sent;       /* EXEC: to be sent once more, should no init have heard of it */
	struct attachment    *attachment; /* owned; PROCESS_ATTACH only */
};

TAILQ_HEAD(request_list, request);

/* What a session counts of them: each is one of these. */
enum request_kind { A_COMMAND, A_COUNT, A_PAUSE, A_START, ANOTHER_FORWARDED, NOT_FORWARDED, REQUEST_KINDS };

struct requests {
	struct request_list   list;    /* owned, oldest first */
	struct request_index *index;   /* lent */
	struct session       *session; /* that they wait on */
	size_t                count[REQUEST_KINDS];
};

/* The requests of all sessions, by connection and id, by connection, and by exec. */
struct request_index *request_index_open(struct err *);
void                  request_index_close(struct request_index **);

/* NULL when nobody has it. */
struct request *request_index_find(const struct request_index *, uint64_t conn, uint64_t id);

/* One that this client waits for (0: any client), but not boxd itself; NULL: none. */
struct request *request_index_of_conn(const struct request_index *, uint64_t conn);

void requests_init(struct requests *, struct request_index *, struct session *);

/* exec: 0, or the id it is passed on with.  NULL without memory. */
struct request *request_add(struct requests *, const struct msg *, uint64_t exec);
/* A command that an earlier boxd started, which runs without a client. */
struct request *request_add_orphan(struct requests *, uint64_t exec);

struct request *request_find(const struct requests *, uint64_t conn, uint64_t id);
struct request *request_by_exec(const struct requests *, uint64_t exec);
size_t          requests_count(const struct requests *, enum request_kind);

/* Counting what a session holds does not use it: the session stays idle. */
bool request_is_use(const struct request *);
bool requests_use(const struct requests *); /* any of them */

/* Requests that a worker has or will get, except commands. */
size_t requests_forwarded(const struct requests *);

/* Process starts that are in a worker's hands. */
size_t requests_starting(const struct requests *);

/* Its client is gone: nobody waits for a reply. */
void request_forget_client(struct request *);

/* It has ended, but its reply waits until its session is gone. */
void request_park(struct request *);

void request_reply(struct request *, struct boxd *, enum msg_type, const void *body);
void request_fail(struct request *, struct boxd *, const struct err *);

/* Every request of that type. */
void requests_reply_all(struct requests *, enum msg_type, struct boxd *, enum msg_type result, const void *body);
void requests_fail_all(struct requests *, enum msg_type, struct boxd *, const struct err *);

/* Drop attachments whose client is gone, without a reply. */
void requests_drop_deaf(struct requests *);

/* Fail everything that was forwarded, or only what a dead worker had and the next one cannot continue. */
void requests_fail_forwarded(struct requests *, struct boxd *, const struct err *);
void requests_fail_sent(struct requests *, struct boxd *, const struct err *);

void request_drop(struct request *);

/* Take it out of the list: the caller replies, fails or drops it. */
struct request *request_take(struct request *);

/* Take all of them, in their order; the caller ends each. */
void requests_take_all(struct requests *, struct request_list *);
