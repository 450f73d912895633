/*
 * Directories of the host whose entries belong to one workspace each: "tenants" in LangBot's default workspace and in
 * its skills root, and the agents' directories.  Every one that was ever configured is written down, because the files
 * stay when the configuration changes.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

struct tenantroots *tenantroots_open(struct boxd *, struct err *);
void                tenantroots_close(struct tenantroots **);

/* "tenants" in this directory holds workspaces from now on.  Empty: nothing. */
void tenantroots_learn(struct tenantroots *, const char *directory);

/*
 * The same for a directory that nobody configured, but in which a workspace's session was made.  A directory inside a
 * workspace does not count, and directories learned in this way use at most half of the room.
 */
void tenantroots_observe(struct tenantroots *, const char *directory);

/*
 * For the worker of this session: the rules that close other workspaces to it and open its own.  Their paths are valid
 * until the next call.
 */
void tenantroots_add_rules(struct tenantroots *, const char *session, struct msg_worker_start *);
