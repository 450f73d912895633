/* Skills that come in an uploaded archive: what is in it, and putting it into a workspace. */
#ifndef STORE_UPLOAD_H
#define STORE_UPLOAD_H

#include "skill.h"
#include "store.h"

/* The directory a skill is installed into, without what is in front; "" and why there is none. */
int upload_target(
    const char *filename, const char *source_path, const char *suffix, char out[LIM_PATH + 1], struct err *);

int upload_preview(const struct scope *, const struct msg_skill_preview *, struct skills *, struct err *);
int upload_install(const struct scope *, const struct msg_skill_install *, struct skills *, struct err *);

#endif
