/*
 * Digest-addressed mounts: read-only, with a digest and a manifest, at the place that the digest names.  What is mounted
 * is a copy that boxd has verified.
 */
#pragma once

#include "wire/msg.h"

#define ARTIFACT_ROOT "/opt/langbot-artifacts"

enum { DIGEST_DIGITS = 64 };

/* "sha256:" and 64 digits in lower case? */
bool digest_is(const char *);

/* The 64 digits of a digest-addressed mount; NULL: it is an ordinary one. */
const char *digest_of(const struct msg_mount *);
