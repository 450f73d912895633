/*
 * The directories that box-store holds, and the part of them that one workspace sees.
 *
 *	<skills root>/tenants/<namespace>/...	packages of a workspace
 *	<skills root>/.staging-<number>		what is being installed or removed; not visible to clients
 *	<default workspace>/...			directories of workspaces, made on request
 */
#pragma once

#include "base/bounds.h"
#include "base/err.h"
#include "wire/msg.h"

struct store {
	int                    skills;    /* owned; the skills root */
	int                    workspace; /* owned; the default workspace, or -1: none */
	struct msg_store_ready paths;     /* all of them, resolved */
};

/* The skills of one workspace. */
struct scope {
	int  skills; /* borrowed; the skills root */
	int  root;   /* owned */
	char path[LIM_PATH + 1];
};

/* Made when it is missing. */
int  scope_open(struct scope *, const struct store *, const char *ns, struct err *);
void scope_close(struct scope *);

/*
 * A path that a client gave, from "/" on, as one beneath the workspace's root ("" the root itself);
 * what names it in the error.
 */
int scope_beneath(const struct scope *, const char *path, const char *what, char out[LIM_PATH + 1], struct err *);
