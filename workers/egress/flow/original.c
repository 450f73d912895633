/*
 * The kernel's connection tracking knows.  It keeps the two families apart even where the socket does not: of an IPv4
 * connection to a socket of both, the level of IPv4 must be asked.
 */
#include "flow/original.h"

#include <linux/netfilter_ipv4.h>

enum { ORIGINAL_DST_IPV6 = 80 }; /* linux/netfilter_ipv6/ip6_tables.h, which does not go with netinet/in.h */

bool
original_destination(int fd, struct netaddr *to, uint16_t *port)
{
	struct sockaddr_storage s = { 0 };
	socklen_t               n = sizeof(s);
	struct netaddr          here;
	uint16_t                here_port;

	if (getsockname(fd, (struct sockaddr *)&s, &n) == -1 || !netaddr_of((struct sockaddr *)&s, &here, &here_port)) {
		*to = (struct netaddr){ 0 };
		*port = 0;
		return false;
	}
	*to = here;
	*port = here_port;
	n = sizeof(s);
	if (here.family == 4 && getsockopt(fd, SOL_IP, SO_ORIGINAL_DST, &s, &n) == -1)
		return false;
	if (here.family == 6 && getsockopt(fd, SOL_IPV6, ORIGINAL_DST_IPV6, &s, &n) == -1)
		return false;
	if (!netaddr_of((struct sockaddr *)&s, to, port))
		return false;
	/* a connection that was not redirected shows its own address */
	return *port != here_port || !netaddr_same(to, &here);
}
