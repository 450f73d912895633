/*
 * What came of the attacks: rows that box-attack reports and rows that we find ourselves, in the order in which they came.
 * The table is printed row by row as they come; JSON is one document at the end.
 */
#pragma once

#include "interrupt.h"
#include "wire/msg.h"

enum attack_result { ATTACK_HELD, ATTACK_OPEN, ATTACK_SKIPPED };

struct attack_row {
	char              *name; /* owned, like the others */
	char              *detail;
	enum attack_result result;
};

/* What box-attack --list prints of each. */
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
	bool                 prints_rows;    /* on standard output, likewise */
	int                  lost;           /* errno of standard output, when a row could not be printed */
	struct interrupt    *stop;           /* borrowed; a row that is lost stops the attacks, as a signal would */
};

void rows_clear(struct attack_rows *);

/* An attack of that name has ended; one that was there already gets worse, never better, and is printed again. */
void rows_add(struct attack_rows *, const char *name, enum attack_result, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A line of box-attack's output; false if it is not a row.  *end: set by the last line, to its number. */
bool rows_take_line(struct attack_rows *, const char *line, long *end);

/* A line of box-attack --list. */
bool rows_take_entry(struct attack_rows *, const char *line);

/* Has this attack a row yet? */
bool rows_has(const struct attack_rows *, const char *name);

/* All attacks are listed.  The table begins, unless json is asked for. */
void rows_begin(struct attack_rows *, bool json, struct interrupt *stop);

/* What stands on the line of progress is wiped out. */
void rows_end_progress(const struct attack_rows *);

/* The sum, or all as JSON; the exit code: is any open? */
int rows_end(const struct attack_rows *, bool json, const struct msg_isolation *);
