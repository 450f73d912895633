/*
 * box-gateway: the process that parses strangers' bytes and has nothing to steal.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message is GATEWAY_START with the listeners in it.  The
 * gateway then confines itself, says GATEWAY_READY and accepts clients: at the
 * control socket native ones (or, by their first byte, HTTP), at the TCP socket
 * HTTP only.  When the link ends it exits: without a supervisor there is nobody
 * to ask.
 */
#include <ev.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/stdfds.h"
#include "confine.h"
#include "host/helper.h"
#include "http/http.h"
#include "listener.h"
#include "native/rpc.h"
#include "wire/jsontext.h"

enum { SPARE_FDS = 64 };

struct gateway {
	struct helper    helper;
	struct uplink   *uplink; /* owned; NULL until started, like all below */
	struct rpc      *rpc;    /* owned */
	struct http     *http;   /* owned */
	struct tls_keys *keys;   /* owned; NULL: no TLS */
	struct listener *native; /* owned; the control socket */
	struct listener *web;    /* owned; LangBot's door; NULL: not configured */
	size_t           most;   /* clients */
};

/* Neither listener may use the last eighth of all places: boxctl works while LangBot has too many connections, and vice versa. */
static bool
has_share(const struct gateway *g, size_t taken)
{
	return g->web == NULL || taken < g->most - g->most / 8;
}

static bool
is_full(const struct gateway *g)
{
	return uplink_callers(g->uplink) >= g->most;
}

/* Who has not shown who it is, or asked for anything, makes room for one that the kernel vouches for. */
static bool
has_room_native(struct gateway *g)
{
	if (!has_share(g, uplink_callers(g->uplink) - http_visitors(g->http)))
		return rpc_make_room(g->rpc);
	return !is_full(g) || http_make_room(g->http, NULL) || rpc_make_room(g->rpc);
}

static bool
has_room_web(struct gateway *g, const struct netaddr *from)
{
	if (is_full(g) || !has_share(g, http_visitors(g->http)))
		return http_make_room(g->http, from);
	return true;
}

/* One too many is let in, told why, and closed: friendlier than a connection that hangs in the backlog. */
static void
on_client(void *arg, int accepted, const struct netaddr *from)
{
	AUTO_FD int     fd = accepted;
	struct gateway *g = arg;

	if (has_room_native(g))
		rpc_accept(g->rpc, fd_take(&fd));
	else
		rpc_refuse(g->rpc, fd);
}

static void
on_visitor(void *arg, int accepted, const struct netaddr *from)
{
	AUTO_FD int     fd = accepted;
	struct gateway *g = arg;

	if (has_room_web(g, from))
		http_accept(g->http, fd_take(&fd), from);
	else
		http_refuse(g->http, fd, from);
}

static void
on_http(void *arg, struct flow *s)
{
	struct gateway *g = arg;

	http_adopt(g->http, s);
}

static void
on_congested(void *arg, bool congested)
{
	struct gateway *g = arg;
	void (*fn)(struct listener *) = congested ? listener_pause : listener_resume;

	fn(g->native);
	if (g->web != NULL)
		fn(g->web);
}

/* One descriptor for each client, and one more while it is announced. */
static void
raise_descriptors(uint64_t clients)
{
	uint64_t most = stdfds_raise_limit();

	if (most > 0 && most < clients + SPARE_FDS)
		log_warn("max_connections=%lu but descriptors=%lu", clients, most);
}

