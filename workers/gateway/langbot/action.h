/*
 * What one of LangBot's actions is: how its data becomes a request, and how the answer becomes JSON.  Between
 * actions.c, which knows the envelope, and action_*.c, which know the actions.
 */
#ifndef GATEWAY_ACTION_H
#define GATEWAY_ACTION_H

#include "langbot/json.h"
#include "langbot/model.h"
#include "langbot/uploads.h"
#include "wire/msg.h"

enum outcome {
	ASK,     /* the body is filled: ask the supervisor */
	REFUSED, /* answer has "Class: text" */
	GIVEN,   /* answer has the data of the reply: nothing is left to be asked but whether he may */
};

/* One request on its way in. */
struct job {
	const msgpack_object *data; /* a map */
	msgpack_zone         *zone; /* what the body points to is there, or in data */
	void                 *body; /* of the action's message, with defaults and context */
	struct uploads       *uploads;
	struct buf            answer; /* also for ASK: what shape will need */
	int                   fd;     /* owned: closed when the request is sent */
};

/* What is known of a request when its answer comes. */
struct asked {
	struct buf answer;
};

struct action {
	const char   *name;
	bool          host;                                                    /* the host's own: of no workspace */
	enum msg_type ask;                                                     /* MSG_NONE: it is done here */
	enum outcome (*read)(struct job *);                                    /* NULL: there is nothing to read */
	void (*shape)(struct buf *, const struct asked *, const void *result); /* NULL: the answer itself, or {} */
};

/* NULL when there is none of that name. */
const struct action *action_find(const char *, size_t n);

/* All of them by number, for tests; NULL behind the last. */
const struct action *action_at(size_t i);

/* ---- for those who read ------------------------------------------------------------ */

enum outcome refuse(struct job *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

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

/* There is no memory. */
enum outcome job_starved(struct job *);

/* ---- the actions --------------------------------------------------------------------- */

enum outcome read_exec(struct job *), read_create(struct job *), read_get(struct job *), read_delete(struct job *);
enum outcome read_process_start(struct job *), read_process_get(struct job *), read_process_stop(struct job *);
enum outcome read_init(struct job *), read_verify(struct job *), read_grant(struct job *), read_revoke(struct job *);
enum outcome read_chunk(struct job *), read_cancel(struct job *), read_stream_ack(struct job *);
enum outcome read_skill_get(struct job *), read_skill_create(struct job *), read_skill_update(struct job *);
enum outcome read_skill_delete(struct job *), read_skill_scan(struct job *), read_skill_files(struct job *);
enum outcome read_skill_read(struct job *), read_skill_write(struct job *);
enum outcome read_skill_preview(struct job *), read_skill_install(struct job *);

/* ---- the replies --------------------------------------------------------------------- */

typedef void shape_fn(struct buf *, const struct asked *, const void *result);

shape_fn shape_result, shape_session, shape_sessions, shape_process, shape_status, shape_storage;
shape_fn shape_cancelled;
shape_fn shape_backend, shape_health, shape_marker, shape_grant;
shape_fn shape_skills, shape_skill_found, shape_skill, shape_skill_itself, shape_skill_entries, shape_skill_file,
    shape_skill_written, shape_skill_previews;

/* "2026-11-15T23:42:30.855903Z", or with "+00:00": of sessions, and of grants and skills. */
void shape_time(struct buf *, const char *key, uint64_t us, const char *zone);

#endif
