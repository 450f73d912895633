/* What a manifest lists, checked by the rules of sha256-tree-v1; every refusal is in LangBot's words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/err.h"

enum { SHA256_DIGITS = 64 };

struct manifest_file {
	char    *path; /* owned; relative and normal */
	char     sha256[SHA256_DIGITS + 1];
	uint64_t size;
	bool     executable;
};

struct manifest {
	struct manifest_file *v; /* owned; in the order of the manifest */
	size_t                n;
	size_t                dirs; /* directories they need, at most */
	uint64_t              bytes;
	char                  digest[LIM_DIGEST + 1]; /* of all this */
};

/* From JSON text; -1 and E_ARTIFACT.  manifest_clear is due in any case. */
int  manifest_read(struct manifest *, const char *text, size_t n, struct err *);
void manifest_clear(struct manifest *);

/* How many directories a path needs beyond those of the path before it. */
size_t manifest_new_dirs(const char *before, const char *path);
