#include "skills/names.h"

#include <stdlib.h>
#include <string.h>

int
names_add(struct names *names, const char *name)
{
	char **more = reallocarray(names->v, names->n + 1, sizeof(*more));

	if (more == NULL)
		return -1;
	names->v = more;
	if ((more[names->n] = strdup(name)) == NULL)
		return -1;
	names->n++;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
names_sort(struct names *names)
{
	if (names->n > 0)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
}

void
names_clear(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
	*names = (struct names){ 0 };
}
