/*
 * One c-ares channel for all sessions.  c-ares gives the questions their numbers, knows which answer is to which,
 * tries the servers one after the other, and goes to TCP with what is too long for UDP.  Here are its clock, its sockets
 * for TCP on our loop (those for UDP are in ports.h), and the asks, which outlive those who asked.
 *
 * c-ares gets everything that it would read from /etc/resolv.conf or the environment, so it reads nothing; it opens
 * /dev/urandom once, when the channel is made.  The channel is therefore made before the confinement and kept: other
 * servers are given to it, which it takes only while no question waits, so those that wait are asked again.
 *
 * Nothing is cached.  An answer reaches the session that asked for it and no other, so what one of them makes a server
 * say is not told to the next.
 */
#define CARES_NO_DEPRECATED /* newer versions have other names for some of this, and these too */
#include <ares.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/bounds.h"
#include "dns/dns.h"
#include "dns/resolver.h"
#include "flow/ports.h"

enum { TIMEOUT_MS = 2000, TRIES = 2, EDNS_BYTES = 1232, DNS_PORT = 53 };

static const double TICK_LEAST_SEC = .02; /* looking which ask is due costs a walk over all of them */

/* A socket of c-ares. */
struct watch {
	LIST_ENTRY(watch) next;
	struct resolver *resolver;
	ev_io            io;
};

struct ask {
	TAILQ_ENTRY(ask) next;
	struct resolver *resolver;
	resolver_answer *fn; /* NULL: nobody listens any more */
	void            *arg;
	uint16_t         type;
	bool             failed; /* at once, inside ares_query */
	char             name[LIM_DNS_NAME + 1];
};

TAILQ_HEAD(asks, ask);

struct resolver {
	struct ev_loop *loop;
	ares_channel    channel; /* owned */
	struct ports   *ports;   /* owned; its sockets */
	size_t          servers;
	struct asks     asks; /* owned */
	size_t          n_asks;
	struct ask     *asking;     /* inside ares_query */
	bool            changing;   /* inside ares_cancel: all will be asked again */
	ev_timer        tick;       /* runs while some wait */
	LIST_HEAD(, watch) watches; /* owned; c-ares says when to end them */
};

/* ---- time ----------------------------------------------------------------------------- */

/* Only when it does not run: a question that came later is due later. */
static void
wind(struct resolver *r)
{
	struct timeval left;
	double         sec;

	if (r->n_asks == 0)
		ev_timer_stop(r->loop, &r->tick);
	if (r->n_asks == 0 || ev_is_active(&r->tick) || ares_timeout(r->channel, NULL, &left) == NULL)
		return;
	sec = (double)left.tv_sec + (double)left.tv_usec / 1e6;
	ev_timer_set(&r->tick, sec < TICK_LEAST_SEC ? TICK_LEAST_SEC : sec, 0.);
	ev_timer_start(r->loop, &r->tick);
}

static void
on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct resolver *r = w->data;

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	wind(r);
}

/* ---- sockets -------------------------------------------------------------------------- */

/* c-ares may end the watch inside: it is not touched afterwards. */
static void
on_ready(struct ev_loop *loop, ev_io *w, int revents)
{
	struct watch    *watch = w->data;
	struct resolver *r = watch->resolver;
	int              fd = w->fd;

	ares_process_fd(
	    r->channel, revents & EV_READ ? fd : ARES_SOCKET_BAD, revents & EV_WRITE ? fd : ARES_SOCKET_BAD);
	wind(r);
}

static struct watch *
watch_of(struct resolver *r, int fd)
{
	struct watch *w;

	LIST_FOREACH (w, &r->watches, next)
		if (w->io.fd == fd)
			return w;
	/* without memory nobody hears the answer, and the question times out */
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->resolver = r;
	ev_io_init(&w->io, on_ready, fd, EV_NONE);
	w->io.data = w;
	LIST_INSERT_HEAD(&r->watches, w, next);
	return w;
}

