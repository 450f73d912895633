/*
 * Memory, processes and cpu are the cgroup's business.  There is no limit of address
 * space or data: programs with a just-in-time compiler or a garbage collector reserve
 * gigabytes that they never touch.
 *
 * No limit is raised: what boxd was started with is the ceiling.
 */
#include "rlimits.h"

#include <stddef.h>

#include "base/bounds.h"

#define ANY RLIM_INFINITY
#define LIMIT(l, soft, hard)       \
	{                          \
		l, #l,             \
		{                  \
			soft, hard \
		}                  \
	}

static const struct limit of_all[] = {
	/* 0 would still start a host's core handler, as root and outside; at 1 the kernel starts none */
	LIMIT(RLIMIT_CORE, 1, 1),
	/* what libraries take for the size of a thread; also a quarter of it is the room for argv and env */
	LIMIT(RLIMIT_STACK, 8 * MIB, ANY),
	/* for keys that must not be swapped, not for bulk; counted as memory anyway */
	LIMIT(RLIMIT_MEMLOCK, 8 * MIB, 8 * MIB),
	LIMIT(RLIMIT_MSGQUEUE, 800 * KIB, 800 * KIB),
	LIMIT(RLIMIT_SIGPENDING, 4096, 4096),
	LIMIT(RLIMIT_NICE, 0, 0),
	LIMIT(RLIMIT_RTPRIO, 0, 0),
};

static struct rlimit
at_most(struct rlimit l, rlim_t ceiling)
{
	if (l.rlim_max > ceiling)
		l.rlim_max = ceiling;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	return l;
}

static int
set(const struct limit *l, struct err *e)
{
	struct rlimit now;

	if (getrlimit(l->what, &now) == -1)
		return err_sys(e, "%s", l->name);
	struct rlimit to = at_most(l->to, now.rlim_max);
	return setrlimit(l->what, &to) == -1 ? err_sys(e, "set %s", l->name) : 0;
}

int
limits_of_all(struct err *e)
{
	/* a few descriptors for each of many commands */
	static const struct limit ours = LIMIT(RLIMIT_NOFILE, ANY, ANY);

	for (size_t i = 0; i < sizeof(of_all) / sizeof(*of_all); i++)
		if (set(&of_all[i], e) == -1)
			return -1;
	return set(&ours, e);
}

/* The size of a file is not init's: what it keeps of commands' output is in files, too. */
void
limits_of_commands(struct limit out[LIMITS], uint64_t nofile, uint64_t fsize_mb)
{
	const struct limit wanted[LIMITS] = {
		LIMIT(RLIMIT_NOFILE, nofile, nofile),
		LIMIT(RLIMIT_FSIZE, fsize_mb * MIB, fsize_mb * MIB),
	};
	struct rlimit now;

	for (size_t i = 0; i < LIMITS; i++) {
		out[i] = wanted[i];
		if (wanted[i].to.rlim_max == 0 || getrlimit(wanted[i].what, &now) == -1)
			out[i].name = NULL;
		else
			out[i].to = at_most(wanted[i].to, now.rlim_max);
	}
}
