/* One entry of a directory: what it is, and how it is made. */
#pragma once

#include "box.h"
#include "wire/msg.h"

/* A file_info that owns its strings. */
struct entry {
	struct msg_file_info info; /* borrows from the others */
	struct buf           name, raw_name, target, raw_target;
};

/* Look at dir/leaf, itself and not what it may point to; "" is dir.  -1 with errno; entry_clear is due in any case. */
int  entry_look(struct entry *, int dir, const char *leaf, const char *name);
void entry_clear(struct entry *);

int entry_stat(const struct box *, const char *path, struct entry *, struct err *);
int entry_mkdir(const struct box *, const struct msg_file_mkdir *, struct err *);
int entry_symlink(const struct box *, const struct msg_file_symlink *, struct err *);
