#include "sandbox/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/netaddr.h"
#include "host/nft.h"

/*
 * From documentation ranges: nothing real is hidden behind them.  Without an address besides loopback's the source
 * of a redirected connection would be 0.0.0.0, and no byte would ever flow.
 */
static const char *const own_addresses[] = { "192.0.2.1", "2001:db8::1" };

enum { BACKLOG = 4096, LOOPBACK = 1, NETLINK_BYTES = 8192 };

/* Of the host as it is now: slirp4netns would lead to its services. */
static int
list_own(struct buf *own, struct err *e)
{
	struct ifaddrs *all, *i;
	struct netaddr  a;
	uint16_t        port;
	char            text[NETADDR_TEXT];

	if (getifaddrs(&all) == -1)
		return err_sys(e, "addresses of this host");
	for (i = all; i != NULL; i = i->ifa_next)
		if (i->ifa_addr != NULL && netaddr_of(i->ifa_addr, &a, &port))
			buf_printf(own, "%s,", netaddr_text(&a, text));
	freeifaddrs(all);
	return own->failed ? err_set(e, E_SYS, "no memory for addresses") : 0;
}

int
netns_prepare(struct net_plan *p, struct err *e)
{
	if (p->mode != NET_MODE_EGRESS && p->mode != NET_MODE_SLIRP)
		return 0;
	if (nft_load(e) == -1)
		return -1;
	if (p->mode == NET_MODE_EGRESS)
		return 0;
	return slirp_prepare(&p->slirp, e) == -1 || list_own(&p->own, e) == -1 ? -1 : 0;
}

int
netns_born(struct net_plan *p, const struct cgroup *c, pid_t child, struct err *e)
{
	return p->mode == NET_MODE_SLIRP ? slirp_start(&p->slirp, c, child, e) : 0;
}

void
net_plan_clear(struct net_plan *p)
{
	slirp_clear(&p->slirp);
	buf_clear(&p->own);
}

static int
loopback_up(struct err *e)
{
	AUTO_FD int  s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_flags = IFF_UP | IFF_RUNNING };

	strcpy(lo.ifr_name, "lo");
	if (s == -1 || ioctl(s, SIOCSIFFLAGS, &lo) == -1)
		return err_sys(e, "bring loopback up");
	return 0;
}

/* ---- addresses and routes ---------------------------------------------------- */

/* One question and its acknowledgement.  An errno, or 0. */
static int
ask(struct mnl_socket *nl, struct nlmsghdr *h)
{
	char answer[NETLINK_BYTES];

	h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = (unsigned)time(NULL);
	if (mnl_socket_sendto(nl, h, h->nlmsg_len) == -1)
		return errno;
	ssize_t n = mnl_socket_recvfrom(nl, answer, sizeof(answer));
	if (n == -1 || mnl_cb_run(answer, (size_t)n, h->nlmsg_seq, mnl_socket_get_portid(nl), NULL, NULL) == -1)
		return errno;
	return 0;
}

static int
add_address(struct mnl_socket *nl, const struct netaddr *a)
{
	char              bytes[NETLINK_BYTES];
	struct nlmsghdr  *h = mnl_nlmsg_put_header(bytes);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = RTM_NEWADDR;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	m->ifa_family = a->family == 4 ? AF_INET : AF_INET6;
	m->ifa_prefixlen = (uint8_t)netaddr_bits(a);
	m->ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD;
	m->ifa_index = LOOPBACK;
	mnl_attr_put(h, IFA_LOCAL, netaddr_bits(a) / 8, a->bytes);
	mnl_attr_put(h, IFA_ADDRESS, netaddr_bits(a) / 8, a->bytes);
	return ask(nl, h);
}

/* Everything leads into lo, from that address. */
static int
add_route(struct mnl_socket *nl, const struct netaddr *from)
{
	char             bytes[NETLINK_BYTES];
	struct nlmsghdr *h = mnl_nlmsg_put_header(bytes);
	struct rtmsg    *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = RTM_NEWROUTE;
	h->nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
	m->rtm_family = from->family == 4 ? AF_INET : AF_INET6;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = from->family == 4 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	m->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(h, RTA_OIF, LOOPBACK);
	mnl_attr_put(h, RTA_PREFSRC, netaddr_bits(from) / 8, from->bytes);
	return ask(nl, h);
}

/* A kernel without IPv6 has one family, and so has the sandbox. */
static bool
has_ipv6(void)
{
	AUTO_FD int s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s != -1;
}

