/*
 * Files of packages.  Sandboxes write to them too, so every name may lead anywhere and change under us: a
 * file is opened first and looked at by its descriptor, no path leaves the directory it begins in, and what is
 * written takes its name whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/err.h"

#define STORE_STEM ".boxd-store" /* of temporary names */

/* A directory, to be read, beneath another ("" is that itself); no symlink is followed.  -1 with errno. */
int tree_open_dir(int root, const char *path);

/* The same, and symlinks are followed while they stay beneath root; EXDEV: one does not. */
int tree_open_dir_by_link(int root, const char *path);

/* A regular file, to be read; symlinks that stay beneath root are followed.  -1 with errno, ENOENT for everything else. */
int tree_open_file(int root, const char *path, struct stat *);

/* What a name leads to, only to be looked at: symlinks as above. */
int tree_open_name(int root, const char *path);

/* Is there one?  Is there a directory? */
bool tree_has_file(int root, const char *path);
bool tree_has_dir(int root, const char *path);

/* A directory of this name in dir, made if it is missing.  -1 with errno; a symlink there is ELOOP. */
int tree_make_dir(int dir, const char *name);

/* And all on the way to it: path beneath root, symlinks as in tree_open_dir_by_link. */
int tree_make_dirs(int root, const char *path);

/* At most this many bytes of a file.  0; 1: there are more; -1 with errno. */
int tree_read(int fd, size_t most, struct buf *);

/* All of these bytes; -1 with errno. */
int tree_write_all(int fd, const char *, size_t n);

/* Put a file with these bytes into dir, on the disk before it has its name.  A file there is replaced, and keeps its mode. */
int tree_write(int dir, const char *name, const void *bytes, size_t n, struct err *);

/* dir/name with all that is in it; path is for the error. */
int tree_remove(int dir, const char *name, const char *path, struct err *);
