/*
 * Lists of rules: the operator's file with a section for each profile, or a client's own.
 *
 *	allow packages.example.org port 443		for all sessions
 *	deny all
 *	[network_extended]		for those of this profile, before what all get
 *	allow *.example.org
 */
#pragma once

#include <stdbool.h>

#include "wire/msg.h"

struct netrules;

/* "": an empty list.  NULL: the text is "file:line: what is wrong". */
struct netrules *netrules_read(const char *path, struct err *);

/* A client's; NULL: the text names the field and the rule. */
struct netrules *netrules_of(const struct strs *, struct err *);

void netrules_free(struct netrules **);

const char *netrules_file(const struct netrules *);
size_t      netrules_count(const struct netrules *);

/* Each section's, with what all get behind it; the first is for those without a section.  Lent. */
const struct msg_net_set *netrules_sets(const struct netrules *, size_t *n);

/* Of this name, or the first; never NULL. */
const struct msg_net_set *netrules_set(const struct netrules *, const char *name);
bool                      netrules_has(const struct netrules *, const char *name);

/* Networks that a set opens by address, as text; NULL without memory.  To be freed in one piece. */
struct strs *netrules_opened(const struct msg_net_set *);
