/* box-store alone, on directories of the test's own, driven over its channel as the supervisor would. */
#pragma once

#include "workbox.h"

struct storebox {
	char           base[64];  /* relative paths begin here */
	char           root[192]; /* skills of the workspace "ws-a" */
	struct workbox work;
};

/* Start it in dir with this section; "" when it is ready, or "code: reason". */
const char *storebox_start(struct storebox *, const char *dir, const struct msg_box_local *);

/* With nothing configured but host_root "data/box" in dir, and allowed there. */
const char *storebox_plain(struct storebox *, const char *dir);

/* Its exit status; it is told to go by the end of its channel, or killed. */
int storebox_end(struct storebox *, bool kill);

uint64_t storebox_send(struct storebox *, enum msg_type, const void *body);

/* The next answer: "" and .work.reply is typed as the request's result, or "code: message". */
const char *storebox_take(struct storebox *, uint64_t id, enum msg_type request);
const char *storebox_call(struct storebox *, enum msg_type, const void *body);

/* Common calls in short; ns is "ws-a". */
const char *store_create(struct storebox *, const char *name, const char *instructions);
const char *store_get(struct storebox *, const char *name);                    /* "" found, "none", or an error */
const char *store_list(struct storebox *);                                     /* "a, b": names as told, or an error */
const char *store_read(struct storebox *, const char *name, const char *path); /* the content, or an error */
const char *store_write(struct storebox *, const char *name, const char *path, const char *content);
const char *store_delete(struct storebox *, const char *name);
const char *store_install(struct storebox *, const struct buf *archive, const char *filename); /* "" or an error */

/* Of .work.reply after store_get, store_create: the skill. */
const struct msg_skill *store_skill(const struct storebox *);

/* Staging directories in the skills root: none, when nothing is being done. */
size_t store_staged(const struct storebox *);

/* The path of one of them; "": there is none. */
const char *store_staged_path(const struct storebox *, char *path, size_t n);

/* A child with this name, or any for NULL; 0: there is none. */
pid_t store_child(const struct storebox *, const char *name);

/* A payload as text; valid until the next. */
const char *store_text(const struct blob *);

/* Files of the test's own: printf's path. */
void        put_file(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void        make_dir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool        is_there(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *get_file(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void        remove_all(const char *dir);
