/*
 * DNS packets: questions of sandboxes taken apart, answers of resolvers taken apart, and replies made new from what
 * was understood of both.  No byte of an answer reaches a sandbox that was not read here first.
 */
#pragma once

#include <stdbool.h> /* before ldns: it would make a bool of its own, of which 16 is not true */
#include <ldns/ldns.h>

#include "base/bounds.h"
#include "base/netaddr.h"

enum {
	QUESTION_MOST = 1024,  /* bytes of a question: a name is 255, and options behind it a few dozen */
	REPLY_UDP_LEAST = 512, /* every client takes this much */
	REPLY_UDP_MOST = 1232, /* and this is what we let it ask for by EDNS */
	REPLY_TCP_MOST = 65535,
	REPLY_RECORDS = 64, /* in one reply; a longer answer loses the rest */
	REPLY_TTL_MOST = 86400,
	QUESTION_SILENCE = -1,
};

struct question {
	uint16_t id;
	uint8_t  opcode;
	bool     recursion, unchecked; /* the flags RD and CD, which come back */
	bool     edns;
	uint16_t udp_most; /* bytes of a reply by UDP */
	uint16_t type;
	char     name[LIM_DNS_NAME + 1]; /* in lower case, without a dot at its end */
	uint8_t  qname[LDNS_MAX_DOMAINLEN];
	size_t   qname_len; /* 0: there is no question to repeat */
};

/*
 * 0: a question that may be asked.  An rcode: it is answered with that.  QUESTION_SILENCE: it is not answered, for it
 * is no question, or too short to tell.  Names are of letters, digits, '-' and '_'.
 */
int question_parse(struct question *, const uint8_t *bytes, size_t n);

struct reply {
	uint8_t *bytes; /* owned */
	size_t   n;
};

/* An address of an answer; false: leave it out. */
typedef bool reply_address(void *arg, const struct netaddr *, uint32_t ttl_sec);

/* Each makes a whole reply; false: there is no memory for it. */
bool reply_rcode(struct reply *, const struct question *, int rcode); /* and no record */
bool reply_loopback(struct reply *, const struct question *);         /* 127.0.0.1 or ::1 */

/*
 * A resolver's answer to the question; SERVFAIL if it answers another question or is broken.  Of more than
 * most bytes it becomes TC (too long), and by TCP (REPLY_TCP_MOST) SERVFAIL.
 */
bool reply_answer(
    struct reply *, const struct question *, size_t most, const uint8_t *answer, size_t n, reply_address *, void *arg);

void reply_clear(struct reply *);
