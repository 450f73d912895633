/*
 * The book of grants: for every workspace the numbers seen so far, which only rise, and the grant it has now, if any.
 * Pure: the caller passes the time, and acts on the result.
 */
#pragma once

#include "wire/msg.h"

struct book;

/* What the caller has to do after an upsert. */
enum grant_effect {
	GRANT_KEPT,     /* the active grant lives longer, and stays */
	GRANT_RENEWED,  /* every session but the canonical one must go */
	GRANT_REPLACED, /* every session must go */
};

/* The grant in force. */
struct grant {
	uint64_t generation, revision;
	uint64_t max_sessions, max_managed_processes;
	uint64_t expires_us;
};

struct book *book_open(struct err *);
void         book_close(struct book **);

size_t book_records(const struct book *);

/* Add a record that an earlier boxd has written down; -1: no memory. */
int book_remember(struct book *, const struct msg_admission_record *, struct err *);

/* Every record, for a journal that is made smaller; stops when fn returns -1. */
int book_each(const struct book *, int (*fn)(void *arg, const struct msg_admission_record *), void *arg);

/*
 * May this grant be installed?  The checks of time, policy, capacity, revision and generation in their order; nothing
 * is changed.  *record is what must be written down first, and *changed whether it differs from what is.
 */
int book_judge(const struct book *, const struct msg_box_policy *, uint64_t most_records, const struct msg_box_grant *,
    uint64_t now_us, struct msg_admission_record *record, bool *changed, struct err *);

/* Install a grant that book_judge accepted. */
int book_install(struct book *, const struct msg_box_grant *, uint64_t now_us, enum grant_effect *, struct err *);

/* The same for a revocation: judge, then revoke. */
int book_judge_revocation(const struct book *, uint64_t most_records, const struct msg_box_revoke_grant *,
    struct msg_admission_record *record, struct err *);
int book_revoke(struct book *, const struct msg_box_revoke_grant *, struct err *);

/* The grant of a workspace; NULL when there is none, or it has expired. */
const struct grant *book_grant(const struct book *, const struct msg_context *, uint64_t now_us);

/* When the next grant expires; UINT64_MAX: never. */
uint64_t book_next_expiry(const struct book *);

/* Remove one expired grant; *whose is its workspace, whose strings are the book's.  false: no grant has expired. */
bool book_expire(struct book *, uint64_t now_us, struct msg_context *);
