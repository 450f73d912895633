/* The id of a LangBot instance: ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$, as its own runtime has it. */
#pragma once

#include <stdbool.h>
#include <string.h>

enum { INSTANCE_LEN = 128 };

static inline bool
instance_is_valid(const char *id)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
	size_t            n = strlen(id);

	return n > 0 && n <= INSTANCE_LEN && strspn(id, good) == n && strchr("._:-", *id) == NULL;
}
