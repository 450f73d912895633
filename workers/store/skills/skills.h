/* The skills of a workspace: found, made, changed and removed. */
#pragma once

#include "skills/skill.h"
#include "store.h"

/* All of them that can be read, newest first. */
int skills_list(const struct scope *, struct skills *, struct err *);

/* The newest of that name: 0; 1: no such skill; -1 and why. */
int skills_find(const struct scope *, const char *name, struct skill *, struct err *);

/* The same, and none is an error. */
int skills_need(const struct scope *, const char *name, struct skill *, struct err *);

int skills_create(const struct scope *, const struct msg_skill_create *, struct skill *, struct err *);
int skills_update(const struct scope *, const struct msg_skill_update *, struct skill *, struct err *);
int skills_delete(const struct scope *, const char *name, struct err *);
int skills_scan(const struct scope *, const char *path, struct skill *, struct err *);
