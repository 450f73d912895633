/* Where the sources of read-only mounts really are. */
#pragma once

#include "wire/msg.h"

struct sources {
	struct msg_store_source *v;  /* owned; one for each mount that was asked for */
	char (*paths)[LIM_PATH + 1]; /* owned; what v points to */
	size_t n;
};

int  sources_find(const struct msg_store_sources *, struct sources *, struct err *);
void sources_clear(struct sources *);
