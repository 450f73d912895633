/* One TCP connection on which a session asks: questions in, replies out, each behind two bytes of length. */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dns_stream;

struct dns_stream_ops {
	/* A question.  true: a reply was sent, or will be. */
	bool (*on_question)(void *arg, struct dns_stream *, const uint8_t *, size_t n);

	/* It is over: the owner closes it now. */
	void (*on_gone)(void *arg, struct dns_stream *);
};

/* Takes fd, without memory too; then NULL. */
struct dns_stream *dns_stream_open(struct ev_loop *, int fd, const struct dns_stream_ops *, void *arg);

/* A reply to one of the questions.  Closes nothing: a client that reads too little is gone a moment later. */
void dns_stream_reply(struct dns_stream *, const uint8_t *, size_t n);

/* There will be no reply to one of them: the stream is gone a moment later. */
void dns_stream_fail(struct dns_stream *);

/* Read no more questions for a while, and go on. */
void dns_stream_hold(struct dns_stream *, bool held);

void dns_stream_close(struct dns_stream **);
