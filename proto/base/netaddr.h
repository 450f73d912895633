/* Addresses of both families, networks of them, and the ranges a sandbox does not get to by itself. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv4 address in an IPv6 one (::ffff:1.2.3.4) is that IPv4 address, wherever it comes from. */
struct netaddr {
	uint8_t family; /* 4 or 6; 0: none */
	uint8_t bytes[16];
};

enum { NETADDR_TEXT = INET6_ADDRSTRLEN };

/* Exactly an address; false if not.  No odd spellings: those of inet_pton(3). */
bool netaddr_parse(const char *, struct netaddr *);

const char *netaddr_text(const struct netaddr *, char text[NETADDR_TEXT]);

bool netaddr_same(const struct netaddr *, const struct netaddr *);

/* Bits in an address of this family: 32 or 128. */
unsigned netaddr_bits(const struct netaddr *);

/* Never true of two families. */
bool netaddr_within(const struct netaddr *, const struct netaddr *network, unsigned prefix);

/* false: neither AF_INET nor AF_INET6. */
bool netaddr_of(const struct sockaddr *, struct netaddr *, uint16_t *port);

/*
 * Some addresses of IPv6 stand for one of IPv4, to which a translator or a tunnel takes the packet: NAT64 with its two
 * well-known prefixes, 6to4, Teredo, ISATAP.  false: not this one.
 */
bool netaddr_embedded(const struct netaddr *, struct netaddr *v4);

/* As large as the family has it. */
socklen_t netaddr_sockaddr(const struct netaddr *, uint16_t port, struct sockaddr_storage *);

/* ---- netrange.def ---- */

struct netrange {
	const char    *text; /* of the network */
	struct netaddr network;
	unsigned       prefix;
	const char    *what;
	bool           never; /* no rule opens it */
};

/* All of them; *n is their number. */
const struct netrange *netranges(unsigned *n);

/* The range an address is in; NULL: it is an address of the internet. */
const struct netrange *netrange_of(const struct netaddr *);
