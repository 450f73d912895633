/*
 * A table of text: rows of cells, columns as wide as their widest cell.  Cells are
 * escaped for the terminal; a cell may be coloured when standard output is one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum colour { PLAIN, GREEN, YELLOW, RED };

struct table;

/* heads: NULL behind the last; borrowed.  NULL when there is no memory. */
struct table *table_open(const char *const *heads);

/* The next cell, row after row; "" is shown as "-". */
void table_cell(struct table *, enum colour, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void table_print(const struct table *);
void table_close(struct table **);

/* May standard output have colours?  Not off a terminal, nor with NO_COLOR. */
bool        colour_wanted(void);
const char *colour_on(enum colour);
const char *colour_off(enum colour);
