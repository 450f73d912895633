#include "agent/profile.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static const char *readonly_locks[] = { "network", "host_path_mode", "read_only_rootfs", NULL };
static const char *no_locks[] = { NULL };

/* clang-format off */
static const struct msg_agent_profile profiles[] = {
	/*                          name                image          network      host_path_mode  timeout, most  cpus  memory  pids  ro root  quota  locked */
	[PROFILE_DEFAULT] =          { "default",          DEFAULT_IMAGE, NETWORK_ON,  MOUNT_RW,        30, 120,      1.0,   512,  128,  true,    0, { 0, no_locks } },
	[PROFILE_NETWORK_BASIC] =    { "network_basic",    DEFAULT_IMAGE, NETWORK_ON,  MOUNT_RW,        30, 120,      1.0,   512,  128,  true,    0, { 0, no_locks } },
	[PROFILE_NETWORK_EXTENDED] = { "network_extended", DEFAULT_IMAGE, NETWORK_ON,  MOUNT_RW,        30, 300,      2.0,  1024,  256,  false,   0, { 0, no_locks } },
	[PROFILE_OFFLINE] =          { "offline",          DEFAULT_IMAGE, NETWORK_OFF, MOUNT_RW,        30, 120,      1.0,   512,  128,  true,    0, { 0, no_locks } },
	[PROFILE_OFFLINE_READONLY] = { "offline_readonly", DEFAULT_IMAGE, NETWORK_OFF, MOUNT_RO,        30,  60,      0.5,   256,   64,  true,    0, { 3, readonly_locks } },
};

/* Before 0.7 there was no offline: the default was. */
static const struct msg_agent_profile old_default =
	                             { "default",          DEFAULT_IMAGE, NETWORK_OFF, MOUNT_RW,        30, 120,      1.0,   512,  128,  true,    0, { 0, no_locks } };
/* clang-format on */

_Static_assert(PROFILES == sizeof(profiles) / sizeof(*profiles), "every profile has its row");

const struct msg_agent_profile *
profile_get(const char *table, enum profile p)
{
	if (strcmp(table, "0.5") != 0)
		return &profiles[p];
	return p == PROFILE_DEFAULT ? &old_default : p == PROFILE_OFFLINE ? NULL : &profiles[p];
}

int
profile_find(const char *table, const char *name, enum profile *out, struct err *e)
{
	char   all[256] = "";
	size_t n = 0;

	for (int i = 0; i < PROFILES; i++) {
		const struct msg_agent_profile *p = profile_get(table, (enum profile)i);

		if (p != NULL && strcmp(p->name, name) == 0) {
			*out = (enum profile)i;
			return 0;
		}
		if (p != NULL)
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n > 0 ? ", " : "", p->name);
	}
	return err_set(
	    e, E_INVALID, "unknown box profile '%s', available profiles: %s", log_escape(name, strlen(name)), all);
}

bool
profile_locks(const struct msg_agent_profile *p, const char *field)
{
	for (size_t i = 0; i < p->locked.n; i++)
		if (strcmp(p->locked.v[i], field) == 0)
			return true;
	return false;
}
