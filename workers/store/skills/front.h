/* The frontmatter of a SKILL.md: YAML between two lines of "---", the instructions behind it. */
#pragma once

#include "base/err.h"
#include "skills/text.h"

enum front_field { FRONT_NAME, FRONT_DISPLAY_NAME, FRONT_DESCRIPTION, FRONT__COUNT };

struct front {
	char       *value[FRONT__COUNT]; /* owned; as Python prints it, stripped; NULL: absent, or false to Python */
	struct span body;                /* in the text it was read from */
};

/* The text is valid UTF-8.  -1: there is frontmatter, and it is broken. */
int  front_read(struct front *, struct span text, struct err *);
void front_clear(struct front *);

/* Append a file that reads back equal: fields that are NULL or blank are left out. */
void front_write(struct buf *, const char *const value[FRONT__COUNT], struct span body);
