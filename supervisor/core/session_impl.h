/*
 * What a session is, for the files that share its insides: session.c (what a client
 * wants), session_mounts.c, session_life.c (its worker, its end), session_start.c,
 * session_rest.c, session_birth.c and session_net.c.
 */
#pragma once

#include "base/restart.h"
#include "children/artifact.h"
#include "children/child.h"
#include "core/registry.h"
#include "core/request.h"
#include "core/session.h"
#include "wire/owned_msg.h"

enum { SESSION_CGROUPS = 5 }; /* paths in struct msg_cgroups */

/* Who measures a workspace, for its worker: a channel, and pidfds of the two processes; -1: nobody new. */
struct scanner_fds {
	int scanner, scan, look;
};

struct session {
	struct registry_entry entry;
	struct boxd          *boxd;
	uint64_t              id;
	char                  name[LIM_NAME + 1];
	struct msg_spec       spec; /* borrows from the next */
	struct owned_msg      spec_kept;
	struct strs           walls; /* in force around it; their names are in the next */
	const char           *wall_names[WALL__COUNT];
	struct msg_disk       disk; /* borrows from the next */
	struct owned_msg      disk_kept;
	enum state            state;
	int                   dir;   /* owned; its state directory */
	struct child         *child; /* owned; NULL between death and restart */
	struct restart        restart;
	ev_timer              restart_timer; /* runs between death and restart of the worker */
	ev_timer              idle_timer;    /* runs while READY and nothing is pending */
	ev_timer              reply_timer;   /* runs while we wait for the worker to get somewhere */
	struct requests       pending;       /* owned */
	uint32_t              uid_base;
	uint64_t              created_ms, last_used_ms;
	uint64_t              init_pid, build_us, execs, worker_restarts;
	uint64_t           processes, ended; /* managed ones, as its worker reported last: live; ended but remembered */
	struct msg_cgroups cgroups;          /* where its cgroups are */
	char              *cgroup_paths[SESSION_CGROUPS]; /* owned; of an adopted one, for the above */
	struct strs        counted;        /* owned; host paths that count against its quota beside those of its spec */
	struct strs        measured;       /* owned; inodes that its scanner measures, as far as that is known */
	uint64_t           measurers;      /* scanners it has had */
	struct scanner_fds scanner;        /* owned; for its worker, with the next mounts that go to it */
	enum net_mode      net_mode;       /* of its sandbox */
	uint64_t           net_generation; /* of the rules that its namespace was built by */
	int                init;           /* owned; a pidfd of its init, or -1 */
	int                map;            /* owned; what mounts of its commands were mapped by last, or -1 */
	uint64_t           map_uid, map_gid;
	int                net_sockets[3]; /* owned; listener, dns and refusals, until it is let out */
	bool               paused;         /* or about to be */
	bool               spare;          /* built ahead, not claimed yet */
	bool               sweeping;       /* CLOSING: its worker is gone, a new one removes what that could not */
	uint64_t           killed;         /* by then */
	uint64_t           close_id;       /* CLOSING: the CLOSE that ends it */
	uint64_t           claim_id;       /* the CLAIM that makes it READY, or 0 */
	char               why[ERR_TEXT];  /* CLOSING: the reason */

	struct artifact_hold *artifacts;              /* owned; copies that are mounted in it, or will be */
	bool                  image_missing;          /* its root is the host view because there was no such image */
	char                  notice[LIM_NAME + 128]; /* what of it differs from what was asked for; empty: nothing */
};

/* session.c: kill a command whose client is gone. */
void session_cancel_alone(struct session *, struct request *);

/* ---- session_life.c ---- */

void session_init_timers(struct session *);

/* session.c: what its worker reported of its disk; session_count_walls() belongs behind the first. */
void session_set_disk(struct session *, const struct msg_disk *);
void session_count_walls(struct session *);

/* Its state, or what it has, changed: it is counted once more. */
void session_recount(struct session *);

/* Something happened, or a request came or went: its idle time starts again. */
void session_touch(struct session *);

/* Kill a worker that misses its own deadline by far. */
void session_expect(struct session *, double sec);

/* Its image was there or not when it was built. */
void session_note_image(struct session *, bool missing);

/* What its worker says, and its death. */
extern const struct child_ops session_worker_ops;

/* session_start.c */
int session_start_worker(struct session *, enum work, struct err *);

/* A new session's: first what it mounts is copied, where need be. */
int session_begin(struct session *, struct err *);

int session_remember_counted(const struct session *, struct err *);

/* ---- session_counted.c: what counts against a quota beside the workspace ---- */

/* Host paths of what can be written, but for those that these mounts name themselves; how many. */
size_t session_counted(
    const struct session *, const struct msg_mount *by, size_t nby, const char *list[2 * LIM_MOUNTS]);

/* Would there be too many with these mounts? */
int session_check_counted(const struct session *, const struct msg_mount *by, size_t nby, struct err *);

int  session_adopt_counted(struct session *, const struct strs *paths, struct err *);
void session_clear_strs(struct strs *);

/* A new worker has a scanner of its own. */
void session_forget_measured(struct session *);

void scanner_fds_close(struct scanner_fds *);

/*
 * A scanner for the command whose mounts these are.  It is the session's, not the command's: what it measures is not
 * measured once more, also when that command is cancelled before it is sent.
 */
int session_take_scanner(struct session *, uint64_t exec, struct msg *made, struct err *);

/* ---- session_mounts.c ---- */

/* Before a command that has one is sent. */
int session_send_namespace(struct session *, const struct request *, struct err *);

/* A command that is held, and before it its mount namespace, if it has one. */
int session_send_exec(struct session *, struct request *, struct err *);

/* The mounts of a command that is held; then it is sent. */
int session_ask_mounts(struct session *, struct request *, struct err *);

/* Forget the mount namespaces of its sandbox, which is gone or about to be replaced. */
void session_forget_mounts(struct session *);

/* From the loop, so that the caller can add the session to the registry first. */
void session_start_soon(struct session *);

/*
 * session_rest.c, what its worker may not do: remove its state and what is left of its cgroups.  1: something stays that
 * a worker with all its rights may be able to remove.
 */
int session_remove_rest(const struct session *);

/* Write to its state file who it is since it was claimed, and whether it is to be paused. */
int session_remember(const struct session *, struct err *);
int session_remember_pause(const struct session *, bool paused, struct err *);

/* session_net.c: it belongs to a client now and gets its network.  -1: it cannot have one. */
int  session_let_out(struct session *, struct err *);
void session_net_close(struct session *);

struct msg_net_info session_net_info(const struct session *);

/* Take the sockets of its network from WORKER_READY. */
void session_net_take(struct session *, struct msg *worker_ready);

/* To be freed when the message is sent; NULL: nothing. */
struct strs *session_net_plan(struct session *, struct msg_worker_start *);

/* For reopen.c and mounter.c: what a WORKER_START says of a session with this spec; borrows from both, and the rules. */
void session_fill_start(const struct session *, const struct msg_spec *, enum work,
    struct msg_path_rule rules[LIM_ALL_RULES], struct msg_worker_start *);

/* Add to a result what was refused meanwhile, and then reply; false: the caller replies now. */
bool session_hint(struct session *, struct request *, const struct msg_exec_result *);

/* How long its worker remembers ended processes, and how many of them. */
void session_retention(const struct session *, uint64_t *sec, uint64_t *count);
