/* A list of file names. */
#pragma once

#include <stddef.h>

struct names {
	char **v; /* owned, and each */
	size_t n;
};

/* A copy; -1: no memory. */
int  names_add(struct names *, const char *);
void names_sort(struct names *); /* by code point, as UTF-8 sorts itself */
void names_clear(struct names *);
