/*
 * A session and its network.  Its sandbox is built with the sockets that box-egress serves; they come with
 * WORKER_READY, wait here while the sandbox is a spare, and go to box-egress when a client gets it.  Init keeps them
 * too, so that the next worker of the sandbox sends them again.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/egress.h"
#include "core/policy.h"
#include "core/session_impl.h"

enum { LISTENER, DNS, REFUSALS, SOCKETS };

struct strs *
session_net_plan(struct session *s, struct msg_worker_start *start)
{
	struct egress *g = s->boxd->egress;

	s->net_mode = start->net_mode = policy_net_mode(&s->spec, s->boxd->config);
	if (s->net_mode == NET_MODE_LOOPBACK && !s->spare)
		log_warn("session=%lu name=%s asked for network: on, and has loopback only", s->id, s->name);
	if (s->net_mode == NET_MODE_OFF || s->net_mode == NET_MODE_LOOPBACK)
		return NULL;
	s->net_generation = egress_generation(g);
	struct strs *opened = netrules_opened(netrules_set(egress_rules(g), s->spec.network_set));
	if (opened != NULL)
		start->net_open = *opened;
	if (s->net_mode == NET_MODE_EGRESS)
		egress_wake(g); /* it starts while the sandbox is built */
	return opened;
}

void
session_net_take(struct session *s, struct msg *m)
{
	const struct msg_worker_ready *r = m->body;
	const int                      sent[SOCKETS] = { r->net_listener, r->net_dns, r->net_refusals };

	s->net_mode = r->net_mode;
	for (int i = 0; i < SOCKETS; i++) {
		fd_close(&s->net_sockets[i]);
		s->net_sockets[i] = msg_take_fd(m, sent[i]);
	}
}

int
session_let_out(struct session *s, struct err *e)
{
	assert(!s->spare); /* nobody has asked for the network of a spare */
	struct egress_session out = {
		.id = s->id,
		.set = s->spec.network_set,
		.narrow = &s->spec.network_rules,
		.listener = fd_take(&s->net_sockets[LISTENER]),
		.dns = fd_take(&s->net_sockets[DNS]),
		.refusals = fd_take(&s->net_sockets[REFUSALS]),
	};

	return s->net_mode == NET_MODE_EGRESS ? egress_join(s->boxd->egress, &out, e) : 0;
}

void
session_net_close(struct session *s)
{
	if (s->boxd->egress != NULL)
		egress_leave(s->boxd->egress, s->id);
	for (int i = 0; i < SOCKETS; i++)
		fd_close(&s->net_sockets[i]);
}

struct msg_net_info
session_net_info(const struct session *s)
{
	struct msg_net_info info;

	if (s->net_mode == NET_MODE_EGRESS)
		return egress_info(s->boxd->egress, s->id);
	msg_defaults(MSG_NET_INFO, &info);
	info.mode = s->net_mode;
	return info;
}

/* ---- hints ------------------------------------------------------------------- */

/* A result that waits for the answer of box-egress; its request is in no list meanwhile. */
struct waiting {
	struct boxd           *boxd;
	struct request        *request; /* owned */
	struct msg_exec_result result;  /* borrows from the next */
	struct owned_msg       kept;
};

/* "the name db.example", "the connection to db.example (10.0.0.7) port 5432" */
static void
write_denied(const struct msg_net_denial *d, char *out, size_t size)
{
	if (*d->address == '\0')
		snprintf(out, size, "the name %s", d->name);
	else if (*d->name == '\0')
		snprintf(out, size, "the connection to %s port %lu", d->address, d->port);
	else
		snprintf(out, size, "the connection to %s (%s) port %lu", d->name, d->address, d->port);
}

/* "network: refused by a rule 2 times, at last the name db.example: deny all" */
static void
write_hint(const struct msg_net_info *info, uint64_t before, char *out, size_t size)
{
	uint64_t n = info->denied - before;
	char     what[LIM_DNS_NAME + 128] = "";

	if (info->denials.n > 0)
		write_denied(info->denials.v, what, sizeof(what));
	if (n == 1)
		snprintf(out, size, "network: refused by a rule: %s", what);
	else
		snprintf(out, size, "network: refused by a rule %lu times, at last %s", n, what);
	if (info->denials.n > 0)
		snprintf(out + strlen(out), size - strlen(out), ": %s", info->denials.v[0].rule);
}

static void
on_looked(void *arg, const struct msg *reply)
{
	struct waiting            *w = arg;
	const struct msg_net_info *info = reply->body;
	char                       hint[LIM_TEXT];

	if (!reply->failed && info->denied > w->request->denied) {
		write_hint(info, w->request->denied, hint, sizeof(hint));
		w->result.hint = hint;
	}
	request_reply(w->request, w->boxd, MSG_EXEC_RESULT, &w->result);
	owned_msg_clear(&w->kept);
	free(w);
}

bool
session_hint(struct session *s, struct request *r, const struct msg_exec_result *x)
{
	struct waiting *w;
	struct err      ignored; /* the result is sent without a hint then */

	if (s->net_mode != NET_MODE_EGRESS || !s->boxd->config->network_hint || r->conn == 0 ||
	    (w = calloc(1, sizeof(*w))) == NULL)
		return false;
	*w = (struct waiting){ .boxd = s->boxd, .result = *x };
	if (owned_msg_copy(&w->kept, MSG_EXEC_RESULT, &w->result, &ignored) == -1) {
		free(w);
		return false;
	}
	w->request = request_take(r);
	egress_look(s->boxd->egress, s->id, false, on_looked, w);
	return true;
}
