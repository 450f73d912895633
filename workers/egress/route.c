/*
 * The kernel is asked for each connection: addresses come and go, and a copy of its tables would be wrong between two
 * of its messages.  It answers while the question is sent, so nothing is waited for: an answer that is not there when
 * sendto(2) returns will not come.
 *
 * The socket is opened before the confinement, which forbids netlink.
 */
#include "route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

enum { BYTES = 4096, STALE_MOST = 16 };

struct routes {
	struct mnl_socket *socket; /* owned */
	uint32_t           number; /* of the last question */
};

struct routes *
routes_open(struct err *e)
{
	struct routes *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory for routes");
		return NULL;
	}
	r->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (r->socket == NULL || mnl_socket_bind(r->socket, 0, MNL_SOCKET_AUTOPID) == -1) {
		err_sys(e, "routes by netlink");
		routes_close(&r);
	}
	return r;
}

void
routes_close(struct routes **rp)
{
	struct routes *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	if (r->socket != NULL)
		mnl_socket_close(r->socket);
	free(r);
}

static int
ask(struct routes *r, const struct netaddr *a)
{
	_Alignas(struct nlmsghdr) char bytes[BYTES];
	struct nlmsghdr               *h = mnl_nlmsg_put_header(bytes);
	struct rtmsg                  *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = RTM_GETROUTE;
	h->nlmsg_flags = NLM_F_REQUEST;
	h->nlmsg_seq = ++r->number;
	m->rtm_family = a->family == 4 ? AF_INET : AF_INET6;
	m->rtm_dst_len = (uint8_t)netaddr_bits(a);
	mnl_attr_put(h, RTA_DST, netaddr_bits(a) / 8, a->bytes);
	return mnl_socket_sendto(r->socket, h, h->nlmsg_len) == -1 ? -1 : 0;
}

static enum way
way_of_type(unsigned char type)
{
	switch (type) {
	case RTN_UNICAST:
		return WAY_OUT;
	case RTN_BLACKHOLE:
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT:
		return WAY_NONE;
	default:
		return WAY_OWN;
	}
}

/* How the kernel says that there is no route, of these kinds or at all. */
static enum way
way_of_error(int error)
{
	switch (error) {
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EACCES: /* prohibited */
	case EINVAL: /* a black hole */
		return WAY_NONE;
	default:
		return WAY_OWN;
	}
}

static int
on_route(const struct nlmsghdr *h, void *arg)
{
	enum way *way = arg;

	if (h->nlmsg_type == RTM_NEWROUTE && mnl_nlmsg_get_payload_len(h) >= sizeof(struct rtmsg))
		*way = way_of_type(((const struct rtmsg *)mnl_nlmsg_get_payload(h))->rtm_type);
	return MNL_CB_STOP;
}

enum way
route_to(struct routes *r, const struct netaddr *a)
{
	_Alignas(struct nlmsghdr) char bytes[BYTES];
	enum way                       way = WAY_OWN;

	if (ask(r, a) == -1)
		return WAY_OWN;
	/* answers to questions of before, should there be any, have another number */
	for (int i = 0; i < STALE_MOST; i++) {
		ssize_t n = mnl_socket_recvfrom(r->socket, bytes, sizeof(bytes));

		if (n == -1)
			return WAY_OWN;
		if (mnl_cb_run(bytes, (size_t)n, r->number, mnl_socket_get_portid(r->socket), on_route, &way) >= 0)
			return way;
		if (errno != EPROTO && errno != ESRCH)
			return way_of_error(errno);
	}
	return WAY_OWN;
}
