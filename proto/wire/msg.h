/*
 * Messages: tables made from messages.def, and the one codec that walks them.
 *
 *	request [0, id, method, params]    reply [1, id, error, result]
 *	notice  [2, method, params]        (MessagePack-RPC)
 *
 * Between our own processes a fifth (a notice: fourth) element may name the
 * client connection a message is from or for.  A client may not send one.
 *
 * Large payloads (BLOB) and descriptors (FD) ride beside the bytes on a channel;
 * on a client's stream blobs are inline and descriptors do not exist.
 */
#pragma once

#include <msgpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scalar.h"

enum {
	FROM_CLIENT = 1 << 0,
	FROM_GATEWAY = 1 << 1,
	FROM_SUPERVISOR = 1 << 2,
	FROM_WORKER = 1 << 3,
	FROM_INIT = 1 << 4,
	FROM_FILE = 1 << 5,
	FROM_FILES = 1 << 6, /* box-files, which only answers */
	FROM_STORE = 1 << 7,
	FROM_POOL = 1 << 8, /* box-pool, which only answers */
	FROM_EGRESS = 1 << 9,
	FROM_ARTIFACT = 1 << 10,
};

/* ---- what a field may be ---- */

struct strs {
	size_t       n;
	const char **v; /* a NULL stands behind the last, as argv wants it */
};

struct pair {
	const char *name;
	const char *value;
};

struct pairs {
	size_t             n;
	const struct pair *v;
};

/* Bytes in memory, or in a sealed memfd beside the message. */
struct blob {
	const void *data; /* NULL when fd-backed */
	size_t      len;
	int         fd; /* borrowed from the message; meaningful when data is NULL and len > 0 */
	uint64_t    offset;
};

typedef uint64_t     msg_U64;
typedef int64_t      msg_I64;
typedef double       msg_F64;
typedef bool         msg_BOOL;
typedef const char  *msg_STR; /* never NULL, no NUL inside */
typedef struct blob  msg_BLOB;
typedef struct strs  msg_STRS;
typedef struct pairs msg_PAIRS;
typedef struct lax   msg_LAX;
typedef int          msg_FD; /* owned by the message until msg_take_fd */

/* ---- enums and structs from the table ---- */
/* clang-format off */

#define ENUM(n) enum n {
#define V(P, E, wire) P##_##E,
#define ENUM_END };
#include "messages/messages.def"

enum msg_type {
	MSG_NONE,
#define STRUCT(N, n)                MSG_##N,
#define REQUEST(N, n, from, R, doc) MSG_##N,
#define NOTICE(N, n, from, doc)     MSG_##N,
#include "messages/messages.def"
	MSG__COUNT
};

#define STRUCT(N, n)                struct msg_##n {
#define REQUEST(N, n, from, R, doc) struct msg_##n {
#define NOTICE(N, n, from, doc)     struct msg_##n {
#define F(m, K, f, need, lo, hi, dflt, doc) msg_##K f;
#define FE(m, e, f, need, dflt, doc)        enum e f;
#define FO(m, S, s, f, doc)                 struct msg_##s f;
#define FL(m, S, s, f, most, doc)                                                                  \
	struct {                                                                                   \
		size_t           n;                                                                \
		struct msg_##s *v;                                                                \
	} f;
#define END };
#include "messages/messages.def"

/* clang-format on */
/* ---- the tables, for those who walk them too (boxctl, documentation) ---- */

enum kind { K_U64, K_I64, K_F64, K_BOOL, K_STR, K_BLOB, K_STRS, K_PAIRS, K_FD, K_LAX, K_ENUM, K_OBJ, K_LIST };

struct field {
	const char        *name; /* NULL ends the table */
	enum kind          kind;
	bool               needed;
	size_t             offset; /* in struct msg_<message> */
	int64_t            least;
	uint64_t           most;
	int64_t            dflt;
	const char *const *names; /* ENUM: wire names, NULL behind the last */
	enum msg_type      sub;   /* OBJ, LIST */
	const char        *doc;
};

/* How every K_LIST field is laid out. */
struct list {
	size_t n;
	void  *v;
};

enum envelope { ENV_REQUEST = 0, ENV_REPLY = 1, ENV_NOTICE = 2, ENV_STRUCT = 3 };

struct msg_def {
	const char         *name;
	enum envelope       envelope;
	unsigned            from;   /* who may send it */
	enum msg_type       result; /* of a request */
	size_t              size;   /* of struct msg_<name> */
	const struct field *fields;
	const char         *doc;
};

