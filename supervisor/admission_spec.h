/* An admitted spec: refused, or all that is the runtime's to say is said. */
#ifndef SUPERVISOR_ADMISSION_SPEC_H
#define SUPERVISOR_ADMISSION_SPEC_H

#include "msg.h"

#define ADMISSION_SESSION "global"                        /* the only session of a workspace */
#define ADMISSION_IMAGE "rockchin/langbot-sandbox:latest" /* LangBot's own default */

/* What the spec borrows when a skill is mounted. */
struct admitted {
	char              skill_path[LIM_PATH + 1];
	struct msg_mount *mount; /* the caller's, one */
};

int admission_force(const struct msg_box_policy *, struct msg_box_spec *, const char *host_path, const char *skill_root,
    struct admitted *, struct err *);

#endif
