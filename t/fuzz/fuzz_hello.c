/*
 * What a connection says it is for, in any bytes: a name is one that rules know, an end leaves nothing open, and what
 * was understood of a beginning is not understood otherwise when more has come.  The first byte chooses the beginning.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../workers/egress/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

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
	enum said said = hello_look(h, copy, n, over, name);
	free(copy);
	if (said == SAID_NAME)
		must_be_name(name);
	must(!over || said != SAID_MORE);
	return said;
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
	return 0;
}
