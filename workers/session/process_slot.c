#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
#include "process.h"
#include "fd.h"
#define WEAK __attribute__((weak))
WEAK bool
cgroup_has_slots(const struct cgroup *c)
{
	return c->unified >= 0;
}
WEAK bool
cgroup_slot_retake(struct cgroup *c, int slot)
{
	return slot >= 0 && (size_t)slot < c->nslots;
}
WEAK void
cgroup_slot_spawn(const struct cgroup *c, int slot, struct msg_spawn *s)
{
	s->cgroup = slot >= 0 ? c->slots[slot].dir : -1;
}
WEAK int
cgroup_slot_limit(struct cgroup *c, int slot, uint64_t memory_mb)
{
	(void)c;
	(void)slot;
	(void)memory_mb;
	return 0;
}
WEAK struct cgroup_events
cgroup_slot_events(const struct cgroup *c, int slot)
{
	(void)slot;
	return cgroup_events(c);
}
