#include "core/spare.h"

#include <stdlib.h>

#include "base/log.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/registry.h"

static const double SOON_SEC = 0.003; /* after the create that used one is answered */
static const double LATER_SEC = 5.0;  /* something is wrong; the next create reports it */

struct spares {
	struct boxd *boxd;
	ev_timer     build_timer; /* runs while one is missing */
	bool         asked[2];    /* by enum network: these are built ahead */
};

static void
build_in(struct spares *s, double sec)
{
	if (s == NULL || s->boxd->stopping || s->boxd->machine->barrier.code != E_NONE)
		return;
	if (ev_is_active(&s->build_timer))
		return;
	ev_timer_set(&s->build_timer, sec, 0.);
	ev_timer_start(s->boxd->loop, &s->build_timer);
}

void
spares_used(struct spares *s)
{
	build_in(s, SOON_SEC);
}

void
spares_lost(struct spares *s)
{
	build_in(s, LATER_SEC);
}

static int
build_one(struct boxd *h, enum network network, struct err *e)
{
	struct msg_spec spec;
	uint32_t        uid_base;

	msg_defaults(MSG_SPEC, &spec);
	spec.network = network;
	if (policy_fill_spec(&spec, h->config, e) == -1 || registry_uids(h->registry, &uid_base, e) == -1)
		return -1;
	struct session *s = session_prepare(h, &spec, uid_base, e);
	if (s == NULL) {
		registry_release(h->registry, uid_base);
		return -1;
	}
	registry_add(h->registry, s);
	return 0;
}

struct count {
	enum network network;
	size_t       n;
};

static bool
count_one(struct session *s, void *arg)
{
	struct count *c = arg;

	c->n += !session_is_closing(s) && session_spec(s)->network == c->network;
	return true;
}

static bool
spares_lack(const struct spares *s, enum network network)
{
	struct count c = { .network = network };

	if (!s->asked[network])
		return false;
	registry_each_spare(s->boxd->registry, count_one, &c);
	return c.n < s->boxd->config->spare_sandboxes;
}

/* One at a time, so that the loop never stands still for long. */
static void
on_build_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct spares *s = t->data;
	struct boxd   *h = s->boxd;
	struct err     e = { 0 };

	if (h->stopping || !(spares_lack(s, NETWORK_OFF) || spares_lack(s, NETWORK_ON)))
		return;
	if (build_one(h, spares_lack(s, NETWORK_OFF) ? NETWORK_OFF : NETWORK_ON, &e) == -1) {
		log_warn("a spare sandbox cannot be built: %s", e.text);
		build_in(s, LATER_SEC);
		return;
	}
	if (spares_lack(s, NETWORK_OFF) || spares_lack(s, NETWORK_ON))
		build_in(s, SOON_SEC);
}

void
spares_asked(struct spares *s, enum network network)
{
	if (s == NULL || s->asked[network] || s->boxd->config->spare_sandboxes == 0)
		return;
	s->asked[network] = true;
	build_in(s, SOON_SEC);
}

static bool
end_outdated(struct session *s, void *arg)
{
	if (session_spec(s)->network == NETWORK_ON)
		session_close(s, "the rules for networks have changed");
	return true;
}

void
spares_outdated(struct spares *s)
{
	if (s == NULL || !s->asked[NETWORK_ON])
		return;
	registry_each_spare(s->boxd->registry, end_outdated, NULL);
	build_in(s, SOON_SEC);
}

struct spares *
spares_open(struct boxd *h, struct err *e)
{
	struct spares *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	s->boxd = h;
	s->asked[NETWORK_OFF] = true;
	ev_timer_init(&s->build_timer, on_build_timer, 0., 0.);
	s->build_timer.data = s;
	if (h->config->spare_sandboxes > 0)
		build_in(s, 0.);
	return s;
}

void
spares_close(struct spares **sp)
{
	if (*sp != NULL)
		ev_timer_stop((*sp)->boxd->loop, &(*sp)->build_timer);
	free(*sp);
	*sp = NULL;
}
