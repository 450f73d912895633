/*
 * Which session a conversation gets: a template such as {launcher_type}_{launcher_id}, written as Python's format
 * strings are.  A name that nobody knows is "unknown".
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define DEFAULT_TEMPLATE "{launcher_type}_{launcher_id}"

/* What a message is about; empty: not given.  Some stand in for others that are empty. */
struct template_values {
	const char *query_id;
	const char *launcher_type; /* person, group; without it: query */
	const char *launcher_id;   /* without it: query_id */
	const char *sender_id;     /* without it: launcher_id, or query_id */
	const char *conversation_id;
};

/* Append the result.  -1: the template is malformed, and the text says where. */
int template_expand(struct buf *, const char *template, const struct template_values *, struct err *);

/* Is it one?  For who only keeps it. */
int template_check(const char *template, struct err *);
