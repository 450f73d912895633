/* Any bytes as a manifest.  What is taken has safe paths, as many as are allowed, and the sum of their sizes. */
#include "fuzz.h"
#include "workers/artifact/manifest.h"

static void
check_path(const char *path)
{
	char with[8];

	if (*path == '\0' || *path == '/' || path[strlen(path) - 1] == '/' || strstr(path, "//") != NULL ||
	    strchr(path, '\\') != NULL || strlen(path) > LIM_ARTIFACT_MANIFEST)
		abort();
	memcpy(with, "/../", 5);
	if (strcmp(path, "..") == 0 || strcmp(path, ".") == 0 || strncmp(path, "../", 3) == 0 ||
	    strncmp(path, "./", 2) == 0 || strstr(path, with) != NULL || strstr(path, "/./") != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct manifest m;
	struct err      e;
	uint64_t        sum = 0;

	if (manifest_read(&m, (const char *)p, n, &e) == 0) {
		if (m.n > LIM_ARTIFACT_FILES || m.dirs > LIM_ARTIFACT_DIRS || strlen(m.digest) != LIM_DIGEST)
			abort();
		for (size_t i = 0; i < m.n; i++) {
			check_path(m.v[i].path);
			sum += m.v[i].size;
		}
		if (sum != m.bytes || sum > LIM_ARTIFACT_BYTES)
			abort();
	} else if (e.text[0] == '\0')
		abort();
	manifest_clear(&m);
	return 0;
}
