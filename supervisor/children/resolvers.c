#include "children/resolvers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/netaddr.h"
#include "config/config.h"

#define RESOLV_CONF "/etc/resolv.conf"

static const double LOOK_SEC = 5.0; /* where inotify does not tell */

struct resolvers {
	struct ev_loop *loop;
	ev_stat         watch; /* runs unless they are configured */
	void (*changed)(void *);
	void       *arg;
	char        text[LIM_RESOLVERS][64]; /* an address and a port */
	const char *v[LIM_RESOLVERS + 1];
	struct strs list;
};

static void
add_server(struct resolvers *r, const char *server)
{
	if (r->list.n == LIM_RESOLVERS)
		return;
	snprintf(r->text[r->list.n], sizeof(r->text[0]), "%.63s", server);
	r->v[r->list.n] = r->text[r->list.n];
	r->v[++r->list.n] = NULL;
}

/* "nameserver 1.2.3.4", as resolv.conf(5) has it; one of IPv6 may name its interface, which we cannot use. */
static void
read_file(struct resolvers *r)
{
	FILE          *f = fopen(RESOLV_CONF, "re");
	char           line[512], server[256];
	struct netaddr a;

	r->list.n = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " nameserver %255s", server) == 1) {
			if (netaddr_parse(server, &a))
				add_server(r, server);
			else
				log_warn(RESOLV_CONF ": '%s' is not used", log_escape(server, strlen(server)));
		}
	if (f != NULL)
		fclose(f);
	if (r->list.n == 0)
		log_debug(RESOLV_CONF " names no server: sandboxes cannot resolve names");
}

static void
on_stat(struct ev_loop *loop, ev_stat *w, int revents)
{
	struct resolvers *r = w->data;

	read_file(r);
	r->changed(r->arg);
}

struct resolvers *
resolvers_open(struct ev_loop *loop, const char *configured, void (*changed)(void *), void *arg, struct err *e)
{
	struct resolvers *r = calloc(1, sizeof(*r));
	char              server[LIM_PATH + 1];

	if (r == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	r->loop = loop;
	r->changed = changed;
	r->arg = arg;
	r->list.v = r->v;
	while (config_next_name(&configured, server))
		add_server(r, server);
	if (r->list.n > 0)
		return r;
	read_file(r);
	ev_stat_init(&r->watch, on_stat, RESOLV_CONF, LOOK_SEC);
	r->watch.data = r;
	ev_stat_start(loop, &r->watch);
	return r;
}

void
resolvers_close(struct resolvers **rp)
{
	if (*rp != NULL)
		ev_stat_stop((*rp)->loop, &(*rp)->watch);
	free(*rp);
	*rp = NULL;
}

const struct strs *
resolvers_list(const struct resolvers *r)
{
	return &r->list;
}
