/* A volume: an ext4 file system in a file of the pool directory, mounted where everybody on the machine sees it. */
#pragma once

#include "place.h"
#include "record.h"
#include "wire/msg.h"

/* Make it, or find it as it is, and mount it; *r says which. */
int volume_create(const char *pool_path, const struct msg_pool_create *, struct record *r, struct err *);

/* 0 mounted, now or before; -1 and why not. */
int volume_mount(int pool, const struct record *, struct err *);

/* Unmount and remove.  Without force not when there are files in it. */
int volume_remove(int pool, const char *path, bool force, struct err *);

/* The description of a volume borrows from this. */
struct volume_text {
	struct record record;
	char          image[LIM_PATH + 1];
	struct err    problem;
};

/* How full it is, and whether it is mounted, of the record in the text. */
void volume_tell(int pool, const char *pool_path, struct volume_text *, struct msg_pool_volume *);

/* Has it an image?  Without one it never was. */
bool volume_exists(int pool, const struct record *);

/* A small one without a name, mounted at a place: what is left of it goes with its mount. */
int volume_trial(int pool, struct place *, struct err *);

/* lazy: also when somebody is in it still. */
int volume_unmount(struct place *, bool lazy, struct err *);
