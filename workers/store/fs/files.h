/* The files of a package, as a client lists, reads and writes them. */
#pragma once

#include "store.h"
#include "wire/msg.h"

/* The answer's strings are owned by it: files_clear frees them, and is due after success only. */
int  files_list(const struct scope *, const struct msg_skill_files *, struct msg_skill_entries *, struct err *);
void files_clear(struct msg_skill_entries *);

/* The normalised path; a read's content is appended to the buffer. */
int files_read(
    const struct scope *, const struct msg_skill_read *, char path[LIM_PATH + 1], struct buf *, struct err *);

/* *written: bytes. */
int files_write(
    const struct scope *, const struct msg_skill_write *, char path[LIM_PATH + 1], uint64_t *written, struct err *);
