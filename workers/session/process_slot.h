#ifndef SESSION_PROCESS_SLOT_H
#define SESSION_PROCESS_SLOT_H
bool                 cgroup_has_slots(const struct cgroup *);
bool                 cgroup_slot_retake(struct cgroup *, int slot);
void                 cgroup_slot_spawn(const struct cgroup *, int slot, struct msg_spawn *);
int                  cgroup_slot_limit(struct cgroup *, int slot, uint64_t memory_mb);
struct cgroup_events cgroup_slot_events(const struct cgroup *, int slot);
#endif
