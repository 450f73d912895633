/*
 * Messages that are right but for one thing, packed by hand: encode.c could not
 * be talked into making them.  A struct of the table is tested as a reply's result.
 */
#pragma once

#include <fcntl.h>

#include "wire/msg.h"

enum { ALL_SENDERS = 11, ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

#define EVERY_MESSAGE(t)                \
	enum msg_type t = MSG_NONE + 1; \
	t < MSG__COUNT;                 \
	t++
#define EVERY_FIELD(f, t)                           \
	const struct field *f = msg_def(t)->fields; \
	f->name != NULL;                            \
	f++

struct twist {
	const struct field *at;                                    /* the field it is about */
	void (*put)(msgpack_packer *, const struct field *, long); /* instead of its value */
	long        arg;
	bool        omit, twice;
	const char *unknown; /* one more field of this name */
};

/* Somebody who may send it; a struct comes in anybody's reply. */
unsigned sender_of(enum msg_type);

/* Decode a copy, and expect a struct to be the result.  msg_clear is due; one message at a time. */
int take(struct msg *, enum msg_type, const struct packet *, unsigned from, struct err *);

void put_text(msgpack_packer *, size_t n);
void put_ext(msgpack_packer *, int type, const void *, size_t n);

/* Needed fields, the twisted one, and nothing else; the same in an envelope. */
void put_body(msgpack_packer *, enum msg_type, const struct twist *);
void put_message(struct packet *, enum msg_type, const struct twist *);

/* Five descriptors beside it, sealed empty files: enough for any message. */
void put_fds(struct packet *);

/* 0 when the twisted message is taken; else -1 and the error. */
int twisted(enum msg_type, const struct twist *, struct err *);

/* Refused, as the peer's fault, with "message.field: " in the text; else says what happened. */
bool refused(enum msg_type, const struct twist *, struct err *);
