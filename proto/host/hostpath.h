/*
 * A path of the host that a client asked for, opened and judged.
 *
 * It is walked part by part with descriptors and never by a name that somebody could
 * turn meanwhile: each part is opened without following it, and a symlink is read and
 * its target walked in the same way.  What is judged is the path of the descriptor at
 * the end, as the kernel reports it; what is mounted is that descriptor.  So a symlink
 * swapped before the walk leads to another place that is judged as itself, and one
 * swapped after it is not looked at any more.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "wire/msg.h"

struct hostpath_ask {
	const char        *field; /* of the spec, for messages */
	const char        *path;
	bool               writable;
	bool               make;           /* the session's own workspace is made when it is missing */
	bool               directory_only; /* else a regular file will do */
	const struct strs *roots; /* if there are any, it must exist below one of them; errors have LangBot's words */
	enum err_field     about; /* the same field, for code, */
	size_t             index; /* and which of them */
};

struct hostpath {
	int         fd;             /* owned; O_PATH */
	char        real[PATH_MAX]; /* its path without symlinks, as judged */
	struct stat st;
	int         missing; /* after -1: the errno, when the path leads nowhere; else 0 */
};

/* The rules are those of the message.  -1: the text names field, path, rule and remedy; nothing was made. */
int hostpath_open(struct hostpath *, const struct hostpath_ask *, const struct msg_worker_start *rules, struct err *);

enum { FS_NAME = 64 };

/* "ext4": for messages about what a file system cannot do. */
const char *hostpath_fs(int fd, char name[FS_NAME]);
