/*
 * Frontmatter of any bytes that are UTF-8.  What is read is valid text, and written again it reads back the same.
 */
#include "fuzz.h"
#include "workers/store/skills/front.h"

static int
same(const char *a, const char *b)
{
	return a == NULL || *a == '\0' ? b == NULL || *b == '\0' : b != NULL && strcmp(a, b) == 0;
}

static void
write_and_read(const struct front *f)
{
	struct buf   out = { 0 };
	struct front again;
	struct err   e;

	front_write(&out, (const char *const *)f->value, f->body);
	if (front_read(&again, (struct span){ out.data, out.len }, &e) == -1)
		abort();
	for (enum front_field i = 0; i < FRONT__COUNT; i++)
		if (f->value[0] != NULL && *f->value[0] != '\0' && !same(f->value[i], again.value[i]))
			abort();
	front_clear(&again);
	buf_clear(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct span  text = { (const char *)p, n };
	struct front f;
	struct err   e;

	if (n == 0 || !text_is_valid(text) || front_read(&f, text, &e) == -1)
		return 0;
	for (enum front_field i = 0; i < FRONT__COUNT; i++)
		if (f.value[i] != NULL && !text_is_valid(span_of(f.value[i])))
			abort();
	if (f.value[0] != NULL && *f.value[0] != '\0')
		write_and_read(&f);
	front_clear(&f);
	return 0;
}
