#include "auth/auth_slow.h"

#include <string.h>

static struct slow_address *
find(struct slow *s, const unsigned char net[ADDRESS_NET])
{
	for (size_t i = 0; i < SLOW_ADDRESSES; i++)
		if (s->rows[i].last > 0 && memcmp(s->rows[i].net, net, ADDRESS_NET) == 0)
			return &s->rows[i];
	return NULL;
}

/* A free row, or the row of the address that has not failed for longest. */
static struct slow_address *
take(struct slow *s, const unsigned char net[ADDRESS_NET])
{
	struct slow_address *r = &s->rows[0];

	for (size_t i = 1; i < SLOW_ADDRESSES; i++)
		if (s->rows[i].last < r->last)
			r = &s->rows[i];
	*r = (struct slow_address){ 0 };
	memcpy(r->net, net, ADDRESS_NET);
	return r;
}

double
slow_failed(struct slow *s, const struct address *a, double now)
{
	unsigned char net[ADDRESS_NET];

	address_net(a, net);
	struct slow_address *r = find(s, net);
	if (r == NULL)
		r = take(s, net);
	if (now - r->last > SLOW_PEACE_SEC)
		r->delay = 0;
	r->last = now;
	r->delay = r->delay == 0 ? SLOW_FIRST_SEC : r->delay * 2 > SLOW_MOST_SEC ? SLOW_MOST_SEC : r->delay * 2;
	return r->delay;
}
