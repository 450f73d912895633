/* Skills that come in an uploaded archive: what is in it, and putting it into a workspace. */
#pragma once

#include "skills/skill.h"
#include "store.h"

int upload_preview(const struct scope *, const struct msg_skill_preview *, struct skills *, struct err *);
int upload_install(const struct scope *, const struct msg_skill_install *, struct skills *, struct err *);
