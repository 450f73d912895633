20-slots_EXTRA := workers/session/cgroup workers/session/cgroup_slot workers/session/cgroup_freeze proto/cgfind proto/ruleset workers/session/ids