static void
on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = arg;
	struct watch    *w = watch_of(r, fd);

	if (w == NULL)
		return;
	ev_io_stop(r->loop, &w->io);
	if (readable || writable) {
		ev_io_set(&w->io, fd, (readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
		ev_io_start(r->loop, &w->io);
	} else {
		LIST_REMOVE(w, next);
		free(w);
	}
}

/* ---- asks ----------------------------------------------------------------------------- */

static void
ask_end(struct ask *a, const uint8_t *bytes, size_t n)
{
	struct resolver *r = a->resolver;
	resolver_answer *fn = a->fn;
	void            *arg = a->arg;

	TAILQ_REMOVE(&r->asks, a, next);
	r->n_asks--;
	free(a);
	if (fn != NULL)
		fn(arg, bytes, n);
}

/* status adds nothing to the answer, or to a missing one. */
static void
on_answer(void *arg, int status, int timeouts, unsigned char *bytes, int n)
{
	struct ask *a = arg;

	if (a == a->resolver->asking)
		a->failed = true;
	else if (!a->resolver->changing)
		ask_end(a, n > 0 ? bytes : NULL, n > 0 ? (size_t)n : 0);
}

/* false: there was no way to any server. */
static bool
send_ask(struct resolver *r, struct ask *a)
{
	if (r->servers == 0)
		return false;
	r->asking = a;
	ares_query(r->channel, a->name, 1 /* IN */, a->type, on_answer, a);
	r->asking = NULL;
	return !a->failed;
}

struct ask *
resolver_ask(struct resolver *r, const char *name, uint16_t type, resolver_answer *fn, void *arg)
{
	struct ask *a;
	size_t      n = strlen(name);

	if (r->n_asks >= ASKS_MOST || n > LIM_DNS_NAME || (a = calloc(1, sizeof(*a))) == NULL)
		return NULL;
	a->resolver = r;
	a->fn = fn;
	a->arg = arg;
	a->type = type;
	memcpy(a->name, name, n);
	TAILQ_INSERT_TAIL(&r->asks, a, next);
	r->n_asks++;
	if (!send_ask(r, a)) {
		a->fn = NULL;
		ask_end(a, NULL, 0);
		a = NULL;
	}
	wind(r);
	return a;
}

void
ask_drop(struct ask **ap)
{
	if (*ap != NULL)
		(*ap)->fn = NULL;
	*ap = NULL;
}

/* ---- servers -------------------------------------------------------------------------- */

/* ":53", and nothing else. */
static bool
parse_port(const char *text, uint16_t *port)
{
	char         *end;
	unsigned long n;

	if (text[0] != ':' || text[1] < '0' || text[1] > '9')
		return false;
	n = strtoul(text + 1, &end, 10);
	*port = (uint16_t)n;
	return *end == '\0' && n >= 1 && n <= UINT16_MAX;
}

static bool
parse_server(const char *text, struct netaddr *a, uint16_t *port)
{
	char        host[NETADDR_TEXT];
	const char *colon = strchr(text, ':'), *end = text + strlen(text);

	*port = DNS_PORT;
	if (*text == '[') {
		if ((end = strchr(++text, ']')) == NULL || (end[1] != '\0' && !parse_port(end + 1, port)))
			return false;
	} else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
		end = colon;
		if (!parse_port(end, port))
			return false;
	}
	if ((size_t)(end - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	return netaddr_parse(host, a);
}

static int
read_servers(struct ares_addr_port_node nodes[LIM_RESOLVERS], const struct strs *servers, struct err *e)
{
	struct netaddr a;
	uint16_t       port;

	if (servers->n > LIM_RESOLVERS)
		return err_set(e, E_INVALID, "%zu resolvers, of at most %d", servers->n, LIM_RESOLVERS);
	for (size_t i = 0; i < servers->n; i++) {
		if (!parse_server(servers->v[i], &a, &port))
			return err_set(e, E_INVALID, "'%s' is not the address of a resolver", servers->v[i]);
		nodes[i].family = a.family == 4 ? AF_INET : AF_INET6;
		if (a.family == 4)
			memcpy(&nodes[i].addr.addr4, a.bytes, 4);
		else
			memcpy(&nodes[i].addr.addr6, a.bytes, 16);
		nodes[i].udp_port = nodes[i].tcp_port = port;
		nodes[i].next = i + 1 < servers->n ? &nodes[i + 1] : NULL;
	}
	return 0;
}

static void
ask_again(struct resolver *r)
{
	struct asks again = TAILQ_HEAD_INITIALIZER(again);
	struct ask *a;

	TAILQ_CONCAT(&again, &r->asks, next);
	while ((a = TAILQ_FIRST(&again)) != NULL) {
		TAILQ_REMOVE(&again, a, next);
		TAILQ_INSERT_TAIL(&r->asks, a, next);
		if (a->fn == NULL || !send_ask(r, a))
			ask_end(a, NULL, 0);
	}
	wind(r);
}

int
resolver_servers(struct resolver *r, const struct strs *servers, struct err *e)
{
	struct ares_addr_port_node nodes[LIM_RESOLVERS] = { 0 };
	int                        status;

	if (read_servers(nodes, servers, e) == -1)
		return -1;
	r->changing = true;
	ares_cancel(r->channel);
	r->changing = false;
	status = ares_set_servers_ports(r->channel, servers->n > 0 ? nodes : NULL);
	r->servers = status == ARES_SUCCESS ? servers->n : 0;
	ask_again(r);
	return status == ARES_SUCCESS ? 0 : err_set(e, E_SYS, "resolvers: %s", ares_strerror(status));
}

/* ---- life ----------------------------------------------------------------------------- */

/* All that it would look for elsewhere.  The server is nobody's, until resolver_servers. */
static int
open_channel(struct resolver *r, struct err *e)
{
	char                lookups[] = "b"; /* by DNS, and not in /etc/hosts */
	struct in_addr      nowhere = { htonl(INADDR_LOOPBACK) };
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = TIMEOUT_MS,
		.tries = TRIES,
		.ndots = 1,
		.servers = &nowhere,
		.nservers = 1,
		.lookups = lookups,
		.ednspsz = EDNS_BYTES,
		.sock_state_cb = on_socket,
		.sock_state_cb_data = r,
	};
	int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SERVERS |
		    ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST | ARES_OPT_EDNSPSZ | ARES_OPT_NOROTATE |
		    ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
	given |= ARES_OPT_QUERY_CACHE; /* none: .qcache_max_ttl is 0 */
#endif
	int status = ares_init_options(&r->channel, &o, given);

	return status == ARES_SUCCESS ? 0 : err_set(e, E_SYS, "c-ares: %s", ares_strerror(status));
}

static void
on_ports(void *arg)
{
	wind(arg);
}

static int
open_ports(struct resolver *r, size_t most, struct err *e)
{
	if ((r->ports = ports_open(r->loop, r->channel, most)) == NULL)
		return err_set(e, E_SYS, "no memory for the sockets of a resolver");
	ports_on_answer(r->ports, on_ports, r);
	return 0;
}

struct resolver *
resolver_open(struct ev_loop *loop, const struct strs *servers, size_t sockets, struct err *e)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (r == NULL || ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
		free(r);
		err_set(e, E_SYS, "no memory for a resolver");
		return NULL;
	}
	r->loop = loop;
	TAILQ_INIT(&r->asks);
	LIST_INIT(&r->watches);
	ev_timer_init(&r->tick, on_tick, 0., 0.);
	r->tick.data = r;
	if (open_channel(r, e) == -1 || open_ports(r, sockets, e) == -1 || resolver_servers(r, servers, e) == -1)
		resolver_close(&r);
	return r;
}

/* Report to all who still wait that no answer will come. */
void
resolver_close(struct resolver **rp)
{
	struct resolver *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	r->servers = 0;
	if (r->channel != NULL)
		ares_destroy(r->channel);
	ports_close(&r->ports);
	ares_library_cleanup();
	ev_timer_stop(r->loop, &r->tick);
	free(r);
}
