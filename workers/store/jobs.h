/*
 * Requests, each in a process of its own: an archive or a file that breaks its reader ends one request and
 * nothing else.  Those of one workspace are done one after the other, of different ones beside each other.
 */
#pragma once

#include <ev.h>

#include "store.h"
#include "wire/link.h"

struct jobs;

/* link: where requests came from and answers go; its descriptor is not for the processes. */
struct jobs *jobs_open(struct ev_loop *, struct link *, int link_fd, const struct store *, struct err *);
void         jobs_close(struct jobs **);

/* Remove what dead processes left behind, some time later; no request waits for it. */
void jobs_sweep(struct jobs *);

/* -1 and why it is refused. */
int jobs_deliver(struct jobs *, const struct msg *, struct err *);
