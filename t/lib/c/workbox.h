/* A worker alone, driven over its channel as the supervisor would. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "wire/chan.h"

struct workbox {
	pid_t          pid;
	int            channel;
	unsigned       from; /* FROM_FILES, FROM_STORE: what it may send */
	uint64_t       next_id;
	struct chan_in in;
	struct msg     reply; /* the last that came */
	char           why[ERR_TEXT + 64];
};

/* Run argv[0] of the build with its channel there; prepare runs in the child before the program. */
void workbox_start(struct workbox *, unsigned from, int channel, char *const argv[], void (*prepare)(void));

/* Its exit status; it is told to go by the end of its channel, or killed. */
int workbox_end(struct workbox *, bool kill);

/* Send without waiting; the id. */
uint64_t workbox_send(struct workbox *, enum msg_type, const void *body);

/* The next message, into .reply; -1 when it is gone. */
int workbox_receive(struct workbox *, struct err *);

/* The next answer: "" and .reply is typed as result, or "code: message". */
const char *workbox_take(struct workbox *, uint64_t id, enum msg_type result);
