/* What the places hold where a sandbox's commands write. */
#pragma once

#include "wire/msg.h"

enum { MEASURED = 3 }; /* /workspace, /root/.cache, /tmp */

int measure(struct msg_amount out[MEASURED], struct err *);
