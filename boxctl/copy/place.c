/*
 * A session's name may have colons in it, and so may a path.  With one colon there is
 * no doubt; with more, the first split whose session exists is the one.  What begins
 * with '/' or '.' is a path of this machine, as docker has it.
 */
#include "copy/place.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

static bool
session_exists(struct client *c, const char *name)
{
	struct msg_get ask = { .session = name };
	struct msg     reply;
	struct err     e;

	if (client_call(c, MSG_GET, &ask, &reply, &e) == -1)
		return false;
	msg_clear(&reply);
	return true;
}

/* Without trailing slashes and "/."; the flags remember both. */
static int
path_set(struct place *p, const char *path, struct err *e)
{
	size_t n = strlen(path);

	if (n > LIM_PATH)
		return err_set(e, E_INVALID, "'%.64s...' is over %d bytes long", text_safe(path), LIM_PATH);
	memcpy(p->path, path, n + 1);
	p->wants_dir = n > 0 && path[n - 1] == '/';
	for (;;) {
		if (n > 1 && p->path[n - 1] == '/')
			p->path[--n] = '\0';
		else if (n > 1 && p->path[n - 1] == '.' && p->path[n - 2] == '/') {
			p->contents = true;
			p->path[--n] = '\0';
		} else
			break;
	}
	if (n == 0 || strcmp(p->path, ".") == 0) {
		snprintf(p->path, sizeof(p->path), ".");
		p->contents = true;
	}
	return 0;
}

static int
set_session(struct place *p, const char *word, size_t n, const char *path, struct err *e)
{
	if (n == 0 || n > LIM_NAME)
		return err_set(e, E_INVALID, "'%s' names no session", text_safe(word));
	p->in_session = true;
	memcpy(p->session, word, n);
	p->session[n] = '\0';
	return path_set(p, path, e);
}

static int
split(struct place *p, const char *word, struct client *c, struct err *e)
{
	const char *first = word + strcspn(word, ":"); /* there is one */

	for (const char *colon = first; colon != NULL && strrchr(word, ':') != first; colon = strchr(colon + 1, ':')) {
		size_t n = (size_t)(colon - word);

		if (set_session(p, word, n, colon + 1, e) == -1)
			return -1;
		if (session_exists(c, p->session))
			return 0;
	}
	*p = (struct place){ 0 };
	return set_session(p, word, (size_t)(first - word), first + 1, e);
}

int
place_parse(struct place *p, const char *word, struct client *c, struct err *e)
{
	*p = (struct place){ 0 };
	if (*word == '\0')
		return err_set(e, E_INVALID, "an empty path");
	if (strcmp(word, "-") == 0) {
		p->is_stdio = true;
		return 0;
	}
	if (*word == '/' || *word == '.' || strchr(word, ':') == NULL)
		return path_set(p, word, e);
	return split(p, word, c, e);
}

int
place_parse_session(struct place *p, const char *word, struct client *c, struct err *e)
{
	*p = (struct place){ 0 };
	if (strchr(word, ':') == NULL || session_exists(c, word))
		return set_session(p, word, strlen(word), ".", e);
	return split(p, word, c, e);
}

const char *
place_name(const struct place *p, char out[LIM_PATH + 1])
{
	const char *slash = strrchr(p->path, '/');
	const char *last = slash != NULL ? slash + 1 : p->path;

	snprintf(out, LIM_PATH + 1, "%s", strcmp(last, ".") == 0 ? "" : last);
	return out;
}
