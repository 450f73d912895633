#include "base/netaddr.h"

#include <arpa/inet.h>
#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static void
from_ipv6(struct netaddr *a, const uint8_t bytes[16])
{
	*a = (struct netaddr){ .family = 6 };
	if (memcmp(bytes, mapped, sizeof(mapped)) == 0) {
		a->family = 4;
		memcpy(a->bytes, bytes + sizeof(mapped), 4);
	} else
		memcpy(a->bytes, bytes, 16);
}

bool
netaddr_parse(const char *text, struct netaddr *a)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1) {
		*a = (struct netaddr){ .family = 4 };
		memcpy(a->bytes, bytes, 4);
		return true;
	}
	if (inet_pton(AF_INET6, text, bytes) != 1)
		return false;
	from_ipv6(a, bytes);
	return true;
}

const char *
netaddr_text(const struct netaddr *a, char text[NETADDR_TEXT])
{
	if (a->family == 0 || inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, text, NETADDR_TEXT) == NULL)
		*text = '\0';
	return text;
}

bool
netaddr_same(const struct netaddr *a, const struct netaddr *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, netaddr_bits(a) / 8) == 0;
}

unsigned
netaddr_bits(const struct netaddr *a)
{
	return a->family == 4 ? 32 : 128;
}

bool
netaddr_within(const struct netaddr *a, const struct netaddr *network, unsigned prefix)
{
	unsigned whole = prefix / 8, rest = prefix % 8;

	if (a->family != network->family || prefix > netaddr_bits(a))
		return false;
	if (memcmp(a->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 || (a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

bool
netaddr_of(const struct sockaddr *s, struct netaddr *a, uint16_t *port)
{
	struct sockaddr_in  v4;
	struct sockaddr_in6 v6;

	if (s->sa_family == AF_INET) {
		memcpy(&v4, s, sizeof(v4));
		*a = (struct netaddr){ .family = 4 };
		memcpy(a->bytes, &v4.sin_addr, 4);
		*port = ntohs(v4.sin_port);
		return true;
	}
	if (s->sa_family != AF_INET6)
		return false;
	memcpy(&v6, s, sizeof(v6));
	from_ipv6(a, v6.sin6_addr.s6_addr);
	*port = ntohs(v6.sin6_port);
	return true;
}

socklen_t
netaddr_sockaddr(const struct netaddr *a, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in  v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(to, 0, sizeof(*to));
	if (a->family == 4) {
		memcpy(&v4.sin_addr, a->bytes, 4);
		memcpy(to, &v4, sizeof(v4));
		return sizeof(v4);
	}
	memcpy(&v6.sin6_addr, a->bytes, 16);
	memcpy(to, &v6, sizeof(v6));
	return sizeof(v6);
}

/* ---- IPv4 within IPv6 ------------------------------------------------------ */

static void
pick(const struct netaddr *a, const uint8_t at[4], uint8_t mask, struct netaddr *v4)
{
	*v4 = (struct netaddr){ .family = 4 };
	for (int i = 0; i < 4; i++)
		v4->bytes[i] = a->bytes[at[i]] ^ mask;
}

/* "64:ff9b:1::/48" may be used with several lengths: in the shortest the last bytes are zero. */
static bool
ends_in_zeros(const struct netaddr *a)
{
	static const uint8_t zeros[4];

	return memcmp(a->bytes + 12, zeros, sizeof(zeros)) == 0;
}

bool
netaddr_embedded(const struct netaddr *a, struct netaddr *v4)
{
	static const uint8_t last[4] = { 12, 13, 14, 15 }, in_48[4] = { 6, 7, 9, 10 }, in_6to4[4] = { 2, 3, 4, 5 };
	static const struct netaddr nat64 = { 6, { 0, 0x64, 0xff, 0x9b } },
				    local64 = { 6, { 0, 0x64, 0xff, 0x9b, 0, 1 } };
	static const struct netaddr to4 = { 6, { 0x20, 0x02 } }, teredo = { 6, { 0x20, 0x01 } };

	if (netaddr_within(a, &nat64, 96))
		pick(a, last, 0, v4);
	else if (netaddr_within(a, &local64, 48))
		pick(a, ends_in_zeros(a) ? in_48 : last, 0, v4);
	else if (netaddr_within(a, &to4, 16))
		pick(a, in_6to4, 0, v4);
	else if (netaddr_within(a, &teredo, 32))
		pick(a, last, 0xff, v4);
	else if (a->family == 6 && (a->bytes[8] & ~2) == 0 && a->bytes[9] == 0 && a->bytes[10] == 0x5e &&
		 a->bytes[11] == 0xfe)
		pick(a, last, 0, v4);
	else
		return false;
	return true;
}

/* ---- netrange.def ---------------------------------------------------------- */

enum { MAY, NEVER };

static struct netrange ranges[] = {
#define RANGE(net, bits, is, opened) { .text = net, .prefix = bits, .what = is, .never = (opened) == NEVER },
#include "base/netrange.def"
#undef RANGE
};

enum { RANGES = sizeof(ranges) / sizeof(*ranges) };

/* Not by netaddr_parse: the range of mapped addresses must stay one of IPv6. */
const struct netrange *
netranges(unsigned *n)
{
	for (unsigned i = 0; ranges[0].network.family == 0 && i < RANGES; i++) {
		struct netrange *r = &ranges[RANGES - 1 - i]; /* the first one last: it marks that all are there */

		r->network.family = strchr(r->text, ':') == NULL ? 4 : 6;
		inet_pton(r->network.family == 4 ? AF_INET : AF_INET6, r->text, r->network.bytes);
	}
	*n = RANGES;
	return ranges;
}

const struct netrange *
netrange_of(const struct netaddr *a)
{
	unsigned               n;
	const struct netrange *all = netranges(&n);

	for (unsigned i = 0; i < n; i++)
		if (netaddr_within(a, &all[i].network, all[i].prefix))
			return &all[i];
	return NULL;
}
