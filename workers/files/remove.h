#pragma once

#include "box.h"
#include "wire/msg.h"

/* A file, a symlink itself, an empty directory; recursive: a directory with all that is in it. */
int remove_path(const struct box *, const struct msg_file_remove *, struct err *);
