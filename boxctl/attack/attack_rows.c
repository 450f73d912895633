#include "attack/attack_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

enum {
	ROWS = 4096, /* far more than there are attacks: a program that reports more is not box-attack */
	DETAIL = 1024,
};

static const char *const names[] = { [ATTACK_HELD] = "held", [ATTACK_OPEN] = "open", [ATTACK_SKIPPED] = "skipped" };

static const enum colour colours[] = { [ATTACK_HELD] = GREEN, [ATTACK_OPEN] = RED, [ATTACK_SKIPPED] = YELLOW };

void
rows_clear(struct attack_rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].name);
		free(r->v[i].detail);
	}
	for (size_t i = 0; i < r->listed_n; i++) {
		free(r->listed[i].kind);
		free(r->listed[i].name);
		free(r->listed[i].means);
	}
	free(r->v);
	free(r->listed);
	*r = (struct attack_rows){ 0 };
}

static size_t
count(const struct attack_rows *r, enum attack_result result)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].result == result;
	return n;
}

/* ---- taking them in ---- */

static struct attack_row *
row_named(struct attack_rows *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].name, name) == 0)
			return &r->v[i];
	if (r->n >= ROWS)
		return NULL;
	struct attack_row *more = realloc(r->v, (r->n + 1) * sizeof(*more));
	if (more == NULL)
		return NULL;
	r->v = more;
	r->v[r->n] = (struct attack_row){ strdup(name), strdup(""), ATTACK_SKIPPED };
	if (r->v[r->n].name == NULL || r->v[r->n].detail == NULL) {
		free(r->v[r->n].name);
		free(r->v[r->n].detail);
		return NULL;
	}
	return &r->v[r->n++];
}

bool
rows_has(const struct attack_rows *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].name, name) == 0)
			return true;
	return false;
}

/* On one line that is written over; the names are ours, but came through a sandbox. */
static void
show_progress(const struct attack_rows *r, const char *name)
{
	if (r->shows_progress)
		fprintf(stderr, "\r\033[K%zu attacks, %zu open: %s", r->n, count(r, ATTACK_OPEN), text_safe(name));
}

void
rows_end_progress(const struct attack_rows *r)
{
	if (r->shows_progress)
		fprintf(stderr, "\r\033[K");
}

/* ---- printing them as they come ---- */

/* Nobody reads the rest: stop, and clean up. */
static void
check_output(struct attack_rows *r)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || r->lost != 0)
		return;
	r->lost = errno;
	if (r->stop->count++ == 0)
		r->stop->signal = SIGPIPE;
}

/* Results are as wide as "skipped"; names that are not listed are boxctl's own, and short. */
static void
print_cells(const struct attack_rows *r, const char *name, enum colour colour, const char *result, const char *detail)
{
	size_t width = strlen("boxctl.closed-stdout");

	for (size_t i = 0; i < r->listed_n; i++)
		if (strlen(r->listed[i].name) > width)
			width = strlen(r->listed[i].name);
	printf("%-*s  %s%-7s%s  %s\n", (int)width, text_safe(name), colour_on(colour), result, colour_off(colour),
	    detail[0] != '\0' ? text_safe(detail) : "-");
}

static void
print_row(struct attack_rows *r, const struct attack_row *row)
{
	if (!r->prints_rows)
		return;
	rows_end_progress(r);
	print_cells(r, row->name, colours[row->result], names[row->result], row->detail);
	check_output(r);
}

void
rows_begin(struct attack_rows *r, bool json, struct interrupt *stop)
{
	r->stop = stop;
	r->prints_rows = !json;
	r->shows_progress = isatty(STDERR_FILENO) && (json || !isatty(STDOUT_FILENO));
	if (json)
		return;
	print_cells(r, "ATTACK", PLAIN, "RESULT", "DETAIL");
	check_output(r);
}

