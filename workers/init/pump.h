/*
 * One output stream of one command: a pipe, and what is held of it.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "loop.h"

enum pump_mode {
	PUMP_KEEP,   /* hold the first limit bytes, count the rest */
	PUMP_STREAM, /* hold what is not acknowledged, at most limit bytes; then let the writer wait */
	PUMP_RING,   /* hold the last limit bytes and a little more; the writer waits only for a follower */
	PUMP_DROP,   /* count only */
};

struct pump {
	struct source source; /* our end of the pipe; fd is -1 after the end of the file */
	struct loop  *loop;
	void (*moved)(struct pump *); /* bytes came, or the end */
	enum pump_mode mode;
	uint64_t       limit;
	uint64_t       rest;   /* ring: the limit once nothing more is taken in; 0: the same */
	uint64_t       total;  /* bytes that ever came out of the pipe */
	uint64_t       settle; /* see pump_settle */
	struct buf     kept;   /* PUMP_KEEP */

	/* PUMP_STREAM, PUMP_RING: offsets from the start of the stream, base <= sent <= end */
	struct chunk *first, *last; /* owned; hold base..end */
	uint64_t      base;         /* acknowledged up to here; ring: the oldest byte held */
	uint64_t      sent;         /* handed out up to here */
	uint64_t      end;          /* taken in up to here */

	/* PUMP_RING */
	bool     ring;     /* it was opened as one; mode changes at its end */
	bool     followed; /* somebody reads: base <= acked <= sent */
	uint64_t acked;
	uint64_t window;
	uint64_t read;    /* a client had it up to here; whoever goes on begins behind it */
	uint64_t dropped; /* bytes let go of beyond that */
};

/* Make the pipe and watch our end; *theirs is the command's, owned by the caller. */
int pump_open(struct pump *, struct loop *, enum pump_mode, uint64_t limit, int *theirs, struct err *);

/*
 * The writer of interest has exited: what it wrote is in the pipe now.  The
 * stream is settled once that much has been taken out, whoever else still holds
 * the pipe and writes on.
 */
void pump_settle(struct pump *);
bool pump_settled(const struct pump *);

/* Take nothing more in; what is held stays.  The pipe is still emptied, so that its writers never wait. */
void pump_stop(struct pump *);

/* The next bytes to hand out, at most one message's worth; 0 when there are none. */
size_t pump_peek(const struct pump *, const void **bytes);
void   pump_advance(struct pump *, size_t n);

/* Bytes before offset are not needed any more. */
void pump_ack(struct pump *, uint64_t offset);

/* Hand out again from offset on, as far back as is held. */
void pump_rewind(struct pump *, uint64_t offset);

/* A ring: a client has it up to offset. */
void pump_read(struct pump *, uint64_t offset);

/*
 * A ring: hand out from offset on, or from the oldest byte held, at most window bytes
 * beyond what is acknowledged, which is unread bytes before offset.  From here on nothing
 * is dropped that is not acknowledged, nor the byte before it, which shows a reader of lines
 * whether it begins with one; a writer who is a ring, or a window if that is more, ahead
 * waits.  Until pump_unfollow.
 */
void pump_follow(struct pump *, uint64_t offset, uint64_t unread, uint64_t window);
void pump_unfollow(struct pump *);

/* Go on with what another ring holds, and with its count. */
void pump_inherit(struct pump *, struct pump *from);

/* A ring: put our own text behind what came out of the pipe. */
void pump_say(struct pump *, const char *text);

/* Append the last n bytes, as far as they are held. */
void pump_last(const struct pump *, size_t n, struct buf *);

/* Nobody listens any more: let go of what is held, and only count from here on. */
void pump_detach(struct pump *);

/* Free what is held; the pipe stays. */
void pump_forget(struct pump *);

/* Close the pipe too. */
void pump_clear(struct pump *);
