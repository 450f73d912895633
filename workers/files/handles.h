/*
 * Files that are open for a client, by number.  Numbers are never given again, also not
 * by the next box-files, so a client whose transfer was lost cannot hit another's.
 */
#pragma once

#include "entry.h"
#include "wire/msg.h"

struct handles;

/* NULL without memory. */
struct handles *handles_open(const struct box *);
void            handles_close(struct handles **);

/* The entry is what was opened for reading; entry_clear is due in any case. */
int handles_begin(struct handles *, const struct msg_file_open *, uint64_t *handle, struct entry *, struct err *);

/* The bytes are valid until the next call. */
int handles_read(struct handles *, const struct msg_file_read *, struct msg_file_data *, struct err *);
int handles_write(struct handles *, const struct msg_file_write *, struct err *);
int handles_end(struct handles *, const struct msg_file_close *, struct err *);

/* Forget those that were not used for long; ms until the next is due, or -1. */
int handles_expire(struct handles *);