void
rows_add(struct attack_rows *r, const char *name, enum attack_result result, const char *fmt, ...)
{
	char               text[DETAIL];
	va_list            ap;
	size_t             before = r->n;
	struct attack_row *row = row_named(r, name);

	if (row == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->n == before && row->result == ATTACK_OPEN)
		return;
	char *detail = strdup(text);
	if (detail == NULL)
		return;
	free(row->detail);
	row->detail = detail;
	row->result = result;
	print_row(r, row);
	show_progress(r, name);
}

/* Cut a copy of a line at its first two tabs. */
static bool
split(char *line, char *parts[3])
{
	for (int i = 0; i < 3; i++) {
		parts[i] = line;
		line = i < 2 && line != NULL ? strchr(line, '\t') : NULL;
		if (line == NULL)
			return i == 2;
		*line++ = '\0';
	}
	return true;
}

bool
rows_take_line(struct attack_rows *r, const char *line, long *end)
{
	char *copy, *parts[3];
	bool  is_row = false;

	if (strncmp(line, "end\t", 4) == 0) {
		*end = strtol(line + 4, NULL, 10);
		return true;
	}
	if ((copy = strdup(line)) == NULL)
		return false;
	if (split(copy, parts) && parts[1][0] != '\0')
		for (int i = ATTACK_HELD; i <= ATTACK_SKIPPED; i++)
			if (strcmp(parts[0], names[i]) == 0) {
				rows_add(r, parts[1], (enum attack_result)i, "%s", parts[2]);
				is_row = true;
			}
	free(copy);
	return is_row;
}

bool
rows_take_entry(struct attack_rows *r, const char *line)
{
	char *copy = strdup(line), *parts[3];

	if (copy == NULL || !split(copy, parts) || r->listed_n >= ROWS) {
		free(copy);
		return false;
	}
	struct attack_entry *more = realloc(r->listed, (r->listed_n + 1) * sizeof(*more));
	if (more == NULL) {
		free(copy);
		return false;
	}
	r->listed = more;
	r->listed[r->listed_n++] = (struct attack_entry){ strdup(parts[0]), strdup(parts[1]), strdup(parts[2]) };
	free(copy);
	const struct attack_entry *last = &r->listed[r->listed_n - 1];
	return last->kind != NULL && last->name != NULL && last->means != NULL;
}

/* ---- giving them out ---- */

static const char *
means(const struct attack_rows *r, const char *name)
{
	for (size_t i = 0; i < r->listed_n; i++)
		if (strcmp(r->listed[i].name, name) == 0)
			return r->listed[i].means;
	return "";
}

static void
print_sum(const struct attack_rows *r)
{
	printf("\n%zu attacks: %zu held, %zu open, %zu skipped\n", r->n, count(r, ATTACK_HELD), count(r, ATTACK_OPEN),
	    count(r, ATTACK_SKIPPED));
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].result == ATTACK_OPEN)
			printf("open: %s: %s\n", text_safe(r->v[i].name), text_safe(means(r, r->v[i].name)));
}

static void
print_json(const struct attack_rows *r, const struct msg_isolation *isolation)
{
	json_t *o = json_object(), *all = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_t *row = json_object();

		json_object_set_new(row, "name", render_json_string(r->v[i].name));
		json_object_set_new(row, "result", json_string(names[r->v[i].result]));
		json_object_set_new(row, "detail", render_json_string(r->v[i].detail));
		json_object_set_new(row, "means", render_json_string(means(r, r->v[i].name)));
		json_array_append_new(all, row);
	}
	json_object_set_new(o, "attacks", all);
	for (int i = ATTACK_HELD; i <= ATTACK_SKIPPED; i++)
		json_object_set_new(o, names[i], json_integer((json_int_t)count(r, (enum attack_result)i)));
	json_object_set_new(o, "isolation", render_json(MSG_ISOLATION, isolation));
	render_print_json(o);
}

int
rows_end(const struct attack_rows *r, bool json, const struct msg_isolation *isolation)
{
	if (json)
		print_json(r, isolation);
	else
		print_sum(r);
	return count(r, ATTACK_OPEN) > 0 ? EXIT_REFUSED : EXIT_OK;
}
