/* Files of a source, copied as a manifest lists them. */
#pragma once

#include "manifest.h"

/* "[Errno 2] No such file or directory: '/a/b'", as Python says it; always -1. */
int copy_errno(struct err *, int why, const char *dir, const char *path);

/*
 * All files of the manifest, and nothing else, into the directory to, each with the size and the digest that is listed,
 * and on the disk.  name: of the source, for errors.
 */
int copy_files(const struct manifest *, int source, const char *name, int to, struct err *);
