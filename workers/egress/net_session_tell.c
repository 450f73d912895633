/*
 * What is said of a tenant: its numbers a few times a second while they change, denials for the log, and all of it when
 * it is asked for.  Numbers that a supervisor does not read are not piled up: the next are as good.
 */

#include "base/clock.h"
#include "base/log.h"
#include "net_session_impl.h"

static const double TELL_SEC = 0.25;

enum { QUEUE_MOST = 1024 }; /* messages that wait for the supervisor: then it has other things to do than to count */

/* What a message about a tenant points to. */
struct net_report {
	struct msg_net_info   info;
	struct msg_net_denial denials[LIM_NET_DENIALS];
	struct msg_net_flow   flows[LIM_NET_FLOWS];
	char                  addresses[LIM_NET_FLOWS][NETADDR_TEXT];
};

static void
fill(const struct net_session *t, struct net_report *to)
{
	to->info = t->numbers;
	to->info.denials.n = denials_list(&t->denials, to->denials);
	to->info.denials.v = to->denials;
	to->info.flows.n = 0;
	to->info.flows.v = to->flows;
}

static void
fill_flows(const struct net_session *t, struct net_report *to)
{
	uint64_t           now = span_ms();
	const struct flow *f;

	TAILQ_FOREACH (f, &t->flows, next) {
		size_t               i = to->info.flows.n;
		struct msg_net_flow *one = &to->flows[i];

		if (i == LIM_NET_FLOWS)
			return;
		msg_defaults(MSG_NET_FLOW, one);
		one->name = f->n_names > 0 ? f->names[0] : "";
		one->address = netaddr_text(&f->place.address, to->addresses[i]);
		one->port = f->place.port;
		one->sent_bytes = f->out.bytes;
		one->received_bytes = f->in.bytes;
		one->age_ms = now - f->since_ms;
		one->connecting = f->connecting;
		to->info.flows.n++;
	}
}

static void
on_telling(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct net_session      *t = w->data;
	struct net_report        reported;
	struct msg_egress_counts m = { .id = t->id };
	struct err               e;

	if (link_queued(t->egress->link) >= QUEUE_MOST) {
		net_session_changed(t);
		return;
	}
	fill(t, &reported);
	m.info = reported.info;
	if (link_send(t->egress->link, MSG_EGRESS_COUNTS, 0, 0, &m, &e) == -1)
		log_warn("session=%lu numbers: %s", t->id, e.text);
}

void
net_session_changed(struct net_session *t)
{
	if (ev_is_active(&t->telling))
		return;
	ev_timer_set(&t->telling, TELL_SEC, 0.);
	ev_timer_start(t->egress->loop, &t->telling);
}

void
net_session_tell_init(struct net_session *t)
{
	msg_defaults(MSG_NET_INFO, &t->numbers);
	t->numbers.mode = NET_MODE_EGRESS;
	denials_init(&t->denials);
	ev_timer_init(&t->telling, on_telling, TELL_SEC, 0.);
	t->telling.data = t;
}

/* Oldest first, so that the newest is in front again. */
void
net_session_remember(struct net_session *t, const struct msg_net_info *before)
{
	uint64_t untold;

	t->numbers = *before;
	t->numbers.mode = NET_MODE_EGRESS;
	t->numbers.open = 0;
	t->numbers.denials.n = t->numbers.flows.n = 0;
	for (size_t i = before->denials.n; i > 0; i--)
		(void)denials_add(&t->denials, &before->denials.v[i - 1], span_ms(), &untold);
	t->denials.reported = 0; /* it was none of ours */
}

static void
tell_denial(struct net_session *t, const struct msg_net_denial *what, uint64_t count)
{
	struct msg_egress_denied m = { .id = t->id, .denial = *what };

	m.denial.count = count;
	if (link_queued(t->egress->link) < QUEUE_MOST)
		link_tell(t->egress->link, MSG_EGRESS_DENIED, 0, 0, &m);
}

void
net_session_deny(struct net_session *t, enum net_kind kind, const char *name, const struct netaddr *a, uint16_t port,
    const char *rule)
{
	char                  address[NETADDR_TEXT];
	uint64_t              count;
	struct msg_net_denial what = {
		.kind = kind,
		.name = name,
		.address = netaddr_text(a, address),
		.port = port,
		.rule = rule,
		.count = 1,
		.at_ms = epoch_ms(),
	};

	t->numbers.denied++;
	net_session_changed(t);
	if (denials_add(&t->denials, &what, span_ms(), &count))
		tell_denial(t, &what, count);
}

void
net_session_answer(struct net_session *t, uint64_t id, bool with_flows)
{
	struct net_report reported;
	struct err        e;

	net_session_catch_up(t);
	fill(t, &reported);
	if (with_flows)
		fill_flows(t, &reported);
	if (link_reply(t->egress->link, MSG_NET_INFO, id, 0, &reported.info, &e) == -1)
		log_error("session=%lu look: %s", t->id, e.text);
}
