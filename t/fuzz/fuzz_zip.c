/* Any bytes as an archive: what is told of its entries is within it. */
#include "fuzz.h"
#include "workers/store/zip/zipdir.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct zip_dir d;
	struct err     e;

	if (n == 0 || zipdir_read(&d, (struct span){ (const char *)p, n }, &e) == -1)
		return 0;
	for (size_t i = 0; i < d.n; i++)
		if (d.v[i].offset >= n || d.v[i].end > n || d.v[i].packed > n || !text_is_valid(d.v[i].name))
			abort();
	zipdir_clear(&d);
	return 0;
}
