/*
 * The secret that LangBot calls LANGBOT_BOX_CONTROL_TOKEN, in a file: boxd reads it, boxctl shows it, and both
 * can make one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bounds.h"
#include "base/err.h"

enum { TOKEN_MIN = 32 };

/* Blanks around it cut off in place; the secret, or NULL: too short, too long, or blanks inside. */
char *token_strip(char *text);

/* Of that file, which strangers must not be able to read.  E_NOTFOUND: it is missing.  Wipe the secret after use. */
int tokenfile_read(const char *path, char secret[LIM_TOKEN + 1], struct err *);

/* Another secret under that name, in the place of what was there, with mode 0600. */
int tokenfile_make(const char *path, struct err *);
