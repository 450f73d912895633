#include "egressworld.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <nftables/libnftables.h>
#include <sched.h>
#include <sys/prctl.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "egressbox.h"
#include "tap.h"
#include "workers/egress/rules/route.h"

enum { LOG_GROUP = 1, BACKLOG = 4096 };

static int host = -1, net = -1;

int
world_host(void)
{
	return host;
}

int
world_net(void)
{
	return net;
}

/* ---- namespaces ----------------------------------------------------------------------- */

static int
here(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	must(fd != -1, "/proc/self/ns/net: %s", strerror(errno));
	return fd;
}

static void
go(int ns)
{
	must(setns(ns, CLONE_NEWNET) != -1, "setns: %s", strerror(errno));
}

static void
ip(const char *batch)
{
	char  commands[4096];
	FILE *f;

	snprintf(commands, sizeof(commands), "%s", batch);
	for (char *p = commands; *p != '\0'; p++)
		if (*p == ';')
			*p = '\n';
	must((f = popen("ip -batch -", "we")) != NULL && fputs(commands, f) != EOF && pclose(f) == 0,
	    "ip: cannot set up a namespace");
}

static void
be_alone(void)
{
	if (unshare(CLONE_NEWNET) == -1)
		plan(SKIP_ALL, "no network namespace of its own can be had here");
}

/* The kernel makes an IPv6 address a local one a moment after it was added; until then it is refused like others. */
static void
await_address(const char *address)
{
	struct routes *r;
	struct netaddr a;
	struct err     e;

	netaddr_parse(address, &a);
	must((r = routes_open(&e)) != NULL, "%s", e.text);
	while (route_to(r, &a) != WAY_OWN)
		usleep(1000);
	routes_close(&r);
}

/* The host's one way out leads to the internet, where every address is a local one. */
void
world_begin(void)
{
	char wire[256];

	if (getuid() != 0)
		plan(SKIP_ALL, "namespaces of its own need root");
	if (system("command -v ip >/dev/null") != 0)
		plan(SKIP_ALL, "iproute2 is not installed");
	be_alone();
	net = here();
	be_alone();
	host = here();
	snprintf(wire, sizeof(wire), "link add h0 type veth peer name n0 netns /proc/%d/fd/%d", getpid(), net);
	ip(wire);
	ip("link set lo up;link set h0 up;addr add " HOST "/24 dev h0;addr add 2a00:1450::10/64 dev h0 nodad;"
	   "route add default via 185.199.108.1;route add default via 2a00:1450::1;"
	   "route add unreachable 203.0.114.0/24");
	await_address("2a00:1450::10");
	go(net);
	ip("link set lo up;link set n0 up;addr add 185.199.108.1/24 dev n0;addr add 2a00:1450::1/64 dev n0 nodad;"
	   "route add local default dev lo table main;route add local ::/0 dev lo table main;"
	   "route add blackhole 93.184.216.99");
	go(host);
}

/* ---- sockets --------------------------------------------------------------------------- */

int
world_socket(int ns, int family, int type)
{
	go(ns);
	int s = socket(family, type | SOCK_CLOEXEC, 0);
	go(host);
	must(s != -1, "socket: %s", strerror(errno));
	return s;
}

int
world_listen(int ns, uint16_t port)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int                 s = world_socket(ns, AF_INET6, SOCK_STREAM), both = 0, on = 1;

	must(setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both)) != -1 &&
		 setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != -1 &&
		 bind(s, (struct sockaddr *)&at, sizeof(at)) != -1 && listen(s, BACKLOG) != -1,
	    "listen at port %u: %s", port, strerror(errno));
	return s;
}

/* ---- a sandbox -------------------------------------------------------------------------- */

