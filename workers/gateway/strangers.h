/*
 * Clients of LangBot's door that have not shown who they are.  There is room for a fixed number of them.  When it is
 * full, one of them makes room for the next:
 *
 *	known addresses (loopback, and those from which somebody was let in before) lose a place to other addresses only
 *	while those have less than a quarter of all places;
 *	then the address with the most strangers loses one;
 *	of that, one that was answered already, then one that has not sent its request yet, then the oldest.
 *
 * So a client that fills all places pushes out itself.  An address is an IPv4 address or the /64 of an IPv6 one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/netaddr.h"

enum { STRANGERS_KNOWN = 64 }; /* addresses remembered; more push out the one that was used least recently */

/* How much would be lost with it. */
enum stranger_stage { STRANGER_ANSWERED, STRANGER_READING, STRANGER_ASKING };

struct stranger_group; /* those of one address */

struct stranger {
	TAILQ_ENTRY(stranger) next;
	struct stranger_group *group; /* NULL: not one, or not any more */
	uint64_t               serial;
	enum stranger_stage    stage;
};

LIST_HEAD(stranger_groups, stranger_group);

struct strangers {
	struct stranger_groups groups;         /* owned */
	size_t                 count[2], most; /* strangers of other addresses, and of known ones */
	uint64_t               serial;
	struct netaddr         known[STRANGERS_KNOWN]; /* the last one used is first */
	size_t                 n_known;
};

/* Of an address: what counts as one. */
struct netaddr stranger_network(const struct netaddr *);

/* -1: no memory.  The stranger is the caller's. */
int  stranger_add(struct strangers *, struct stranger *, const struct netaddr *from);
void stranger_remove(struct strangers *, struct stranger *);

/* It has shown who it is: no stranger any more, and its address is known. */
void stranger_is_known(struct strangers *, struct stranger *);

bool strangers_are_full(const struct strangers *);

/* Who has to make room for one that comes from there (NULL: by the control socket); NULL: there are no strangers. */
struct stranger *strangers_victim(const struct strangers *, const struct netaddr *from);

const char *stranger_text(const struct stranger *, char text[NETADDR_TEXT]);
