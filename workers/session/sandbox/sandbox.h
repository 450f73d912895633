/*
 * One sandbox: built by a newborn child in its own namespaces, which then becomes
 * box-init.  Everything here but sandbox_start runs in that child.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/cgroup.h"
#include "sandbox/netns.h"

struct layers;
struct mounts;

struct sandbox_plan {
	const char    *hostname;
	int            skeleton;  /* the root's template directory */
	int            root_tree; /* as root: a detached mount of it, and of its /dev; else -1 */
	int            dev_tree;
	int            workspace_tree; /* a detached mount of a private workspace; -1: a tmpfs is mounted inside */
	int            image;          /* directory of an image, to be the root; else -1 */
	int            init;           /* box-init */
	int            filter;         /* seccomp program for commands */
	int            listener;       /* bound socket that init shall listen on */
	int            control;        /* init's end of its first channel */
	struct cgroup *cgroup;
	uint32_t       uid_base;
	uint32_t       uid_count; /* 1: our own uid is all there is */
	uint64_t       tmp_mb;
	const char    *workspace_at; /* where a private workspace goes; NULL: it is among the mounts */
	uint64_t       workspace_mb;
	uint64_t       inodes;
	const struct layers *layers;
	uint64_t             nofile;   /* of one process of a command; 0: no limit of its own */
	uint64_t             fsize_mb; /* of one file; 0: none */
	bool                 landlock; /* init shall restrict itself */
	struct mounts       *mounts;
	uint64_t             nproc; /* where no cgroup limits processes, a resource limit does; else 0 */
	struct net_plan      net;
};

struct sandbox {
	pid_t pid;   /* of init; ours to kill, reaped by whoever is its parent */
	int   pidfd; /* owned */
};

/*
 * Start building.  Success means a child is on its way: it says INIT_READY or
 * INIT_FAILED on the channel.
 */
int sandbox_start(struct sandbox *, const struct sandbox_plan *, struct err *);

/* The steps, each in a file of its own. */
int userns_map(pid_t child, const struct sandbox_plan *, struct err *);
int userns_become_root(const struct sandbox_plan *, struct err *);
int userns_owner(const struct sandbox_plan *, uid_t owner, struct err *);
int root_build(const struct sandbox_plan *, struct err *);

/* Read-only views of the host that make a root without an image: NULL behind the last. */
extern const char *const root_host_view[];

/* In the worker, which as root may open the skeleton; the child may not. */
int root_detach(int ns, int skeleton, int *root_tree, int *dev_tree, struct err *);
