/*
 * The secret of LangBot's door.  Its plain text is never kept: only a hash of it, under a key that lives as long
 * as this boxd.  A file that changes is read again when somebody shows a token the next time.
 */
#ifndef SUPERVISOR_TOKEN_H
#define SUPERVISOR_TOKEN_H

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
 * From the environment, out of which it is wiped, so that no child and nobody who reads /proc sees it; else from
 * the configured file.  Not set when neither has one.
 */
int token_find(struct token *, const struct config *, struct err *);

/* Not set yet: that of the state directory, which is made if there is none. */
int token_settle(struct token *, const char *state_dir, struct err *);

/* Is this it?  In the same time, whatever is wrong with it. */
bool token_matches(struct token *, const char *presented);

void token_clear(struct token *);

#endif
