/* The directory that a command starts in. */
#pragma once

/*
 * An O_PATH descriptor of it; what is missing is made.  -1 with errno.
 *
 * Commands choose where symlinks lead, and init has descriptors of the host's cgroups: a link to /proc/self/fd/N or
 * /proc/1/fd/N would start the command there, outside of its root.  So no link on a procfs is followed (ELOOP).
 */
int workdir_open(const char *path);
