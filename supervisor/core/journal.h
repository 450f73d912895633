/*
 * A journal keeps what boxd must not forget: messages (FROM_FILE ones) in a file of the state directory, the newest
 * last.  Its owner replays it at the start, appends every change, and compacts it when it has grown long.  Records are
 * checked as strictly as any message; a last record that a crash has torn is dropped.
 *
 *	j = journal_open(dirs->state, "tenancy", on_record, t, e)    on_record once for each record
 *	journal_append(j, MSG_FENCE, &record, e)
 *	if (journal_is_long(j, count_of_what_lives))
 *		journal_compact(j, write_all, t, e)                  write_all appends to the new file
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "wire/msg.h"

struct journal;

/* One record: a notice and its body, valid during the call only.  -1 ends the replay. */
typedef int journal_replay_fn(void *arg, const struct msg *, struct err *);

/* Append everything that is still valid. */
typedef int journal_write_fn(void *arg, struct journal *, struct err *);

/* Opens or makes <state>/journal/<name>.  NULL: the text names the file. */
struct journal *journal_open(const char *state, const char *name, journal_replay_fn *, void *arg, struct err *);
void            journal_close(struct journal **);

/*
 * The kernel has the record when this returns: a crash of boxd loses nothing, a power cut perhaps the last seconds.
 * -1: nothing was written.
 */
int journal_append(struct journal *, enum msg_type, const void *body, struct err *);

/* Is it more than twice as long as what is still valid, and worth the work? */
bool journal_is_long(const struct journal *, size_t live);

/* The new one takes the place of the old when it is whole and on the disk; -1: the old one stays. */
int journal_compact(struct journal *, journal_write_fn *, void *arg, struct err *);
