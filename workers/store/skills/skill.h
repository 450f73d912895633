/* A package read: what a client gets to know of it. */
#pragma once

#include "skills/discover.h"
#include "skills/front.h"
#include "wire/msg.h"

struct skill {
	char       *where;        /* owned; beneath the root it was found in */
	char       *package_root; /* owned; the same from "/" on */
	char       *source_path;  /* owned; in an archive, or NULL */
	char       *name;         /* owned */
	char       *display_name; /* owned */
	char       *description;  /* owned */
	struct buf  text;         /* owned; of the entry file */
	struct span instructions; /* in it */
	const char *entry;
	bool        python_project;
	uint64_t    created_us, updated_us;
};

struct skills {
	struct skill *v; /* owned */
	size_t        n;
};

/* Stripped, and a valid name; a copy that the caller frees.  NULL and why it is not valid. */
char *skill_name(struct span, struct err *);

/* root_path: of root, from "/" on. */
int  skill_load(struct skill *, int root, const char *root_path, const struct found *, struct err *);
void skill_clear(struct skill *);
void skill_tell(const struct skill *, struct msg_skill *);

/* Bytes of all its strings, as they count against the limit of a list. */
size_t skill_bytes(const struct skill *);

void skills_clear(struct skills *);
