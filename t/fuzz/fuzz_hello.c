/*
 * What a connection says it is for, in any bytes: a name is one that rules know, an end leaves nothing open, and what
 * was understood of a beginning is not understood otherwise when more has come.  The first byte chooses the beginning.
 */
#include <ctype.h>

#include "fuzz.h"
#include "workers/egress/dns/requests.h"
#include "workers/egress/flow/hello.h"

static void
must_be_name(const char *name)
{
	size_t n = strlen(name);

	must(n > 0 && n <= LIM_DNS_NAME && name[n - 1] != '\0');
	for (size_t i = 0; i < n; i++)
		must(islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) ||
		     strchr("-_.", name[i]) != NULL);
}

/* In a copy that ends where the bytes end. */
static enum said
look(struct hello *h, const uint8_t *p, size_t n, bool over, char *name)
{
	char *copy = malloc(n > 0 ? n : 1);

	memcpy(copy, p, n);
	struct head head;
	enum said   said = hello_look(h, copy, n, over, &head, name);
	must(head.bytes <= n);
	free(copy);
	if (said == SAID_NAME)
		must_be_name(name);
	must(!over || said != SAID_MORE);
	return said;
}

/*
 * Requests, seen in steps and passed in steps of another size: the same bytes pass, for the same names, as when all are
 * seen and passed at once.
 */
static size_t
follow(const uint8_t *p, size_t n, size_t step, size_t most, uint64_t *names)
{
	struct requests r = { .first = true };
	size_t          at = 0, seen = 0;
	enum said       said;
	char            name[LIM_DNS_NAME + 1];

	for (;;) {
		char *copy = malloc(n + 1);
		memcpy(copy, p + at, seen - at);
		size_t pass = at < seen ? requests_look(&r, copy, seen - at, &said, name) : 0;
		must(pass <= seen - at);
		if (pass > 0 && said == SAID_NAME)
			for (const char *c = name; *c != '\0'; c++)
				*names = *names * 31 + (uint8_t)*c;
		if (pass > most)
			pass = most;
		if (pass > 0)
			requests_passed(&r, copy, seen - at, pass);
		free(copy);
		at += pass;
		if (pass > 0)
			continue;
		if ((at < seen && said != SAID_MORE) || seen == n)
			return at;
		seen = n - seen < step ? n : seen + step;
	}
}

static void
must_follow(const uint8_t *p, size_t n, size_t step)
{
	uint64_t whole = 0, parts = 0;

	must(follow(p, n, n, n, &whole) == follow(p, n, step, 1 + step / 2, &parts) && whole == parts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct hello *hello;
	struct err           e;
	char                 first[LIM_DNS_NAME + 1], whole[LIM_DNS_NAME + 1];

	if (hello == NULL && (hello = hello_open(&e)) == NULL)
		abort();
	if (n < 2)
		return 0;
	size_t    part = (n - 1) * p[0] / 255;
	enum said a = look(hello, p + 1, part, false, first), b = look(hello, p + 1, n - 1, false, whole);
	if (a == SAID_NAME)
		must(b == SAID_NAME && strcmp(first, whole) == 0);
	else
		must(a == SAID_MORE || a == b);
	look(hello, p + 1, n - 1, true, whole);
	must_follow(p + 1, n - 1, 1 + p[0] % 64);
	return 0;
}