static void
configure_log(struct mnl_socket *nl, uint16_t attribute, size_t n, const void *value)
{
	_Alignas(struct nlmsghdr) char bytes[1024];
	struct nlmsghdr               *h = mnl_nlmsg_put_header(bytes);
	struct nfgenmsg               *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	h->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	m->nfgen_family = AF_UNSPEC;
	m->version = NFNETLINK_V0;
	m->res_id = htons(LOG_GROUP);
	mnl_attr_put(h, attribute, n, value);
	must(mnl_socket_sendto(nl, h, h->nlmsg_len) != -1, "nfnetlink_log: %s", strerror(errno));
	ssize_t r = mnl_socket_recvfrom(nl, bytes, sizeof(bytes));
	must(r != -1 && mnl_cb_run(bytes, (size_t)r, 0, 0, NULL, NULL) != -1, "nfnetlink_log: %s", strerror(errno));
}

static int
make_refusals(void)
{
	struct nfulnl_msg_config_cmd  bind_it = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_mode = NFULNL_COPY_PACKET, .copy_range = htonl(96) };
	uint32_t                      at_once = htonl(1);
	struct mnl_socket            *nl = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);

	must(nl != NULL && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) != -1, "netlink: %s", strerror(errno));
	configure_log(nl, NFULA_CFG_CMD, sizeof(bind_it), &bind_it);
	configure_log(nl, NFULA_CFG_MODE, sizeof(mode), &mode);
	configure_log(nl, NFULA_CFG_QTHRESH, sizeof(at_once), &at_once);
	int fd = fcntl(mnl_socket_get_fd(nl), F_DUPFD_CLOEXEC, 0);
	mnl_socket_close(nl);
	return fd;
}

static void
nft(const char *rules)
{
	struct nft_ctx *ctx = nft_ctx_new(NFT_CTX_DEFAULT);

	must(ctx != NULL && nft_run_cmd_from_buffer(ctx, rules) == 0, "nftables: cannot set up a namespace");
	nft_ctx_free(ctx);
}

static const char rules[] = "table inet box {\n"
			    "chain refuse { type filter hook output priority -150; policy accept;\n"
			    "fib daddr type local accept\n"
			    "meta l4proto != tcp log group 1 snaplen 96 reject with icmpx host-unreachable\n"
			    "ip daddr 172.16.0.0/12 log group 1 snaplen 96 reject with tcp reset\n"
			    "}\n"
			    "chain divert { type nat hook output priority -100; policy accept;\n"
			    "ip daddr 127.0.0.1 tcp dport 53 redirect to :1021\n"
			    "fib daddr type local return\n"
			    "meta l4proto tcp redirect to :1021\n"
			    "}\n"
			    "}\n";

static int
make_dns(int ns)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(53) };
	int                s = world_socket(ns, AF_INET, SOCK_DGRAM);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(s, (struct sockaddr *)&at, sizeof(at)) != -1 && fcntl(s, F_SETFL, O_NONBLOCK) != -1, "bind: %s",
	    strerror(errno));
	return s;
}

void
sandbox_make(struct sandbox *s, uint64_t id)
{
	be_alone();
	s->id = id;
	s->ns = here();
	ip("link set lo up;addr add 192.0.2.1/32 dev lo;addr add 2001:db8::1/128 dev lo nodad;"
	   "route add default dev lo src 192.0.2.1;route add ::/0 dev lo src 2001:db8::1");
	await_address("2001:db8::1");
	s->refusals = make_refusals();
	nft(rules);
	go(host);
	s->listener = world_listen(s->ns, NET_PORT);
	s->dns = make_dns(s->ns);
}

void
sandbox_free(struct sandbox *s)
{
	fd_close(&s->listener);
	fd_close(&s->dns);
	fd_close(&s->refusals);
	fd_close(&s->ns);
}

/* ---- processes ----------------------------------------------------------------------------- */

pid_t
helper(void (*fn)(int), int fd)
{
	pid_t parent = getpid(), pid = fork();

	must(pid != -1, "fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (getppid() == parent)
		fn(fd);
	_exit(0);
}

void
helper_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
