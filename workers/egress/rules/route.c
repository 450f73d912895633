/*
 * The kernel is asked, and what it said is kept for the next connection to that address until it reports any change to
 * addresses, routes or links: that is looked for each time, so nothing that is kept is older than the tables.  It
 * answers while the question is sent, so nothing is waited for: an answer that is not there when sendto(2) returns will
 * not come.
 *
 * The sockets are opened before the confinement, which forbids netlink.
 */
#include "rules/route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, STALE_MOST = 16, NEWS_MOST = 64, KEPT = 256 };

struct known {
	struct netaddr to; /* family 0: nothing is kept here */
	enum way       way;
};

struct routes {
	struct mnl_socket *socket; /* owned */
	struct mnl_socket *news;   /* owned; of changes */
	uint32_t           number; /* of the last question */
	struct known       known[KEPT];
};

static const unsigned changes = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
				RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE;

struct routes *
routes_open(struct err *e)
{
	struct routes *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory for routes");
		return NULL;
	}
	r->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	r->news = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (r->socket == NULL || mnl_socket_bind(r->socket, 0, MNL_SOCKET_AUTOPID) == -1 || r->news == NULL ||
	    mnl_socket_bind(r->news, changes, MNL_SOCKET_AUTOPID) == -1) {
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
	if (r->news != NULL)
		mnl_socket_close(r->news);
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

static enum way
look_up(struct routes *r, const struct netaddr *a)
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

/* Also when so much has that it was not told, or when it cannot be asked any more. */
static bool
has_changed(struct routes *r)
{
	char bytes[BYTES];
	bool changed = false;

	for (int i = 0; i < NEWS_MOST; i++) {
		if (mnl_socket_recvfrom(r->news, bytes, sizeof(bytes)) == -1 && errno == EAGAIN)
			return changed;
		changed = true;
	}
	return true; /* the rest is for the next time */
}

static struct known *
place_of(struct routes *r, const struct netaddr *a)
{
	uint32_t h = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < sizeof(a->bytes); i++)
		h = (h ^ a->bytes[i]) * 16777619U;
	return &r->known[h % KEPT];
}

enum way
route_to(struct routes *r, const struct netaddr *a)
{
	struct known *k = place_of(r, a);

	if (has_changed(r))
		memset(r->known, 0, sizeof(r->known));
	if (k->to.family == 0 || !netaddr_same(&k->to, a))
		*k = (struct known){ .to = *a, .way = look_up(r, a) };
	return k->way;
}
