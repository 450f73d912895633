/*
 * A gateway between a test's two hands: the supervisor's end of its channel, and clients
 * at its socket.  The words in which t/wire/gateway.c says what it expects.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "wire/chan.h"
#include "wire/mp.h"

enum {
	GATEWAY_UID = 64999,
	MAX_CONNECTIONS = 12,
	FIRST_CONN = 1000,
};

/* Its directories, and a gateway that is ready; and the end of both. */
void gate_open(void);
void gate_dirs(void);
void gate_close(void);

extern char           gate_dir[]; /* a template for mkdtemp; the next two are in it */
extern char           gate_path[64], gate_jail[64];
extern pid_t          gate_pid;
extern int            gate_chan; /* the supervisor's end */
extern struct chan_in gate_in;
extern bool           gate_quiet;   /* its log is not wanted */
extern size_t         gate_ngone;   /* clients it has told us are gone, since this was set to 0 */
extern const char    *gate_program; /* NULL: what BOX_GATEWAY names */

struct client {
	int        fd;
	uint64_t   conn; /* as the supervisor knows it */
	uint64_t   id;   /* of the last request */
	struct buf in;
	size_t     used; /* of in, by the last frame */
};

void sup_notice(enum msg_type t, uint64_t conn, const void *body);
void sup_reply(enum msg_type t, uint64_t id, uint64_t conn, const void *body);
void sup_fail(uint64_t id, uint64_t conn, enum err_code code, const char *text);

/* The next message of that type; those before it are dropped. */
void sup_until(enum msg_type t, struct msg *m);
bool is_gone(uint64_t conn);
void sup_until_gone(uint64_t conn);

/* Fork and execute the gateway; say nothing to it yet. */
void spawn(void);
void start(const char *root, uint64_t uid, uint64_t most);

/* The same, with more in its plan; the control socket is put into it. */
void start_with(struct msg_gateway_start *);

/* Its exit status, or 1000 and the signal. */
int           exit_of_gateway(void);
int           dial(void);
struct client client_open(void);

/* And wait until the gateway has seen it: the next test counts connections. */
void client_close(struct client *c);
void say(struct client *c, const void *bytes, size_t n);
void say_buf(struct client *c, struct buf *b);

/* False at the end of the stream. */
bool client_read(struct client *c);

/* The next message from the gateway; false at the end of the stream. */
bool hear(struct client *c, struct msg *m);
bool at_end(struct client *c);

/* [0, id, method, and room for the params] */
void begin(struct client *c, struct buf *b, msgpack_packer *pk, const char *method);
void call(struct client *c, enum msg_type t, const void *body);
void call_ping(struct client *c);
void answer_ping(void);

/* A whole round trip. */
bool alive(struct client *c);

/* The error reply to the last request; its text lives until the next call. */
const char *refusal(struct client *c, const char *code);

/* The reason of a CLOSING notice that is the last thing on the stream. */
const char *last_words(struct client *c, const char *code);

/* A new client that says these bytes and nothing more. */
void closes(const void *bytes, size_t n, const char *regex, const char *name);

/* What /proc says of the gateway. */
const char *proc_status(const char *key);
long        proc_kib(const char *key);
int         proc_fds(void);

/* Their number, when there are no more than that, or it stays: an end may be heard before its descriptor is closed. */
int proc_fds_settled(int most);

#define CLOSES(bytes, regex, name) closes(bytes, sizeof(bytes) - 1, regex, name)
