/*
 * What came of the attacks: rows as box-attack tells them and as we find ourselves, in the order in which they came,
 * and their verdict as a table, as JSON and as an exit code.
 */
#ifndef BOXCTL_ATTACK_ROWS_H
#define BOXCTL_ATTACK_ROWS_H

#include "msg.h"

enum attack_result { ATTACK_HELD, ATTACK_OPEN, ATTACK_SKIPPED };

struct attack_row {
	char              *name; /* owned, like the others */
	char              *detail;
	enum attack_result result;
};

/* What box-attack --list tells of each. */
struct attack_entry {
	char *kind;
	char *name;
	char *means;
};

struct attack_rows {
	struct attack_row   *v; /* owned */
	size_t               n;
	struct attack_entry *listed; /* owned */
	size_t               listed_n;
	bool                 shows_progress; /* on standard error, while they come in */
};

void rows_clear(struct attack_rows *);

/* An attack of that name has ended; one that was there already gets worse, never better. */
void rows_add(struct attack_rows *, const char *name, enum attack_result, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A line of box-attack's output; false when it is none.  *end: set by its last line, to the number it tells. */
bool rows_take_line(struct attack_rows *, const char *line, long *end);

/* A line of box-attack --list. */
bool rows_take_entry(struct attack_rows *, const char *line);

/* What stands on the line of progress is wiped out. */
void rows_end_progress(const struct attack_rows *);

/* To standard output; the exit code: is any open? */
int rows_print(const struct attack_rows *, bool json, const struct msg_isolation *);

#endif
