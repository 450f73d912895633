#include "tap.h"

#include <regex.h>

enum { NAME = 512, SHOWN = 2000 };

static struct {
	int  planned; /* 0: told at the end */
	int  ran;
	int  failed;
	bool is_todo;
	char todo[NAME];
} tap;

static SLIST_HEAD(, tap_test) registered;

/* Constructors run in no order that we could rely on: the order is that of the lines. */
void
tap_add(struct tap_test *t)
{
	struct tap_test *before = NULL, *at;

	SLIST_FOREACH (at, &registered, next)
		if (at->line < t->line)
			before = at;
	if (before == NULL)
		SLIST_INSERT_HEAD(&registered, t, next);
	else
		SLIST_INSERT_AFTER(before, t, next);
}

void
run_tests(void)
{
	struct tap_test *t;

	SLIST_FOREACH (t, &registered, next)
		t->run();
}

/* Of a file that has no other. */
__attribute__((weak)) int
main(void)
{
	run_tests();
	return tap_done();
}

/* One comment line for each line of the text: a newline must not start a TAP line. */
static void
comment(FILE *out, const char *fmt, va_list ap)
{
	char text[4096];

	vsnprintf(text, sizeof(text), fmt, ap);
	fflush(stdout); /* keeps the two streams in order for a person */
	for (char *line = text; line != NULL;) {
		char *end = strchr(line, '\n');

		fprintf(out, "# %.*s\n", end ? (int)(end - line) : (int)strlen(line), line);
		line = end != NULL && end[1] != '\0' ? end + 1 : NULL;
	}
	fflush(out);
}

void
diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment(stderr, fmt, ap);
	va_end(ap);
}

void
note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment(stdout, fmt, ap);
	va_end(ap);
}

void
tap_plan(int tests, const char *why, ...)
{
	tap.planned = tests;
	if (tests == SKIP_ALL) {
		printf("1..0 # SKIP %s\n", why ? why : "");
		exit(0);
	}
	printf("1..%d\n", tests);
	fflush(stdout);
}

/* '#' starts a directive and a newline a new line: neither may come from a name. */
static void
clean_name(char *name)
{
	for (; *name != '\0'; name++)
		if (*name == '#' || (unsigned char)*name < ' ')
			*name = '_';
}

static bool
result(const char *file, int line, bool passed, const char *text, const char *fmt, va_list ap)
{
	char name[NAME];

	vsnprintf(name, sizeof(name), fmt + 1, ap);
	if (name[0] == '\0')
		snprintf(name, sizeof(name), "%s", text);
	clean_name(name);
	printf("%sok %d - %s%s%s\n", passed ? "" : "not ", ++tap.ran, name, tap.is_todo ? " # TODO " : "",
	    tap.is_todo ? tap.todo : "");
	fflush(stdout);
	if (!passed) {
		tap.failed += !tap.is_todo;
		diag("Failed test '%s' at %s:%d", name, file, line);
	}
	return passed;
}

bool
tap_ok(const char *file, int line, int cond, const char *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result(file, line, cond, text, fmt, ap);
	va_end(ap);
	return cond;
}

static bool
same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void
show(const char *label, const char *s)
{
	if (s == NULL)
		diag("%s NULL", label);
	else
		diag("%s '%.*s'", label, SHOWN, s);
}

bool
tap_is(const char *file, int line, const char *got, const char *want, const char *fmt, ...)
{
	bool    passed = same(got, want);
	va_list ap;

	va_start(ap, fmt);
	result(file, line, passed, "is", fmt, ap);
	va_end(ap);
	if (!passed) {
		show("     got:", got);
		show("expected:", want);
	}
	return passed;
}

bool
tap_isnt(const char *file, int line, const char *got, const char *want, const char *fmt, ...)
{
	bool    passed = !same(got, want);
	va_list ap;

	va_start(ap, fmt);
	result(file, line, passed, "isnt", fmt, ap);
	va_end(ap);
	if (!passed)
		show("got what it should not be:", got);
	return passed;
}

static bool
compare(long long a, const char *op, long long b)
{
	if (strcmp(op, "==") == 0)
		return a == b;
	if (strcmp(op, "!=") == 0)
		return a != b;
	if (strcmp(op, "<") == 0)
		return a < b;
	if (strcmp(op, "<=") == 0)
		return a <= b;
	if (strcmp(op, ">") == 0)
		return a > b;
	if (strcmp(op, ">=") == 0)
		return a >= b;
	if (strcmp(op, "&") == 0)
		return (a & b) != 0;
	tap_bail(" cmp_ok knows no operator '%s'", op);
}

bool
tap_cmp(const char *file, int line, long long a, const char *op, long long b, const char *fmt, ...)
{
	bool    passed = compare(a, op, b);
	va_list ap;

	va_start(ap, fmt);
	result(file, line, passed, "cmp_ok", fmt, ap);
	va_end(ap);
	if (!passed)
		diag("     got: %lld\nexpected: %s %lld", a, op, b);
	return passed;
}

bool
tap_mem(const char *file, int line, const void *got, const void *want, size_t n, const char *fmt, ...)
{
	const unsigned char *a = got, *b = want;
	size_t               at = 0;
	va_list              ap;

	while (at < n && a != NULL && b != NULL && a[at] == b[at])
		at++;
	va_start(ap, fmt);
	result(file, line, at == n, "cmp_mem", fmt, ap);
	va_end(ap);
	if (at < n && (a == NULL || b == NULL))
		diag("     got: %s\nexpected: %s", a ? "bytes" : "NULL", b ? "bytes" : "NULL");
	else if (at < n)
		diag("byte %zu of %zu\n     got: 0x%02x\nexpected: 0x%02x", at, n, a[at], b[at]);
	return at == n;
}

bool
tap_like(const char *file, int line, int wanted, const char *got, const char *regex, const char *fmt, ...)
{
	regex_t re;
	va_list ap;

	if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB) != 0)
		tap_bail(" not a regular expression: %s", regex);
	bool matches = got != NULL && regexec(&re, got, 0, NULL, 0) == 0;
	regfree(&re);
	bool passed = got != NULL && matches == (wanted != 0);
	va_start(ap, fmt);
	result(file, line, passed, "like", fmt, ap);
	va_end(ap);
	if (!passed) {
		show(wanted ? "            got:" : "         got:", got);
		diag(wanted ? "does not match: '%s'" : "but matches: '%s'", regex);
	}
	return passed;
}

void
tap_skip(int n, const char *fmt, ...)
{
	char    why[NAME];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt + 1, ap);
	va_end(ap);
	while (n-- > 0)
		printf("ok %d # SKIP %s\n", ++tap.ran, why);
	fflush(stdout);
}

void
tap_todo(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tap.todo, sizeof(tap.todo), fmt + 1, ap);
	va_end(ap);
	tap.is_todo = true;
}

void
tap_todo_over(void)
{
	tap.is_todo = false;
}

void
tap_bail(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_Exit(255);
}

static int
exit_status(void)
{
	bool short_of_plan = tap.planned > 0 && tap.ran != tap.planned;

	if (short_of_plan)
		diag("Looks like you planned %d tests but ran %d.", tap.planned, tap.ran);
	if (tap.failed > 0)
		diag("Looks like you failed %d of %d.", tap.failed, tap.ran);
	return tap.failed > 0 || short_of_plan || tap.ran == 0;
}

int
tap_done(void)
{
	if (tap.planned <= 0)
		printf("1..%d\n", tap.ran);
	fflush(stdout);
	return exit_status();
}
