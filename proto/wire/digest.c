#include "wire/digest.h"

#include <string.h>

#define PREFIX "sha256:"

bool
digest_is(const char *text)
{
	size_t n = strlen(PREFIX);

	return strncmp(text, PREFIX, n) == 0 && strlen(text + n) == DIGEST_DIGITS &&
	       strspn(text + n, "0123456789abcdef") == DIGEST_DIGITS;
}

const char *
digest_of(const struct msg_mount *m)
{
	const char *digits = m->content_digest + strlen(PREFIX);
	size_t      n = strlen(ARTIFACT_ROOT "/");

	if (m->mode != MOUNT_RO || *m->manifest_path == '\0' || !digest_is(m->content_digest))
		return NULL;
	return strncmp(m->mount_path, ARTIFACT_ROOT "/", n) == 0 && strcmp(m->mount_path + n, digits) == 0 ? digits
													   : NULL;
}
