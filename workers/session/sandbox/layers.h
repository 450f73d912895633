/*
 * A root that is more than the plain skeleton: an overlay, whose upper layer is a small
 * tmpfs of the session's own.  It is used where something must be written to the root:
 *	an image is the root, and lacks mount points
 *	mount points are asked for that the skeleton lacks; then it is sealed again
 *	the resolver is another than the skeleton has it (slirp)
 *	read_only_rootfs is false; then each part of the host view is an overlay too
 */
#pragma once

#include "sandbox/mounts.h"

enum { LAYERS = 16 };

struct layers {
	bool     used;
	bool     writable; /* and stays so */
	bool     image;
	uint64_t mb, inodes;
	size_t   n;
	struct {
		int         tree; /* owned; a detached mount, id-mapped for the sandbox */
		const char *path; /* where; the first is the root */
	} v[LAYERS];
};

/* In the worker.  What is needed, and as root the lower layers. */
int  layers_prepare(struct layers *, const struct msg_worker_start *, const struct mounts *, struct err *);
void layers_clear(struct layers *);

/*
 * In the child: the current directory is the scratch tmpfs that tree_tmpfs made; the
 * overlay's root when this returns, with an empty directory beside it at ../empty.
 * base: the root's lower layer, where the worker could make none.
 */
int layers_build(const struct layers *, int base, struct err *);

/* Everything is in its place: read-only from here on, unless it is writable. */
int layers_seal(const struct layers *, struct err *);
