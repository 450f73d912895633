/*
 * What one of LangBot's actions is: how its data becomes a request, and how the answer becomes JSON.  Between
 * actions.c, which knows the envelope, and action_*.c, which know the actions.
 */
#pragma once

#include "langbot/json.h"
#include "langbot/model.h"
#include "langbot/uploads.h"
#include "wire/msg.h"

enum outcome {
	ASK,     /* the body is filled: ask the supervisor */
	REFUSED, /* class and answer say why */
	GIVEN,   /* answer has the data of the reply; the supervisor is asked only whether the client may */
};

/* One request on its way in. */
struct job {
	const msgpack_object *data; /* a map */
	msgpack_zone         *zone; /* what the body points to is there, or in data */
	void                 *body; /* of the action's message, with defaults and context */
	struct uploads       *uploads;
	struct buf            answer; /* also for ASK: what shape will need */
	const char *class;            /* of Python's, for REFUSED; static */
	int fd;                       /* owned: closed when the request is sent */
};

/* What is known of a request when its answer comes. */
struct asked {
	struct buf answer;
	const char *class;
};

typedef enum outcome read_fn(struct job *);
typedef void         shape_fn(struct buf *, const struct asked *, const void *result);

/* One row of messages.def. */
struct action {
	const char   *name;
	bool          host; /* the host's own: of no workspace */
	enum msg_type ask;  /* MSG_NONE: it is done here */
	read_fn      *read;
	shape_fn     *shape;
};

/* NULL when no action has that name. */
const struct action *action_find(const char *, size_t n);

/* All of them by number, for tests; NULL behind the last. */
const struct action *action_at(size_t i);

/* ---- for readers ------------------------------------------------------------ */

/* class: of Python's, as LangBot's client shows it. */
enum outcome refuse(struct job *, const char *class, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The end of reading: all fits, or "BoxValidationError: 2 validation errors for ...". */
enum outcome job_judge(struct job *, struct misfits *, const char *title);

/* The value of a key; NULL, and KeyError refused. */
const msgpack_object *job_need(struct job *, const char *key);

/* data's session_id into *name. */
enum outcome job_session(struct job *, const char **name);

/*
 * str() of a value into *text, in the zone; absent, when there is none or it is null.  Refused: BoxValidationError,
 * when it has a NUL in it, or more bytes than the message's field of that name can hold.
 */
enum outcome job_text(
    struct job *, const msgpack_object *, enum msg_type, const char *field, const char *absent, const char **text);

/* Refused: no memory. */
enum outcome job_starved(struct job *);

/* ---- readers and shapers ------------------------------------------------------------- */

#define ACTION(wire, N, whose, when, handler, reader, shaper) \
	read_fn  reader;                                      \
	shape_fn shaper;
#define ACTION_HERE(wire, whose, reader) read_fn reader;
#include "messages/messages.def"

read_fn  read_none;   /* nothing of the data is of interest */
shape_fn shape_known; /* the answer that its reader left, or {} */

/* "2026-11-15T23:42:30.855903Z", or with "+00:00": of sessions, and of grants and skills. */
void shape_time(struct buf *, const char *key, uint64_t us, const char *zone);
