/* What clients ask about the network: a session's numbers, the rules, and to read them again. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "children/egress.h"
#include "core/registry.h"
#include "core/reply.h"

struct asked {
	struct boxd        *boxd;
	uint64_t            conn, id;
	struct msg_net_info last; /* as it was before; its lists are not kept */
};

/* Where box-egress is being started, what it counted last is better than nothing. */
static void
on_info(void *arg, const struct msg *reply)
{
	struct asked              *a = arg;
	const struct msg_net_info *info = reply->failed ? &a->last : reply->body;

	reply_send(a->boxd, MSG_NET_INFO, a->conn, a->id, info);
	free(a);
}

static int
on_net(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_net *net = m->body;
	struct session       *s = registry_find(h->registry, net->session);

	if (s == NULL)
		return err_set(e, E_NOTFOUND, "session %s not found", log_escape(net->session, strlen(net->session)));
	struct msg_session_info info = session_info(s);
	if (info.net.mode != NET_MODE_EGRESS) {
		reply_send(h, MSG_NET_INFO, m->conn, m->id, &info.net);
		return 0;
	}
	struct asked *a = calloc(1, sizeof(*a));
	if (a == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	*a = (struct asked){ .boxd = h, .conn = m->conn, .id = m->id, .last = info.net };
	a->last.denials.n = a->last.flows.n = 0;
	egress_look(h->egress, info.id, net->flows, on_info, a);
	return 0;
}

static int
on_net_reload(struct boxd *h, const struct msg *m, struct err *e)
{
	if (egress_reload(h->egress, e) == -1)
		return -1;
	const struct netrules  *r = egress_rules(h->egress);
	struct msg_net_reloaded done = { .file = netrules_file(r), .rules = netrules_count(r) };
	netrules_sets(r, &done.sets);
	done.sets--; /* the first is for all */
	reply_send(h, MSG_NET_RELOADED, m->conn, m->id, &done);
	return 0;
}

static int
on_net_rules(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct netrules      *r = egress_rules(h->egress);
	struct msg_net_rules_result all = { .file = netrules_file(r) };

	all.sets.v = (struct msg_net_set *)netrules_sets(r, &all.sets.n);
	reply_send(h, MSG_NET_RULES_RESULT, m->conn, m->id, &all);
	return 0;
}

int
egress_deliver(struct boxd *h, const struct msg *m, struct err *e)
{
	switch (m->type) {
	case MSG_NET:
		return on_net(h, m, e);
	case MSG_NET_RELOAD:
		return on_net_reload(h, m, e);
	default:
		return on_net_rules(h, m, e);
	}
}
