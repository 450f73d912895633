/*
 * Copying between this machine and a session: what both directions share, and the
 * bytes of one file, several chunks in flight.
 */
#pragma once

#include <sys/types.h>

#include "base/newfile.h"
#include "cmd.h"
#include "copy/place.h"
#include "copy/progress.h"

enum { COPY_DEPTH = 256 }; /* nested directories; a tree inside may be made deeper than any stack */

struct copy {
	struct client  *client;
	const char     *session;
	struct progress progress;
	uint64_t        dirs, links;
	uint64_t        left_out; /* devices, sockets and the like */
	char            stem[NEWFILE_STEM];
};

/* "dir/name" for a request.  -1: it is too long. */
int copy_join(char out[LIM_PATH + 1], const char *dir, const char *name, struct err *);

/* Something that cannot be copied, and is not. */
void copy_leave_out(struct copy *, const char *what);

/* ---- put.c ---- */

/* A file or a directory tree of this machine, to this path of the session. */
int put_path(struct copy *, const char *from, bool contents, const char *to, struct err *);
int put_stdin(struct copy *, const char *to, struct err *);

/* ---- get.c ---- */

/* What info says is at from, into dir under that name; contents: a directory's entries, right into dir. */
int get_path(struct copy *, const char *from, const struct msg_file_info *, int dir, const char *name, bool contents,
    struct err *);
int get_stdout(struct copy *, const char *from, struct err *);

/* ---- transfer.c: the bytes of one file ---- */

struct transfer {
	mode_t   mode;
	uint64_t modified_ms;
	uint64_t size; /* put: as far as it is known, for the progress; get: what was opened */
};

/* All that comes from fd until its end, to that path: replaced whole or not at all. */
int transfer_put(struct copy *, int fd, const char *to, const struct transfer *, struct err *);

/* Into fd, in order; what the file is comes in *about. */
int transfer_get(struct copy *, const char *from, int fd, struct transfer *about, struct err *);
