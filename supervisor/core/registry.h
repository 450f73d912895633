/* All sessions, by name and by age; the only owner of a struct session. */
#pragma once

#include <sys/queue.h>

#include "boxd.h"
#include "core/session.h"
#include "core/groups.h"

/* A session's place in the registry, which is part of the session: adding it cannot fail. */
struct registry_entry {
	TAILQ_ENTRY(registry_entry) next;
	LIST_ENTRY(registry_entry) same_hash;
	struct session    *session;
	struct group_entry groups;
};

struct registry *registry_open(struct boxd *, struct err *);
void             registry_close(struct registry **);

/* NULL: no session has that name. */
struct session *registry_find(const struct registry *, const char *name);

/* Is there room for one more session, and may its workspace have one more? */
int registry_room(struct registry *, const char *name, struct err *);

/* A range of uids of its own; -1 and the reason. */
int registry_uids(struct registry *, uint32_t *uid_base, struct err *);

void registry_release(struct registry *, uint32_t uid_base);

/* An adopted session has its range already. */
void registry_claim(struct registry *, uint32_t uid_base);

/* Reserve the memory that adding a session needs; -1: no memory.  A session that is not added is unreserved. */
int  registry_reserve(struct registry *, struct session *, struct err *);
void registry_unreserve(struct session *);

void registry_add(struct registry *, struct session *);

/* Frees the session. */
void registry_remove(struct registry *, struct session *);

/* How many sessions there are, and how many spares, which do not count as sessions yet. */
size_t registry_count(const struct registry *);
size_t registry_spares(const struct registry *);

/* All sessions except spares. */
#define GROUP_ALL ((struct group_key){ "", 0 })

/* What the sessions of a group have together. */
struct group_sum registry_sum(const struct registry *, struct group_key);

/* The sessions of a group, and the spares; oldest first, until fn returns false. */
void registry_each_of(const struct registry *, struct group_key, bool (*fn)(struct session *, void *), void *arg);
void registry_each_spare(const struct registry *, bool (*fn)(struct session *, void *), void *arg);

/* A ready spare that fits this spec, renamed; NULL: no spare fits. */
struct session *registry_take_spare(struct registry *, const char *name, const struct msg_spec *);

/* In order of age; stops when fn returns false. */
void registry_each(struct registry *, bool (*fn)(struct session *, void *), void *arg);

/* A connection is gone (0: all of them). */
void registry_conn_gone(struct registry *, uint64_t conn);

/* The requests of all sessions. */
struct request_index *registry_requests(const struct registry *);

/* The session that has this request; NULL: no session. */
struct session *registry_request_owner(struct registry *, uint64_t conn, uint64_t id);

/* End every session; on_empty is called when the last is gone. */
void registry_drain(struct registry *, const char *why, void (*on_empty)(void *), void *arg);
