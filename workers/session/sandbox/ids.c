#include "sandbox/ids.h"

#include <linux/securebits.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"

struct ids
ids_of(uint64_t uid_base, uint64_t uid_count)
{
	uid_t first = (uid_t)uid_base;

	return (struct ids){ .worker = uid_count > 1 ? first + (uid_t)uid_count - 1 : first, .sandbox = first };
}

uint32_t
ids_mapped(uint64_t uid_count)
{
	return (uint32_t)(uid_count > 1 ? uid_count - 1 : uid_count);
}

/* Root that takes another uid for a moment keeps its rights; afterwards giving up uid 0 gives them up again. */
static int
keep_rights(bool keep)
{
	int bits = getuid() == 0 ? prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) : -1;

	if (bits == -1)
		return 0; /* no rights to keep */
	bits = keep ? bits | SECBIT_NO_SETUID_FIXUP : bits & ~SECBIT_NO_SETUID_FIXUP;
	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
}

int
ids_make_as_worker(const struct ids *i, struct err *e)
{
	if (!ids_differ(i))
		return 0;
	if (keep_rights(true) == -1)
		return err_sys(e, "securebits");
	setfsgid(i->worker);
	setfsuid(i->worker);
	return 0;
}

void
ids_make_as_root(const struct ids *i)
{
	if (!ids_differ(i))
		return;
	setfsuid(0);
	setfsgid(0);
	keep_rights(false);
}

/* The kernel lets us be either; who cannot go back must not go on. */
static void
become(uid_t uid)
{
	bool back = uid == getuid();

	if ((back || keep_rights(true) == 0) && setresuid((uid_t)-1, uid, (uid_t)-1) == 0 &&
	    (!back || keep_rights(false) == 0))
		return;
	log_error("the effective uid cannot become %u", uid);
	abort();
}

void
ids_act_as_sandbox(const struct ids *i)
{
	if (ids_differ(i))
		become(i->sandbox);
}

void
ids_act_as_ourselves(const struct ids *i)
{
	if (ids_differ(i))
		become(getuid());
}