/* Certificate and key, while files can be opened, and what clients of the socket inherit. */
static int
prepare_web(struct gateway *g, const struct msg_gateway_start *s, struct err *e)
{
	struct buf certificate = { 0 }, key = { 0 };
	int        on = 1, r = 0;

	if (s->http == -1)
		return 0;
	if (s->tls_certificate.len + s->tls_key.len > 0) {
		if (blob_read(&s->tls_certificate, &certificate, e) == -1 || blob_read(&s->tls_key, &key, e) == -1 ||
		    (g->keys = tls_keys_open(&certificate, &key, e)) == NULL)
			r = err_prefix(e, "TLS");
		OPENSSL_cleanse(key.data, key.len);
	}
	buf_clear(&certificate);
	buf_clear(&key);
	/* a host that vanished is noticed one day, and no answer waits for more of it; a Unix socket has neither */
	(void)setsockopt(s->http, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(s->http, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return r;
}

static int
open_rooms(struct gateway *g, const struct msg_gateway_start *s, struct err *e)
{
	struct http_plan plan = {
		.tls = g->keys,
		.origins = &s->origins,
		.hosts = &s->hosts,
		.max_strangers = s->max_unauthenticated,
		.max_rpc_file_bytes = s->max_rpc_file_bytes,
		.relay_line_bytes = s->relay_line_bytes,
		.legacy_clients = s->legacy_clients,
	};

	g->most = s->max_connections;
	g->uplink = uplink_open(g->helper.loop, g->helper.link, s->next_conn, g->most, on_congested, g, e);
	if (g->uplink == NULL || (g->http = http_open(g->helper.loop, g->uplink, &plan, e)) == NULL)
		return -1;
	g->rpc = rpc_open(g->helper.loop, g->uplink, on_http, g, e);
	return g->rpc == NULL ? -1 : 0;
}

static int
open_listeners(struct gateway *g, struct msg *m, struct err *e)
{
	const struct msg_gateway_start *s = m->body;

	g->native = listener_open(g->helper.loop, s->listener, on_client, g, e);
	if (g->native == NULL)
		return -1;
	msg_take_fd(m, s->listener);
	if (s->http == -1)
		return 0;
	g->web = listener_open(g->helper.loop, s->http, on_visitor, g, e);
	if (g->web == NULL)
		return -1;
	msg_take_fd(m, s->http);
	return 0;
}

static int
gateway_begin(void *arg, struct msg *m, struct err *e)
{
	struct gateway                 *g = arg;
	const struct msg_gateway_start *s = m->body;
	struct confinement              walls = { .root = s->chroot, .uid = s->uid };
	struct msg_gateway_ready        ready;

	raise_descriptors(s->max_connections);
	if (tls_init(e) == -1 || prepare_web(g, s, e) == -1)
		return -1;
	if (confine(&walls, e) == -1)
		return err_prefix(e, "confine");
	if (open_rooms(g, s, e) == -1 || open_listeners(g, m, e) == -1)
		return -1;
	return link_send(g->helper.link, MSG_GATEWAY_READY, 0, 0, &ready, e);
}

/* To a client, by way of its connection; or for the gateway itself. */
static void
take(void *arg, struct msg *m)
{
	struct gateway *g = arg;

	if (m->conn != 0)
		uplink_deliver(g->uplink, m);
	else if (m->type == MSG_HTTP_LIMITS)
		http_limit(g->http, m->body);
	else if (m->type == MSG_HTTP_GO_AWAY)
		http_go_away(g->http);
	else
		log_error("the gateway takes no %s", msg_name(m->type));
}

static void
take_down(struct gateway *g)
{
	http_close(&g->http);
	rpc_close(&g->rpc);
	uplink_close(&g->uplink);
	listener_close(&g->native);
	listener_close(&g->web);
	tls_keys_close(&g->keys);
	helper_close(&g->helper);
}

int
main(int argc, char **argv)
{
	struct gateway g = { 0 };

	startup("box-gateway", argc, argv);
	/* a large message's memory goes back when it is done with; left alone, malloc would raise this and keep it */
	mallopt(M_MMAP_THRESHOLD, 512 * 1024);
	jsontext_prepare();
	g.helper = (struct helper){ .start = MSG_GATEWAY_START, .begin = gateway_begin, .take = take, .arg = &g };
	helper_run(&g.helper);
	take_down(&g);
	return g.helper.status;
}
