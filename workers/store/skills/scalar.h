/*
 * What a YAML 1.1 scalar is, and how Python prints it: as yaml.safe_load() and str() do it together, so that
 * "yes" is True and 0x10 is 16.
 */
#pragma once

#include "skills/text.h"

enum scalar {
	SCALAR_STR,
	SCALAR_NULL,
	SCALAR_BOOL,
	SCALAR_INT,
	SCALAR_FLOAT,
	SCALAR_TIME,
	SCALAR_MERGE, /* << */
	SCALAR_VALUE, /* =, which PyYAML knows and cannot make anything of */
};

/* By its looks, when it is plain and has no tag. */
enum scalar scalar_kind(struct span);

/* Append str() of it; *truthy as bool() has it.  false: Python would raise an error instead. */
bool scalar_print(enum scalar, struct span, struct buf *, bool *truthy);
