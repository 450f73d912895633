/*
 * Detached mounts: made by whoever may, moved into their place by whoever stands
 * there.  An id-mapped one shows the files of one owner as another's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * A detached copy of what is mounted there, with these attributes; -1 with errno.
 * "": of the descriptor itself.  deep: with all that is mounted below it.
 */
int tree_copy(int dir, const char *path, bool deep, uint64_t attributes);

/* The same of a descriptor in another mount namespace, and not deep. */
int tree_copy_from(int ns, int dir, const char *path, uint64_t attributes);

/* Show owner uid:gid on disk as to:to, and so on for count ids. */
struct idmap {
	uid_t    uid;
	gid_t    gid;
	uint32_t to;
	uint32_t count;
};

/* The kernel takes a map as a descriptor of a user namespace; -1 with errno. */
int idmap_open(const struct idmap *);

/* A detached mount becomes id-mapped; -1 with errno, EINVAL when its file system cannot be. */
int tree_idmap(int tree, int map);

/* A fresh tmpfs with these limits; -1 with errno. */
int tree_tmpfs(uint64_t mb, uint64_t inodes);

int tree_put(int tree, const char *at, struct err *);
