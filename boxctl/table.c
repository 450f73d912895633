#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

enum { GAP = 2 };

struct cell {
	char       *text; /* owned; escaped */
	size_t      columns;
	enum colour colour;
};

struct table {
	const char *const *heads;
	size_t             width; /* cells in a row */
	struct cell       *cells; /* owned */
	size_t             n, cap;
};

bool
colour_wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
}

const char *
colour_on(enum colour c)
{
	static const char *const codes[] = {
		[PLAIN] = "", [GREEN] = "\033[32m", [YELLOW] = "\033[33m", [RED] = "\033[31m"
	};

	return colour_wanted() ? codes[c] : "";
}

const char *
colour_off(enum colour c)
{
	return c != PLAIN && colour_wanted() ? "\033[0m" : "";
}

struct table *
table_open(const char *const *heads)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->heads = heads;
	while (heads[t->width] != NULL)
		t->width++;
	return t;
}

/* A cell that finds no memory is left out of sight, not out of its row. */
void
table_cell(struct table *t, enum colour colour, const char *fmt, ...)
{
	char    raw[4096];
	va_list ap;

	if (t->n == t->cap) {
		size_t       cap = t->cap ? t->cap * 2 : 64;
		struct cell *more = realloc(t->cells, cap * sizeof(*more));

		if (more == NULL)
			return;
		t->cells = more;
		t->cap = cap;
	}
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	struct buf  out = { 0 };
	const char *shown = raw[0] != '\0' ? raw : "-";
	size_t      columns = text_escape(&out, shown, strlen(shown));
	buf_append(&out, "", 1);
	t->cells[t->n++] = (struct cell){ out.data, columns, colour };
}

static size_t
column_width(const struct table *t, size_t column)
{
	size_t widest = strlen(t->heads[column]);

	for (size_t i = column; i < t->n; i += t->width)
		if (t->cells[i].columns > widest)
			widest = t->cells[i].columns;
	return widest;
}

/* The last column is not padded: no line ends in spaces. */
static void
print_cell(const char *text, size_t columns, size_t width, bool is_last, enum colour colour)
{
	printf("%s%s%s", colour_on(colour), text, colour_off(colour));
	printf("%*s", is_last ? 1 : (int)(width - columns + GAP), is_last ? "\n" : "");
}

void
table_print(const struct table *t)
{
	size_t *widths = calloc(t->width, sizeof(*widths));

	if (widths == NULL)
		return;
	for (size_t c = 0; c < t->width; c++)
		widths[c] = column_width(t, c);
	for (size_t c = 0; c < t->width; c++)
		print_cell(t->heads[c], strlen(t->heads[c]), widths[c], c + 1 == t->width, PLAIN);
	for (size_t i = 0; i < t->n; i++) {
		const struct cell *cell = &t->cells[i];
		size_t             c = i % t->width;

		print_cell(
		    cell->text != NULL ? cell->text : "", cell->columns, widths[c], c + 1 == t->width, cell->colour);
	}
	free(widths);
}

void
table_close(struct table **t)
{
	for (size_t i = 0; *t != NULL && i < (*t)->n; i++)
		free((*t)->cells[i].text);
	if (*t != NULL)
		free((*t)->cells);
	free(*t);
	*t = NULL;
}
