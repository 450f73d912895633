/* An admitted spec: refused, or all that is the runtime's to say is said. */
#pragma once

#include "wire/msg.h"

#define ADMISSION_SESSION "global"                        /* the only session of a workspace */
#define ADMISSION_IMAGE "rockchin/langbot-sandbox:latest" /* LangBot's own default */

/* What the store has found for a spec, and room for what the spec becomes.  All of it is lent by the caller. */
struct admitted {
	const char                    *host_path;  /* the workspace's own directory */
	const char                    *skill_root; /* the package of skill_name, or empty */
	const struct msg_store_source *sources;    /* of its extra_mounts, in their order */
	const struct strs             *roots;      /* allowed_mount_roots, resolved */
	struct msg_mount              *mounts;     /* one more than it asks for */
	char                          *skill_path; /* LIM_PATH + 1 bytes; only for one with a skill_name */
};

int admission_force(const struct msg_box_policy *, struct msg_box_spec *, const struct admitted *, struct err *);