const struct msg_def *msg_def(enum msg_type);
const char           *msg_name(enum msg_type);

/* The field of that name; NULL: there is none. */
const struct field *msg_field(enum msg_type, const char *name);

/* Must it be there?  A map may be absent, and stands for its defaults, unless something in it is needed. */
bool msg_needs(const struct field *);

/* MSG_NONE when there is no request or notice of that name. */
enum msg_type msg_by_name(const char *, size_t n);

/*
 * Is that field the same in both bodies, and are all of them?  Numbers and strings are compared whole.  What travels
 * beside a message is never the same.
 */
bool field_equal(const struct field *, const void *a, const void *b);
bool msg_equal(enum msg_type, const void *a, const void *b);

/* The wire name of an enum's value, by the table of its field: (MSG_SESSION_INFO, "state", STATE_READY). */
const char *msg_enum_name(enum msg_type, const char *field, int value);

/* ---- decoding ---- */

struct msg {
	enum envelope         envelope;
	uint64_t              id;    /* request, reply */
	uint64_t              conn;  /* 0: none named */
	enum msg_type         type;  /* MSG_NONE: a reply not yet given its type */
	bool                  whole; /* its envelope could be read: if decoding failed, only its content is wrong */
	bool                  failed;
	struct err            error;               /* a failed reply */
	const void           *body;                /* struct msg_<type>, valid until msg_clear */
	int                   fds[LIM_PACKET_FDS]; /* owned */
	size_t                nfds;
	msgpack_unpacked      unpacked;
	const msgpack_object *result; /* a reply's, until msg_expect */
};

/*
 * One whole message from bytes[0..n), which must outlive the msg.  Takes the
 * descriptors in any case.  from: who is at the other end; what that peer may
 * not send is refused.  On failure msg->whole says whether envelope, id and
 * conn could be read, so that a request can be refused by id; if not, nothing
 * behind this message can be trusted either.
 * msg_clear is due after success and after failure.
 */
int msg_decode(struct msg *, const void *bytes, size_t n, const int *fds, size_t nfds, unsigned from, struct err *);

/*
 * Give a successful reply its type: the result of the request it answers.  A reply that does not fit is E_CRASH:
 * E_INVALID would blame the client.
 */
int msg_expect(struct msg *, enum msg_type, struct err *);

/* The handler owns this descriptor field from here on; -1 when it was absent. */
int msg_take_fd(struct msg *, int fd);

void msg_clear(struct msg *);

/* ---- encoding ---- */

/* Bytes and descriptors of one message on their way out. */
struct packet {
	struct buf bytes;
	int        fds[LIM_PACKET_FDS + 1]; /* owned; one more for the message itself, when it is spilled */
	size_t     nfds;
	bool       spilled; /* the message is in the first descriptor */
	bool       stream;  /* for a client's stream: blobs inline, FD fields refused */
};

/* Append a message; -1 leaves the packet to be cleared.  Descriptors are duplicated. */
int msg_encode(struct packet *, enum msg_type, uint64_t id, uint64_t conn, const void *body, struct err *);
int msg_encode_reply(struct packet *, enum msg_type result, uint64_t id, uint64_t conn, const void *body, struct err *);
int msg_encode_error(struct packet *, uint64_t id, uint64_t conn, const struct err *, struct err *);

/* The same once more, with descriptors of its own; -1 leaves *to to be cleared. */
int  packet_copy(struct packet *to, const struct packet *, struct err *);
void packet_clear(struct packet *);

/* The bytes of a blob, wherever they are, appended to a buffer. */
int blob_read(const struct blob *, struct buf *, struct err *);

static inline struct blob
blob_of(const void *data, size_t len)
{
	return (struct blob){ .data = len > 0 ? data : "", .len = len, .fd = -1 };
}

/* A body with every field at its default. */
void msg_defaults(enum msg_type, void *body);

/*
 * Would the decoder at the other end take these values?  If not, the same words as it would have.  Links ask before
 * they send, so that what a client can make up fails its own request, and never arrives.
 */
int msg_check(enum msg_type, const void *body, struct err *);

/* ---- the ranges of the tables ---- */

int range_u64(const struct field *, uint64_t, struct err *);
int range_i64(const struct field *, int64_t, struct err *);
int range_f64(const struct field *, double, struct err *);

/* Of an enum: "'off' or 'on'", with commas between the first ones. */
void range_names(const struct field *, char *out, size_t size);

/* Bytes of a string or blob, entries of a list. */
int range_count(const struct field *, uint64_t n, const char *what, struct err *);
