/* box-files alone, on a directory of the test's own, driven over its channel. */
#pragma once

#include "workbox.h"

struct filebox {
	char           dir[64]; /* the workspace */
	struct workbox work;
};

/* prepare runs in the child before the program; NULL: nothing. */
void filebox_start(struct filebox *, const char *dir, const char *session, void (*prepare)(void));

/* Its exit status; it is told to go by the end of its channel, or killed. */
int filebox_end(struct filebox *, bool kill);

/* Send without waiting; the id. */
uint64_t filebox_send(struct filebox *, enum msg_type, const void *body);

/* The next answer: "" and .work.reply is typed as result, or "code: message". */
const char *filebox_take(struct filebox *, uint64_t id, enum msg_type result);
const char *filebox_call(struct filebox *, enum msg_type, const void *body);

/* Common calls in short. */
const char *filebox_put(struct filebox *, const char *path, const char *text);
const char *filebox_get(struct filebox *, const char *path); /* its content, or why not */
const char *filebox_stat(struct filebox *, const char *path);
const char *filebox_remove(struct filebox *, const char *path, bool recursive);
