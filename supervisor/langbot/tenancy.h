/*
 * Workspaces: their names on this machine, and the fence that keeps a placement of yesterday out.  What the
 * fence has seen is in the state directory, so a restart forgets nothing.
 */
#pragma once

#include "boxd.h"
#include "core/groups.h"
#include "wire/msg.h"

enum { NAMESPACE_LEN = 27 }; /* ws- and 24 hexadecimal digits */

struct tenancy *tenancy_open(struct boxd *, struct err *);
void            tenancy_close(struct tenancy **);

/* ws-<24 hex>: of the workspace whatever its generation. */
void tenancy_namespace(const struct msg_context *, char ns[NAMESPACE_LEN + 1]);

/* ws-<24 hex>-g<generation>-<safe id>; -1 and upstream's text when nothing usable is in it. */
int tenancy_physical(const struct msg_context *, const char *logical, char name[LIM_NAME + 1], struct err *);

/* The part of a session's name that its workspace sees; NULL when it is not of this context. */
const char *tenancy_logical(const struct msg_context *, const char *physical);

/* Is it of this workspace, in whichever generation? */
bool tenancy_owns(const struct msg_context *, const char *physical);

/* Does it belong to a workspace?  All other sessions are native clients'. */
bool tenancy_is_ours(const char *physical);

/* The workspace that a session belongs to, be it LangBot's or an agent's; false: it belongs to none. */
bool tenancy_namespace_of(const char *session, char ns[NAMESPACE_LEN + 1]);

/*
 * The groups in which the session of this name is counted, besides the group of all: those below; an agent's session
 * also in the group of its name up to the last @.  Their number; 0 for a name without a workspace.
 */
enum { TENANCY_GROUPS = GROUPS_MOST - 1 };
size_t tenancy_groups(const char *session, struct group_key[TENANCY_GROUPS]);

/* The groups of all sessions of LangBot's, of a workspace's, and of one generation of it. */
#define GROUP_LANGBOT ((struct group_key){ "ws-", 3 })
struct group_key tenancy_group(const struct msg_context *, char text[LIM_NAME + 1]);
struct group_key tenancy_group_current(const struct msg_context *, char text[LIM_NAME + 1]);

/* 0 the current one, 1 it has become that now, -1 stale, or no room. */
int  tenancy_observe(struct tenancy *, const struct msg_context *, struct err *);
bool tenancy_is_current(const struct tenancy *, const struct msg_context *);

/* The refusal of an old placement.  Always -1. */
int tenancy_stale(struct err *);

/* fn is called from within tenancy_observe when a workspace has another generation. */
void tenancy_on_advance(struct tenancy *, void (*fn)(void *arg, const struct msg_context *), void *arg);

/* The maximum number of workspaces. */
void tenancy_set_room(struct tenancy *, size_t workspaces);
