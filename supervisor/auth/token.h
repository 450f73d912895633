/*
 * The secret of LangBot's door.  Its plain text is never kept: only a hash of it, under a key that lives as long
 * as this boxd.  A file that changes is read again when somebody shows a token the next time.
 */
#pragma once

#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "config/config.h"

#define TOKEN_ENV "LANGBOT_BOX_CONTROL_TOKEN"

struct token {
	bool          set;
	unsigned char key[crypto_generichash_KEYBYTES];
	unsigned char hash[crypto_generichash_BYTES];
	char          path[PATH_MAX + 32]; /* "": it came by the environment */
	struct stat   seen;                /* of that file, when it was read last */
};

/*
 * From the environment, which is wiped of it, so that it is visible neither to a child nor in /proc; else from the
 * configured file.  Not set when neither has one.
 */
int token_find(struct token *, const struct config *, struct err *);

/* If it is not set yet: from the file in the state directory, which is made when it is missing. */
int token_settle(struct token *, const char *state_dir, struct err *);

/* Is this the token?  A wrong one takes the same time wherever it differs. */
bool token_matches(struct token *, const char *presented);

void token_clear(struct token *);
