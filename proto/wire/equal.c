/* Are two values of a field the same?  The tables say how; nothing is printed for it. */
#include <string.h>

#include "wire/msg.h"

static bool
same_strs(const struct strs *a, const struct strs *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->v[i], b->v[i]) == 0;
	return same;
}

static bool
same_list(const struct field *f, const void *at, const void *bt)
{
	size_t      size = msg_def(f->sub)->size;
	struct list a, b;

	memcpy(&a, at, sizeof(a));
	memcpy(&b, bt, sizeof(b));
	bool same = a.n == b.n;
	for (size_t i = 0; same && i < a.n; i++)
		same = msg_equal(f->sub, (const char *)a.v + i * size, (const char *)b.v + i * size);
	return same;
}

bool
field_equal(const struct field *f, const void *a, const void *b)
{
	a = (const char *)a + f->offset;
	b = (const char *)b + f->offset;
	switch (f->kind) {
	case K_U64:
	case K_I64:
		return memcmp(a, b, sizeof(uint64_t)) == 0;
	case K_F64:
		return *(const double *)a == *(const double *)b;
	case K_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case K_ENUM:
		return memcmp(a, b, sizeof(int)) == 0;
	case K_STR:
		return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
	case K_STRS:
		return same_strs(a, b);
	case K_OBJ:
		return msg_equal(f->sub, a, b);
	case K_LIST:
		return same_list(f, a, b);
	case K_PAIRS:
	case K_BLOB:
	case K_FD:
	case K_LAX:
		break; /* nothing that is compared has one */
	}
	return false;
}

bool
msg_equal(enum msg_type t, const void *a, const void *b)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (!field_equal(f, a, b))
			return false;
	return true;
}
