/*
 * Asking the host's resolvers; opening and closing is in dns.h.
 *
 * A question that waits is an ask.  It is the resolver's, and ends in one answer; who asked can only stop listening,
 * because what is on its way to a resolver cannot be called back.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ASKS_MOST = 8192 }; /* of all sessions together: c-ares has 65536 numbers for them, and looks for a free one */

struct resolver;
struct ask;

/* The answer as it came, or NULL: no answer.  The ask is over, and is gone after the call. */
typedef void resolver_answer(void *arg, const uint8_t *bytes, size_t n);

/*
 * Name: letters, digits, '-', '_' and dots.  NULL: it cannot be asked now (no server, no way to one, or too many ask).
 * The answer never comes before this returns.
 */
struct ask *resolver_ask(struct resolver *, const char *name, uint16_t type, resolver_answer *, void *arg);

/* Do not tell me. */
void ask_drop(struct ask **);
