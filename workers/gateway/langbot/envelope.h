/*
 * The envelope of a message of LangBot's: seq_id, action and context.  And of a reply.
 */
#pragma once

#include "langbot/json.h"
#include "wire/msg.h"

enum envelope_kind {
	ENVELOPE_IGNORED, /* gets no reply; the error says why, for the log */
	ENVELOPE_REFUSED, /* the answer is in refusal */
	ENVELOPE_ACTION,
};

struct envelope_in {
	const msgpack_object *seq;    /* as it was sent; NULL: it had none */
	const msgpack_object *action; /* a text */
	const msgpack_object *data;   /* a map */
	struct msg_context    context;
	const char *class;  /* of Python's, of the refusal; static */
	struct buf refusal; /* owned: its text */
};

enum envelope_kind envelope_read(struct envelope_in *, const char *text, size_t n, msgpack_zone *, struct err *);

/* A whole reply.  The error's text is cut where LangBot's are; class: of Python's, or NULL for a text alone. */
void envelope_success(struct buf *, const struct buf *seq, const struct buf *data);
void envelope_error(struct buf *, const struct buf *seq, const char *class, const char *text, size_t n);

/* The seq_id of the reply, as JSON, into an empty buf. */
void envelope_seq(struct buf *, const msgpack_object *seq);
