/*
 * A pin is one name of one address.  Pins are found by their address in a table of chains, the newest first in its
 * chain, and by the time they end in a heap, so that the one that ends first is known when there are too many.
 *
 * Sandboxes choose the addresses, and could put all of them into one chain: then a look walks PINS_MOST pins, which
 * costs that session a few microseconds and no other anything.
 */
#include "dns/pins.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { CHAINS = 512, ROOM_FIRST = 32 };

struct pin {
	LIST_ENTRY(pin) chain;
	struct netaddr address;
	double         ends;
	size_t         at; /* in the heap */
	char           name[];
};

LIST_HEAD(chain, pin);

struct pins {
	struct chain chains[CHAINS];
	struct pin **heap; /* owned, and so are the pins; no pin ends before the one above it */
	size_t       n, room;
};

static struct chain *
chain_of(struct pins *p, const struct netaddr *a)
{
	uint64_t x = a->family;

	for (unsigned i = 0; i < netaddr_bits(a) / 8; i++)
		x = (x ^ a->bytes[i]) * 0x100000001b3u;
	return &p->chains[(x >> 16) % CHAINS];
}

/* ---- the heap ---------------------------------------------------------------------- */

static void
put(struct pins *p, size_t at, struct pin *pin)
{
	p->heap[at] = pin;
	pin->at = at;
}

static void
rise(struct pins *p, struct pin *pin)
{
	size_t at = pin->at;

	for (; at > 0 && p->heap[(at - 1) / 2]->ends > pin->ends; at = (at - 1) / 2)
		put(p, at, p->heap[(at - 1) / 2]);
	put(p, at, pin);
}

static void
sink(struct pins *p, struct pin *pin)
{
	size_t at = pin->at;

	for (;;) {
		size_t below = 2 * at + 1;

		if (below + 1 < p->n && p->heap[below + 1]->ends < p->heap[below]->ends)
			below++;
		if (below >= p->n || p->heap[below]->ends >= pin->ends)
			break;
		put(p, at, p->heap[below]);
		at = below;
	}
	put(p, at, pin);
}

static int
make_room(struct pins *p)
{
	size_t       room = p->room == 0 ? ROOM_FIRST : p->room * 2;
	struct pin **heap;

	if (p->n < p->room)
		return 0;
	if ((heap = realloc(p->heap, room * sizeof(void *))) == NULL)
		return -1;
	p->heap = heap;
	p->room = room;
	return 0;
}

/* ---- pins --------------------------------------------------------------------------- */

static void
drop(struct pins *p, struct pin *pin)
{
	assert(p->n > 0 && pin->at < p->n && p->heap[pin->at] == pin);
	struct pin *last = p->heap[--p->n];

	if (last != pin) {
		put(p, pin->at, last);
		rise(p, last);
		sink(p, last);
	}
	LIST_REMOVE(pin, chain);
	free(pin);
}

static void
drop_ended(struct pins *p, double now)
{
	while (p->n > 0 && p->heap[0]->ends <= now)
		drop(p, p->heap[0]);
}

static struct pin *
pin_find(struct pins *p, const struct netaddr *a, const char *name)
{
	struct pin *pin;

	LIST_FOREACH (pin, chain_of(p, a), chain)
		if (netaddr_same(&pin->address, a) && strcmp(pin->name, name) == 0)
			return pin;
	return NULL;
}

/* An address keeps no more names than are reported for it. */
static void
drop_surplus(struct pins *p, const struct netaddr *a)
{
	struct pin *pin, *oldest = NULL;
	size_t      n = 0;

	LIST_FOREACH (pin, chain_of(p, a), chain)
		if (netaddr_same(&pin->address, a)) {
			n++;
			oldest = pin;
		}
	if (n >= PIN_NAMES)
		drop(p, oldest);
}

static void
add(struct pins *p, const struct netaddr *a, const char *name, double ends)
{
	size_t      n = strlen(name) + 1;
	struct pin *pin;

	drop_surplus(p, a);
	if (p->n >= PINS_MOST)
		drop(p, p->heap[0]);
	/* without memory the address has no name, and only a rule with an address lets the session there */
	if (make_room(p) == -1 || (pin = malloc(sizeof(*pin) + n)) == NULL)
		return;
	pin->address = *a;
	pin->ends = ends;
	memcpy(pin->name, name, n);
	assert(p->n < p->room);
	LIST_INSERT_HEAD(chain_of(p, a), pin, chain);
	put(p, p->n++, pin);
	rise(p, pin);
}

void
pins_add(struct pins *p, const struct netaddr *a, const char *name, uint32_t ttl_sec, double now)
{
	double      sec = ttl_sec < PIN_LEAST_SEC ? PIN_LEAST_SEC : ttl_sec > PIN_MOST_SEC ? PIN_MOST_SEC : ttl_sec;
	struct pin *pin;

	drop_ended(p, now);
	if ((pin = pin_find(p, a, name)) == NULL) {
		add(p, a, name, now + sec);
		return;
	}
	LIST_REMOVE(pin, chain);
	LIST_INSERT_HEAD(chain_of(p, a), pin, chain);
	if (pin->ends < now + sec) {
		pin->ends = now + sec;
		sink(p, pin);
	}
}

/* Drops nothing: what an earlier call told stays valid. */
size_t
pins_names(struct pins *p, const struct netaddr *a, double now, const char *names[PIN_NAMES])
{
	struct pin *pin;
	size_t      n = 0;

	LIST_FOREACH (pin, chain_of(p, a), chain)
		if (n < PIN_NAMES && pin->ends > now && netaddr_same(&pin->address, a))
			names[n++] = pin->name;
	return n;
}

struct pins *
pins_open(void)
{
	return calloc(1, sizeof(struct pins)); /* empty chains are all zeros */
}

void
pins_close(struct pins **pp)
{
	struct pins *p = *pp;

	if (p == NULL)
		return;
	*pp = NULL;
	for (size_t i = 0; i < p->n; i++)
		free(p->heap[i]);
	free(p->heap);
	free(p);
}