static int
lead_into_loopback(struct err *e)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int                failed = 0;

	if (nl == NULL || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == -1)
		failed = errno;
	for (size_t i = 0; failed == 0 && i < (has_ipv6() ? 2 : 1); i++) {
		struct netaddr a;

		netaddr_parse(own_addresses[i], &a);
		if ((failed = add_address(nl, &a)) == 0)
			failed = add_route(nl, &a);
	}
	if (nl != NULL)
		mnl_socket_close(nl);
	errno = failed;
	return failed == 0 ? 0 : err_sys(e, "routes of the sandbox's namespace");
}

/*
 * Of connections that have ended nothing has to be known for long, and no limit counts the memory that it takes.  The
 * files are of the namespace we are in, through whatever mount; a kernel may have none of them.
 */
static const struct {
	const char *file, *value;
} settings[] = {
	{ "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_sent", "5" }, /* box-egress is stuck, or gone */
	{ "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_recv", "5" },
	{ "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_last_ack", "5" },
	{ "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait", "5" },
	{ "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close", "5" },
};

static void
set_all(void)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		AUTO_FD int fd = open(settings[i].file, O_WRONLY | O_CLOEXEC);

		if (fd != -1)
			(void)!write(fd, settings[i].value, strlen(settings[i].value));
	}
}

/* ---- sockets ------------------------------------------------------------------- */

static int
bind_to(const char *address, uint16_t port, int type, struct err *e)
{
	struct sockaddr_storage at;
	struct netaddr          a;

	netaddr_parse(address, &a);
	socklen_t   len = netaddr_sockaddr(&a, port, &at);
	AUTO_FD int s = socket(at.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int         both = 0;

	if (s == -1)
		return err_sys(e, "socket in the sandbox's namespace");
	if (a.family == 6 && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both)) == -1)
		return err_sys(e, "socket for both families");
	if (bind(s, (struct sockaddr *)&at, len) == -1)
		return err_sys(e, "bind %s port %u in the sandbox's namespace", address, port);
	return fd_take(&s);
}

static int
listener(struct err *e)
{
	AUTO_FD int s = bind_to(has_ipv6() ? "::" : "0.0.0.0", NET_PORT, SOCK_STREAM, e);

	if (s == -1)
		return -1;
	if (listen(s, BACKLOG) == -1)
		return err_sys(e, "listen in the sandbox's namespace");
	return fd_take(&s);
}

static int
configure_log(struct mnl_socket *nl, uint16_t attribute, size_t n, const void *value)
{
	char             bytes[NETLINK_BYTES];
	struct nlmsghdr *h = mnl_nlmsg_put_header(bytes);
	struct nfgenmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	m->nfgen_family = AF_UNSPEC;
	m->version = NFNETLINK_V0;
	m->res_id = htons(NET_LOG_GROUP);
	mnl_attr_put(h, attribute, n, value);
	return ask(nl, h);
}

/* Its reader needs no right; the kernel reports each packet at once, and only its beginning. */
static int
refusals(void)
{
	struct nfulnl_msg_config_cmd  bind_it = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_mode = NFULNL_COPY_PACKET, .copy_range = htonl(96) };
	uint32_t                      at_once = htonl(1);
	struct mnl_socket            *nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	int                           fd = -1;

	if (nl == NULL)
		return -1;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == 0 &&
	    configure_log(nl, NFULA_CFG_CMD, sizeof(bind_it), &bind_it) == 0 &&
	    configure_log(nl, NFULA_CFG_MODE, sizeof(mode), &mode) == 0 &&
	    configure_log(nl, NFULA_CFG_QTHRESH, sizeof(at_once), &at_once) == 0)
		fd = fcntl(mnl_socket_get_fd(nl), F_DUPFD_CLOEXEC, 0);
	mnl_socket_close(nl);
	if (fd != -1)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

void
netns_enter(const struct net_plan *p)
{
	if (p->mode == NET_MODE_EGRESS)
		set_all();
}

int
netns_build(const struct net_plan *p, struct net_sockets *s, struct err *e)
{
	if (loopback_up(e) == -1)
		return -1;
	if (p->mode == NET_MODE_SLIRP)
		return netfilter_apply(p, false, e) == -1 ? -1 : slirp_await(&p->slirp, e);
	if (p->mode != NET_MODE_EGRESS)
		return 0;
	if (lead_into_loopback(e) == -1)
		return -1;
	s->refusals = refusals();
	if (netfilter_apply(p, s->refusals != -1, e) == -1 || (s->listener = listener(e)) == -1 ||
	    (s->dns = bind_to("127.0.0.1", 53, SOCK_DGRAM, e)) == -1)
		return -1;
	return 0;
}

void
net_sockets_close(struct net_sockets *s)
{
	fd_close(&s->listener);
	fd_close(&s->dns);
	fd_close(&s->refusals);
}
