#include "core/policy.h"

#include <ctype.h>
#include <float.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/mountspec.h"

int
policy_check_name(const char *name, struct err *e)
{
	static const char more[] = "_.:@-";

	for (const char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && (p == name || strchr(more, *p) == NULL))
			return err_set(e, E_INVALID,
			    "session: '%s' is not a name: letters and digits, and behind the first also %s",
			    log_escape(name, strlen(name)), more);
	return 0;
}

void
policy_make_name(char name[LIM_NAME + 1])
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* 32, none looks like another */
	enum { LENGTH = 8 };
	unsigned char random[LENGTH];

	randombytes_buf(random, sizeof(random));
	for (int i = 0; i < LENGTH; i++)
		name[i] = letters[random[i] % (sizeof(letters) - 1)];
	name[LENGTH] = '\0';
}

enum net_mode
policy_net_mode(const struct msg_spec *s, const struct config *c)
{
	if (s->network == NETWORK_OFF)
		return NET_MODE_OFF;
	return strcmp(c->network_on, "egress") == 0  ? NET_MODE_EGRESS
	       : strcmp(c->network_on, "slirp") == 0 ? NET_MODE_SLIRP
						     : NET_MODE_LOOPBACK;
}

int
policy_fill_spec(struct msg_spec *s, const struct config *c, struct err *e)
{
	if (s->network == NETWORK_ON && strcmp(c->network_on, "refuse") == 0)
		return err_set(e, E_INVALID,
		    "spec.network: 'on' is refused here: network_on = refuse in boxd.conf; network_on = egress gives a "
		    "sandbox the internet by rules");
	if (s->network == NETWORK_OFF && (s->network_rules.n > 0 || *s->network_set != '\0'))
		return err_set(e, E_INVALID, "spec.%s: only with network on",
		    s->network_rules.n > 0 ? "network_rules" : "network_set");
	if (policy_net_mode(s, c) == NET_MODE_SLIRP && s->network_rules.n > 0)
		return err_set(
		    e, E_INVALID, "spec.network_rules: not with network_on = slirp, which supports no rules");
	for (size_t i = 0; i < s->require.n; i++)
		if (wall_find(s->require.v[i], &(enum wall){ 0 }, e) == -1)
			return err_prefix(e, "spec.require");
	if (s->memory_mb == 0)
		s->memory_mb = c->memory_mb;
	if (s->memory_mb < LIM_MEMORY_MIN_MB)
		return err_set(
		    e, E_INVALID, "spec.memory_mb: %lu is under the minimum %d", s->memory_mb, LIM_MEMORY_MIN_MB);
	if (s->pids_limit == 0)
		s->pids_limit = c->pids_limit;
	if (s->pids_limit < LIM_PIDS_MIN)
		return err_set(
		    e, E_INVALID, "spec.pids_limit: %lu is under the minimum %d", s->pids_limit, LIM_PIDS_MIN);
	if (s->cpus == 0)
		s->cpus = c->cpus;
	if (s->cpus < 0.01)
		return err_set(e, E_INVALID, "spec.cpus: %g is under the minimum 0.01", s->cpus);
	if (s->workspace_mb == 0)
		s->workspace_mb = c->workspace_mb;
	if (s->idle_sec == 0)
		s->idle_sec = c->idle_ttl_sec;
	return mountspec_fill(s, "spec", e);
}

/*
 * A tmpfs is fast and costs nothing to set up, while a file system on a disk takes 1.5 ms and more.  But its files
 * are memory of the session that no OOM killer gets back.  Three of tmp_mb, the overlay and a workspace together
 * stay under 7/8 of the session's memory, so that its processes have room.
 */
enum { TMP_SHARE = 8, OVERLAY_SHARE = 4, WORKSPACE_SHARE = 4 };

static uint64_t
at_most(uint64_t mb, uint64_t memory_mb, unsigned share)
{
	uint64_t most = memory_mb / share;

	return mb < most ? mb : most > 0 ? most : 1;
}

uint64_t
policy_tmp_mb(const struct msg_spec *s, const struct config *c)
{
	return at_most(c->tmp_mb, s->memory_mb, TMP_SHARE);
}

uint64_t
policy_overlay_mb(const struct msg_spec *s, const struct config *c)
{
	return at_most(c->overlay_mb, s->memory_mb, OVERLAY_SHARE);
}

enum backend
policy_backend(const struct msg_spec *s, const struct config *c)
{
	if (c->workspace_backend == BACKEND_AUTO && s->workspace_mb <= s->memory_mb / WORKSPACE_SHARE)
		return BACKEND_TMPFS;
	return c->workspace_backend;
}

/* "a,b" */
static void
strs_text(const struct strs *s, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (size_t i = 0; i < s->n && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? "," : "", s->v[i]);
}

/* As many digits as distinguish it from every other number. */
static void
number_text(double v, char *out, size_t size)
{
	int digits = 6;

	do
		snprintf(out, size, "%.*g", digits, v);
	while (strtod(out, NULL) != v && ++digits <= DBL_DECIMAL_DIG);
}

void
policy_value_text(const struct field *f, const void *at, char *out, size_t size)
{
	int v;

	switch (f->kind) {
	case K_U64:
		snprintf(out, size, "%lu", *(const uint64_t *)at);
		break;
	case K_F64:
		number_text(*(const double *)at, out, size);
		break;
	case K_BOOL:
		snprintf(out, size, "%s", *(const bool *)at ? "true" : "false");
		break;
	case K_ENUM:
		memcpy(&v, at, sizeof(v));
		snprintf(out, size, "%s", f->names[v]);
		break;
	case K_STRS:
		strs_text(at, out, size);
		break;
	default:
		snprintf(out, size, "%s", *(const char *const *)at);
		break;
	}
}

int
policy_compare(const char *name, const struct msg_spec *have, const struct msg_spec *want, struct err *e)
{
	char h[LIM_PATH + 1], w[LIM_PATH + 1];

	for (const struct field *f = msg_def(MSG_SPEC)->fields; f->name != NULL; f++) {
		if (f->kind == K_LIST || field_equal(f, have, want))
			continue; /* extra_mounts: no conflict, each command names its own */
		policy_value_text(f, (const char *)have + f->offset, h, sizeof(h));
		policy_value_text(f, (const char *)want + f->offset, w, sizeof(w));
		return err_session(e, E_CONFLICT, "session %s already exists with %s=%s, not %s", name, f->name, h, w);
	}
	return 0;
}
