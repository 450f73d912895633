#include "auth/token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/tokenfile.h"

#define KEYS "keys"
#define OWN_TOKEN KEYS "/langbot.token"

static void
hash(const struct token *t, const char *text, unsigned char out[crypto_generichash_BYTES])
{
	crypto_generichash(
	    out, crypto_generichash_BYTES, (const unsigned char *)text, strlen(text), t->key, sizeof(t->key));
}

static void
keep(struct token *t, const char *secret)
{
	crypto_generichash_keygen(t->key);
	hash(t, secret, t->hash);
	t->set = true;
}

static bool
is_all_blank(const char *text)
{
	return text[strspn(text, " \t\n\v\f\r")] == '\0';
}

static int
from_environment(struct token *t, struct err *e)
{
	char *value = getenv(TOKEN_ENV);
	bool  bad = false;

	if (value == NULL)
		return 0;
	if (!is_all_blank(value)) {
		size_t n = strlen(value);
		char  *secret = token_strip(value);

		bad = secret == NULL;
		if (!bad)
			keep(t, secret);
		sodium_memzero(value, n); /* where /proc/<pid>/environ shows it */
	}
	unsetenv(TOKEN_ENV);
	return bad ? err_set(e, E_INVALID, TOKEN_ENV " must be a non-whitespace secret of at least %d characters",
			 TOKEN_MIN)
		   : 0;
}

static int
from_file(struct token *t, struct err *e)
{
	char        secret[LIM_TOKEN + 1];
	struct stat now = { 0 };

	/* looked at first: what is written between the two is seen by the next look */
	(void)stat(t->path, &now);
	t->seen = now;
	if (tokenfile_read(t->path, secret, e) == -1)
		return -1;
	keep(t, secret);
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

int
token_find(struct token *t, const struct config *c, struct err *e)
{
	*t = (struct token){ 0 };
	if (from_environment(t, e) == -1)
		return -1;
	if (t->set || *c->token_file == '\0')
		return 0;
	snprintf(t->path, sizeof(t->path), "%s", c->token_file);
	return from_file(t, e) == -1 ? err_prefix(e, "token_file") : 0;
}

static int
make(struct token *t, const char *state_dir, struct err *e)
{
	char keys[PATH_MAX + 8];

	snprintf(keys, sizeof(keys), "%s/" KEYS, state_dir);
	if ((mkdir(keys, 0700) == -1 && errno != EEXIST) || chmod(keys, 0700) == -1)
		return err_sys(e, "make %s", keys);
	if (tokenfile_make(t->path, e) == -1)
		return -1;
	log_info("made a token for LangBot: %s; give it to LangBot as " TOKEN_ENV, t->path);
	return from_file(t, e);
}

int
token_settle(struct token *t, const char *state_dir, struct err *e)
{
	if (t->set)
		return 0;
	snprintf(t->path, sizeof(t->path), "%s/" OWN_TOKEN, state_dir);
	if (from_file(t, e) == 0)
		return 0;
	return e->code == E_NOTFOUND ? make(t, state_dir, e) : -1;
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* A file that cannot be used leaves the old token in force, and is logged once. */
static void
refresh(struct token *t)
{
	struct stat now;
	struct err  e;

	if (*t->path == '\0' || stat(t->path, &now) == -1 || same_file(&now, &t->seen))
		return;
	if (from_file(t, &e) == 0)
		log_info("another token is in force: %s has changed", t->path);
	else
		log_error("the token stays as it was: %s", e.text);
}

bool
token_matches(struct token *t, const char *presented)
{
	unsigned char shown[sizeof(t->hash)];

	refresh(t);
	hash(t, presented, shown);
	return t->set && sodium_memcmp(shown, t->hash, sizeof(shown)) == 0;
}

void
token_clear(struct token *t)
{
	sodium_memzero(t, sizeof(*t));
}
