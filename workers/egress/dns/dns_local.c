/*
 * localhost is the sandbox's own loopback (RFC 6761), and .onion is not for DNS (RFC 7686).  Names of addresses in the
 * ranges of netrange.def are the site's own: a resolver that knows them would tell a sandbox who its neighbours are.
 */
#include "dns/dns_local.h"

#include <stdlib.h>
#include <string.h>

#include "base/netaddr.h"

/* Is it that name or one below it?  *rest: how much stands before it, without the dot. */
static bool
ends_in(const char *name, size_t n, const char *suffix, size_t *rest)
{
	size_t len = strlen(suffix);

	if (n < len || memcmp(name + n - len, suffix, len) != 0)
		return false;
	if (n > len && name[n - len - 1] != '.')
		return false;
	*rest = n > len ? n - len - 1 : 0;
	return true;
}

/* The last label before *n, and *n is what is left before it.  false: it is no number, or too large. */
static bool
last_number(const char *name, size_t *n, int base, unsigned long most, unsigned long *number)
{
	size_t at = *n;
	char   text[4] = "";

	while (at > 0 && name[at - 1] != '.')
		at--;
	if (*n - at == 0 || *n - at > 3 || strspn(name + at, base == 10 ? "0123456789" : "0123456789abcdef") < *n - at)
		return false;
	memcpy(text, name + at, *n - at);
	*number = strtoul(text, NULL, base);
	*n = at > 0 ? at - 1 : 0;
	return *number <= most;
}

/* Numbers from the end on are a network; *bits of it are given. */
static struct netaddr
reversed(const char *name, size_t n, uint8_t family, unsigned *bits)
{
	struct netaddr a = { .family = family };
	unsigned long  x;

	*bits = 0;
	if (family == 4)
		for (; *bits < 32 && n > 0 && last_number(name, &n, 10, 255, &x); *bits += 8)
			a.bytes[*bits / 8] = (uint8_t)x;
	else
		for (; *bits < 128 && n > 0 && last_number(name, &n, 16, 15, &x); *bits += 4)
			a.bytes[*bits / 8] |= (uint8_t)(x << (*bits % 8 == 0 ? 4 : 0));
	return a;
}

/* All of the network is in one of the ranges. */
static bool
is_guarded(const struct netaddr *a, unsigned bits)
{
	unsigned               n;
	const struct netrange *all = netranges(&n);

	for (unsigned i = 0; i < n; i++)
		if (bits >= all[i].prefix && netaddr_within(a, &all[i].network, all[i].prefix))
			return true;
	return false;
}

static bool
is_of_guarded(const char *name, size_t n, uint8_t family)
{
	unsigned       bits;
	struct netaddr a = reversed(name, n, family, &bits);

	return is_guarded(&a, bits);
}

enum local
local_name(const char *name)
{
	size_t n = strlen(name), rest;

	if (ends_in(name, n, "localhost", &rest))
		return LOCAL_LOOPBACK;
	if (ends_in(name, n, "onion", &rest))
		return LOCAL_NXDOMAIN;
	if (ends_in(name, n, "in-addr.arpa", &rest) && is_of_guarded(name, rest, 4))
		return LOCAL_NXDOMAIN;
	if (ends_in(name, n, "ip6.arpa", &rest) && is_of_guarded(name, rest, 6))
		return LOCAL_NXDOMAIN;
	return LOCAL_NOT;
}
