#include "host/mountpoint.h"

#include <string.h>

#include "base/path.h"

static const struct {
	const char *path;
	bool        below; /* nor below it */
} places[] = {
	{ "/", false },
	{ "/bin", true },
	{ "/dev", true },
	{ "/etc", false },
	{ "/etc/alternatives", true },
	{ "/etc/ld.so.cache", true },
	{ "/etc/ld.so.preload", true },
	{ "/etc/mtab", true },
	{ "/etc/pki", true },
	{ "/etc/profile", true },     /* read for every command */
	{ "/etc/resolv.conf", true }, /* names box-egress */
	{ "/etc/ssl", true },
	{ "/lib", true },
	{ "/lib32", true },
	{ "/lib64", true },
	{ "/libx32", true },
	{ "/proc", true },
	{ "/sbin", true },
	{ "/sys", true },
	{ "/usr", true },
};

enum { PLACES = sizeof(places) / sizeof(*places) };

const char *
mountpoint_place(unsigned n)
{
	return n < PLACES ? places[n].path : NULL;
}

bool
mountpoint_is_closed(const char *normal)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (places[i].below && path_within(normal, places[i].path))
			return true;
	return false;
}

int
mountpoint_check(const char *normal, const char *shown, struct err *e)
{
	for (unsigned i = 0; i < PLACES; i++) {
		if (!places[i].below && strcmp(normal, places[i].path) == 0)
			return err_set(e, E_INVALID,
			    "a mount on '%s' would hide what every command needs; choose a directory below it", shown);
		if (places[i].below && path_within(normal, places[i].path))
			return err_set(e, E_INVALID,
			    "'%s' cannot be mounted on: %s is the sandbox's own; choose another place such as %s",
			    shown, places[i].path, DEFAULT_MOUNT_PATH);
	}
	return 0;
}
