/* What a session may be: names, defaults, and what "the same spec" means. */
#pragma once

#include "config/config.h"

int policy_check_name(const char *, struct err *);

/* Eight random characters. */
void policy_make_name(char name[LIM_NAME + 1]);

/* Fill in the configured defaults and check what the field table cannot. */
int policy_fill_spec(struct msg_spec *, const struct config *, struct err *);

/* What its network is here. */
enum net_mode policy_net_mode(const struct msg_spec *, const struct config *);

/* Where its private workspace goes; auto: to a disk, whichever way works. */
enum backend policy_backend(const struct msg_spec *, const struct config *);

/* Sizes of what counts as memory, within what the session has. */
uint64_t policy_tmp_mb(const struct msg_spec *, const struct config *);
uint64_t policy_overlay_mb(const struct msg_spec *, const struct config *);

/* A field of a spec for a person; a list of names with commas between. */
void policy_value_text(const struct field *, const void *at, char *out, size_t size);

/* -1: a conflict that names the first field that differs. */
int policy_compare(const char *name, const struct msg_spec *have, const struct msg_spec *want, struct err *);
