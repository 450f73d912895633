/*
 * A managed process: a name in the session, and one of init's commands after the
 * other under that name.
 *
 *	STARTING -> RUNNING -> STOPPING -> forgotten
 *	   ^  \        |
 *	   |   `-------+--> EXITED, FAILED -> forgotten after a while
 *	   `- BACKOFF <'
 *
 * Init keeps its pipes and its output and kills its tree; here are its name, its
 * policy and who waits for it.  What the next worker needs to go on is the record,
 * which init keeps too.
 *
 * A restart continues the output of the life before it, so offsets count from the
 * first start, and an attachment lasts over restarts.
 *
 * Shared by process.c (the requests), process_life.c (start, end, restart, adoption),
 * process_io.c (output, attachments, readiness, input) and process_ask.c (questions
 * to init, and the replies to clients).
 */
#pragma once

#include <regex.h>

#include "worker.h"

/* While only we read: large enough that a busy process is not held up by the way to us and back. */
#define OWN_WINDOW LIM_RING_DEFAULT

struct process;

/* A client's bytes on their way in. */
struct input {
	TAILQ_ENTRY(input) next;
	uint64_t   request;
	struct buf bytes; /* owned */
	size_t     at;    /* taken by init */
	size_t     asked; /* and on the way to it */
	bool       on_way;
	bool       eof;
};

/* Who gets a reply when it has ended. */
struct wait {
	TAILQ_ENTRY(wait) next;
	uint64_t request, stdout_last;
};

struct process {
	TAILQ_ENTRY(process) next;
	struct worker *worker;

	struct msg_process_record record; /* borrows from the next */
	struct owned_msg          record_kept;
	enum process_state        state;
	bool                      forgotten; /* has no name any more; freed when nothing waits for it */
	uint64_t                  exec;      /* init's name for it, also after its end; 0: init never took it */
	uint64_t                  before;    /* and in its life before; output of it may still come */
	ev_timer                  timer;     /* STOPPING: init must answer; BACKOFF: again; ended: long enough known */
	struct process           *heir;      /* owned; starts when this one has stopped */
	uint64_t                  starter;   /* request to answer when it is started */
	TAILQ_HEAD(, wait) waits;            /* owned */
	size_t asks;                         /* questions to init under way that name it */

	/* its last end */
	uint64_t   started_ms, exited_ms;
	enum cause cause;
	int64_t    exit_code;
	uint64_t   signal, killed;
	char      *error; /* owned; NULL: none */
	uint64_t   total; /* bytes of standard output, as of then */

	/* output: one stream from init, for readiness, for a client, or both */
	uint64_t   attach;       /* request of whoever is attached; 0: nobody */
	uint64_t   attach_pos;   /* passed on up to here */
	uint64_t   attach_acked; /* and acknowledged; what is between must be held */
	uint64_t   read_to;      /* the furthest that any client acknowledged; init knows it too */
	uint64_t   window;
	uint64_t   follow; /* the question to init that begins the stream; what comes before its answer is old */
	bool       followed;
	bool       scanning; /* looks for what makes it ready */
	uint64_t   scan_pos;
	regex_t   *pattern; /* owned; ready = line */
	struct buf line;    /* owned; of the line being read */
	bool       skipped; /* the rest of this line is not looked at */

	TAILQ_HEAD(, input) inputs; /* owned */
	size_t input_bytes, input_count;
};

enum ask_kind { ASK_INFO, ASK_LIST, ASK_FEED, ASK_FOLLOW, ASK_ADOPT };

struct list_reply;

/* A question to init whose answer somebody waits for. */
struct ask {
	LIST_ENTRY(ask) next;
	uint64_t           id;
	enum ask_kind      kind;
	struct process    *process; /* NULL: ASK_ADOPT */
	uint64_t           request; /* of the client */
	struct list_reply *list;    /* ASK_LIST; shared, freed with its last ask */
};

/* Whom the worker before us had attached. */
struct reader {
	LIST_ENTRY(reader) next;
	uint64_t call, offset, acked, window, again;
	bool     go_on, wanted;
	char     process[LIM_NAME + 1];
};

struct processes {
	TAILQ_HEAD(, process) all;   /* owned; by age */
	LIST_HEAD(, ask) asks;       /* owned */
	LIST_HEAD(, reader) readers; /* owned; while adopting */
	uint64_t next_id; /* of commands and questions: far above the supervisor's and never one of the worker before */
	size_t   n;
	size_t   adopting;              /* looks under way */
	uint64_t told_live, told_ended; /* what the supervisor was told last */
};

/* ---- process.c ---- */

int             process_check(const struct msg_process_spec *, struct err *);
struct process *process_open(struct worker *, const struct msg_process_record *, struct err *);
void            process_free(struct process *);

/* Free it, if it is forgotten and nothing waits for it. */
void process_settle(struct process *);

struct processes *processes_of(struct worker *, struct err *);

static inline bool
process_is_live(const struct process *p)
{
	return p->state != PROCESS_EXITED && p->state != PROCESS_FAILED;
}

const char *process_name(const struct process *);

/* A reply of init that answers a spawn; false: not of a process. */
bool process_result(struct worker *, struct msg *);

/* ---- process_life.c ---- */

int  process_spawn(struct process *, struct err *);
void process_again_in(struct process *, double sec);
void process_end(struct process *); /* on request */
void process_ended(struct process *, const struct msg_exec_result *, uint64_t ended_ms);
void process_unstarted(struct process *, const struct err *);
void process_forget(struct process *);
void process_tell_count(struct worker *);
void process_adopt(struct worker *, const struct msg_managed *);

/* The record as it is now, for the next worker. */
int process_encode_record(const struct process *, struct packet *, struct err *);

/* Those ended that are known for too long, or too many. */
void processes_trim(struct worker *);

/* ---- process_io.c ---- */

int  pattern_compile(regex_t *, const char *, struct err *);
void process_await_ready(struct process *);
void process_follow(struct process *);
void process_unfollow(struct process *);
void process_followed(struct process *, uint64_t ask, const struct msg *);

/* acked: what is not, before offset, is held; the same as offset for a new one. */
void process_attach(struct process *, uint64_t request, uint64_t offset, uint64_t acked, uint64_t window);

/* Where a client that continues begins; that many bytes before it are repeated. */
uint64_t process_goes_on_at(const struct process *, uint64_t again);

/* A client has it up to offset. */
void process_read(struct process *, uint64_t offset);

void process_drop_reader(struct process *, const struct err *);

/* The attached client has all there is, and the process ended: answer. */
void process_end_reader(struct process *);

int  process_input(struct process *, uint64_t request, const struct msg_process_write *, struct err *);
void process_fed(struct process *, uint64_t request, const struct msg *);
void process_fail_inputs(struct process *, const struct err *);

/* ---- process_ask.c ---- */

/* Send init a request; its answer comes to the handler of its kind.  The id, or 0 and the reason. */
uint64_t process_ask(
    struct worker *, struct process *, enum ask_kind, uint64_t request, enum msg_type, const void *body, struct err *);

/* The same once it has ended.  -1 without memory. */
int process_tell_at_end(struct process *, uint64_t request, uint64_t stdout_last);

/* Answer a client with all there is to know of a process, once init has told its part. */
void process_tell(struct process *, uint64_t request, uint64_t stdout_last);

void asks_clear(struct worker *, const struct err *);
