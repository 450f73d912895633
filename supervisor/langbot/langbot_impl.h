/*
 * What the files langbot_*.c share.  An action is one request of LangBot's on its way through boxd: it asks
 * sessions and the store one question after the other, and ends in one reply.  It may be cancelled at any time;
 * an answer that still comes after that is dropped.
 */
#pragma once

#include <sys/queue.h>

#include "core/session.h"
#include "langbot/admission.h"
#include "langbot/langbot.h"
#include "langbot/tenancy.h"
#include "wire/owned_msg.h"

struct action;
struct journal;

/* The next step of an action: with the answer to what it asked, or NULL when it need not wait. */
typedef void step_fn(struct action *, const struct msg *reply);

/* What a create or an exec gathers on its way to a session. */
struct session_request {
	struct msg_box_spec spec;       /* borrows from the request */
	struct msg_spec     native;     /* the same, in boxd's words */
	char               *workspace;  /* owned; of an admitted one, as are the next five */
	char               *skill_root; /* owned */
	char               *skill_path; /* owned */
	struct msg_mount   *mounts; /* owned; replaces the mounts that were asked for; borrows its strings from them */
	struct msg_store_sources_found sources; /* of them; borrows from the next */
	struct owned_msg               sources_kept;
	step_fn                       *then;      /* when the session stands: the answer to CREATE, or NULL */
	bool                           host_made; /* the store has seen to host_path */
	bool                           again;     /* the sandbox was dead, this is the second try */
	struct msg_box_result          result;    /* kept while a session goes; borrows from the next */
	struct owned_msg               result_kept;
};

struct action {
	TAILQ_ENTRY(action) next;
	struct langbot         *langbot;
	enum msg_type           type;
	uint64_t                conn, id; /* conn 0: the client has left */
	const void             *body;     /* of its request; borrows from the next */
	struct owned_msg        kept;
	size_t                  long_bytes;         /* of an exec: of its command, when that is over LIM_ARG */
	struct msg_context      context;            /* borrows from the body */
	char                    name[LIM_NAME + 1]; /* of the session it is about; empty: none yet */
	uint64_t                asked;              /* what it waits for, or 0 */
	step_fn                *step;               /* what comes then */
	struct session_request *request;            /* owned; create and exec */
	struct processes       *processes;          /* owned; of a get */
	struct storage         *storage;            /* owned; of a storage analysis */
	uint64_t                process_limit; /* of a process start: its workspace has its share of this; 0: not yet */
};

TAILQ_HEAD(actions, action);

struct storage;
struct sweep;

struct langbot {
	struct boxd   *boxd;
	struct actions actions;            /* owned */
	LIST_HEAD(, sweep) sweeps;         /* owned */
	size_t                 long_bytes; /* of all actions */
	unsigned               shutting_down;
	struct journal        *journal; /* owned */
	struct msg_box_init    init;    /* all that LangBot has configured; borrows from the next */
	struct owned_msg       init_kept;
	bool                   configuring; /* a box_init is with the store */
	struct msg_store_ready paths;       /* borrows from the next */
	struct owned_msg       paths_kept;
};

/* ---- langbot_action.c ---- */

/* NULL and why; what m borrows is copied. */
struct action *action_open(struct langbot *, const struct msg *m, struct err *);

/* Each of these ends the action and frees it. */
void action_reply(struct action *, enum msg_type, const void *body);
void action_fail(struct action *, const struct err *);
void action_done(struct action *);
void action_free(struct action *);

/* Ask a session, or the store.  A refusal is an answer, too. */
void action_ask(struct action *, enum msg_type, const void *body, step_fn *);
void action_ask_store(struct action *, enum msg_type, const void *body, step_fn *);

void action_ask_readiness(struct action *, step_fn *);

/* For everything else that replies to (CONN_OWN, id): the id.  0: no memory, and the action has failed. */
uint64_t action_wait(struct action *, step_fn *);

/* Are both of one workspace, in whichever generation? */
bool context_same_workspace(const struct msg_context *, const struct msg_context *);

/* The session's name as its workspace sees it. */
const char *action_logical(const struct action *);

/* Where the text names the session, it has that name from here on. */
void action_use_logical(const struct action *, struct err *);

/* The session it names; -1 and upstream's text when that cannot be. */
int action_name(struct action *, const char *logical, struct err *);

/* It stands, or is about to: NULL and upstream's text when it is not there, or is closing. */
struct session *action_session(const struct action *, struct err *);

/* ---- langbot_sweep.c ---- */

void sweeps_close(struct langbot *);

/* Then go on. */
void action_retire_others(struct action *, step_fn *);
void action_end_session(struct action *, step_fn *);

/* ---- langbot_make.c, langbot_exec.c ---- */

/* Make or reuse the session of this spec. */
void session_request_start(struct action *, const struct msg_box_spec *, step_fn *then);
void session_request_free(struct session_request *);
/* Once more from the beginning. */
void session_request_again(struct action *);

/* Is this an exec whose command a worker has? */
bool exec_is_started(const struct action *);

/* ---- langbot_spec.c ---- */

void spec_from_box(struct msg_spec *, const struct msg_box_spec *);

/* The first field that differs, in upstream's words. */
int spec_compare(const char *logical, const struct msg_spec *have, const struct msg_spec *want, struct err *);

/* What LangBot does not know is as it is. */
void spec_adopt(struct msg_spec *, const struct msg_spec *have);

/* "<field> <path> is blocked for security", and how it can be opened.  Always -1. */
int spec_refuse_blocked(const struct langbot *, const char *field, const char *path, struct err *);

/* Are its host paths under the roots that LangBot configured? */
int spec_check_roots(const struct langbot *, const struct msg_spec *, struct err *);

/*
 * Of a host_path that lies below the default workspace and is this session's to have made, the part below; else NULL.
 * It is in normal, which the caller gives.
 */
const char *spec_below_workspace(
    const struct langbot *, const struct msg_spec *, const char *session, char normal[LIM_PATH + 1]);

/*
 * Where LangBot's own directory is not known, the host_path of a session that was made shows where LangBot keeps its
 * workspaces.
 */
void spec_observe_workspace(const struct langbot *, const struct msg_spec *, const char *session);

/* ---- langbot_info.c ---- */

struct msg_box_session box_session(const struct langbot *, const struct session *, const char *logical, char id[32]);

/* Of a workspace, in all its generations; closing ones are not counted. */
size_t langbot_owned_sessions(const struct langbot *, const struct msg_context *);

/* All of LangBot's, starting and closing ones included. */
size_t langbot_count_all(const struct langbot *);

/* ---- langbot_storage.c ---- */

void storage_free(struct storage *);

/* ---- langbot_process.c ---- */

void processes_free(struct processes *);

/* ---- langbot_store.c ---- */

/* ---- langbot_init.c ---- */

int langbot_restore(struct langbot *, struct err *);

/* ---- the handlers ---- */

#define ACTION(wire, N, whose, when, handler, reader, shaper) void handler(struct action *);
#include "messages/messages.def"
