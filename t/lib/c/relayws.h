/*
 * A ws for tests of a relay: what the guest says is kept, what the client's socket takes is the test's choice.
 */
#pragma once

#include "workers/gateway/relay/relay.h"

enum { RELAYWS_TEXTS = 65536, RELAYWS_WRITES = 1024 };

struct ws {
	const struct ws_handler *ops;
	void                    *guest;

	struct buf texts[RELAYWS_TEXTS]; /* owned; in order */
	size_t     n;
	size_t     queued;     /* bytes the socket has not taken */
	bool       full;       /* it takes nothing */
	size_t     queued_top; /* the most there ever was */

	bool     finished, held;
	unsigned code;
	char     reason[256];

	/* what the supervisor was asked */
	bool                      broken; /* it cannot be */
	size_t                    attaches, acks;
	struct msg_process_attach attach; /* the last; its strings are not kept */
	uint64_t                  acked;
	struct buf                written; /* owned; bytes of all writes */
	size_t                    writes, most_written;
	uint64_t                  write; /* id of the last, not yet answered */
};

/* A relay on it; 0 or -1 as relay_open has it. */
int relayws_open(struct ws *, bool lines, uint64_t line_bytes, struct err *);

/* Over, and everything freed; ready for the next. */
void relayws_close(struct ws *);

/* What a supervisor sends. */
void relayws_output(struct ws *, uint64_t offset, const void *bytes, size_t n);
void relayws_ended(struct ws *, int exit_code);
void relayws_fail(struct ws *, uint64_t id, enum err_code, const char *text);
void relayws_written(struct ws *);

/* What a client does: read so many bytes, 0: all. */
void relayws_take(struct ws *, size_t n);
void relayws_text(struct ws *, const char *);
