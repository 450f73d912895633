#include "core/create.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/egress.h"
#include "core/ask.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/registry.h"
#include "core/spare.h"
#include "langbot/readiness_trial.h"

static bool
is_trial(const struct msg *m, const char *name)
{
	return m->conn == CONN_OWN && strncmp(name, TRIAL_PREFIX, strlen(TRIAL_PREFIX)) == 0;
}

/* Reports invalid rules before anything is made.  An agent's profile needs no section in the file of rules. */
static int
check_network(const struct boxd *h, const struct msg *m, const struct msg_spec *s, struct err *e)
{
	struct netrules *own = netrules_of(&s->network_rules, e);
	bool             good = own != NULL;

	netrules_free(&own);
	if (good && m->conn != CONN_OWN && !netrules_has(egress_rules(h->egress), s->network_set))
		return err_set(e, E_INVALID, "spec.network_set: %s has no section [%s]",
		    *h->config->network_rules != '\0' ? h->config->network_rules
						      : "there are no rules, and the file network.rules",
		    log_escape(s->network_set, strlen(s->network_set)));
	return good ? 0 : -1;
}

/* The operator chooses what happens when the image is missing. */
static int
check_image(const struct boxd *h, const struct msg_spec *s, struct err *e)
{
	if (*s->image == '\0' || strcmp(h->config->image_missing, "refuse") != 0)
		return 0;
	AUTO_FD int image = dirs_image(h->dirs, s->image);
	if (image >= 0)
		return 0;
	return err_set(e, E_INVALID,
	    "spec.image: %s is not in the store, and image_missing = refuse in boxd.conf; name an image that is there, "
	    "or let the operator set image_missing = host-view",
	    s->image);
}

/* Can the machine do what this spec asks for, in a new session or in an existing one? */
static int
check_machine(const struct boxd *h, const struct msg_spec *s, struct err *e)
{
	if (h->machine->barrier.code != E_NONE)
		return err_set(e, E_BACKEND, "no sandbox can be made here: %.900s", h->machine->barrier.text);
	return machine_require(h->machine, &s->require, e);
}

static int
session_use_again(struct session *s, const struct msg_spec *spec, const struct msg *m, struct err *e)
{
	if (policy_compare(session_name(s), session_spec(s), spec, e) == -1)
		return -1;
	return session_deliver(s, m, e);
}

static int
session_make(struct boxd *h, const char *name, const struct msg_spec *spec, const struct msg *m, struct err *e)
{
	uint32_t uid_base;

	if (check_image(h, spec, e) == -1)
		return -1;
	/* a trial ignores a full boxd: the machine would count as not ready, and all running sessions would end */
	if (!is_trial(m, name) && registry_room(h->registry, name, e) == -1)
		return -1;
	struct session *s = registry_take_spare(h->registry, name, spec);
	if (s != NULL)
		return session_claim(s, spec, m, e);
	spares_asked(h->spares, spec->network);
	if (registry_uids(h->registry, &uid_base, e) == -1)
		return -1;
	s = session_create(h, name, spec, uid_base, m, e);
	if (s == NULL) {
		registry_release(h->registry, uid_base);
		return -1;
	}
	registry_add(h->registry, s);
	return 0;
}

int
create_deliver(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_create *c = m->body;
	struct msg_spec          spec = c->spec;
	char                     name[LIM_NAME + 1];

	snprintf(name, sizeof(name), "%s", c->session);
	if (policy_check_name(name, e) == -1 || policy_fill_spec(&spec, h->config, e) == -1 ||
	    check_network(h, m, &spec, e) == -1 || check_machine(h, &spec, e) == -1)
		return -1;
	if (*name == '\0')
		policy_make_name(name);
	struct session *s = registry_find(h->registry, name);
	return s != NULL ? session_use_again(s, &spec, m, e) : session_make(h, name, &spec, m, e);
}

bool
create_is_done(const struct boxd *h, struct session *s, const struct msg_spec *spec)
{
	struct err ignored;

	return !h->stopping && check_machine(h, spec, &ignored) == 0 && session_reuse(s);
}
