/* The central directory of an archive is believed only where all of it fits together. */
#include "tap.h"
#include "workers/store/zip/zipdir.h"
#include "zipmake.h"

#define BROKEN "Uploaded file must be a valid .zip archive"

static const char *
seen(const struct buf *b)
{
	static char    out[4096];
	struct zip_dir d;
	struct err     e = { 0 };
	size_t         n = 0;

	if (zipdir_read(&d, (struct span){ b->len > 0 ? b->data : "", b->len }, &e) == -1)
		return strcmp(e.text, BROKEN) == 0 ? "broken" : "another error";
	out[0] = '\0';
	for (size_t i = 0; i < d.n && n < sizeof(out); i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s=%lu%s", i > 0 ? " " : "", d.v[i].name.p,
		    d.v[i].size, d.v[i].encrypted ? "!" : "");
	zipdir_clear(&d);
	return out;
}

static const char *
one(const struct zip_item *it)
{
	struct zipmake z = { 0 };
	struct buf     b = { 0 };

	zip_add(&z, it);
	zip_end(&z, "", &b);
	const char *r = seen(&b);
	buf_clear(&b);
	return r;
}

#define DATA .data = "hello", .n = 5

TEST(good)
{
	struct zipmake z = { 0 };
	struct buf     b = { 0 };

	zip_file(&z, "a/SKILL.md", "x");
	zip_file(&z, "b", "");
	zip_end(&z, "", &b);
	is(seen(&b), "a/SKILL.md=1 b=0", "two entries");
	zip_end(&z, "", &b);
	is(seen(&b), "", "an archive of nothing");
	zip_file(&z, "a", "x");
	zip_end(&z, "a comment", &b);
	is(seen(&b), "a=1", "a comment behind it");
	zip_honest(&b, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b/c", "d", NULL);
	is(seen(&b), "a=48 b/c=1", "one that libarchive made");
	buf_clear(&b);
	is(one(&(struct zip_item){ .name = "a", DATA, .zip64 = true }), "a=5", "sizes of 64 bits");
	is(one(&(struct zip_item){ .name = "a", DATA, .flags = 1 }), "a=5!", "an encrypted entry is told");
	is(one(&(struct zip_item){ .name = "a", DATA, .flags = 8, .local_size = 99 }), "a=5",
	    "sizes behind the data are not looked for in front");
	is(one(&(struct zip_item){ .name = "\x81\x84", DATA }), "\xc3\xbc\xc3\xa4=5", "names are of code page 437");
	is(one(&(struct zip_item){ .name = "\xc3\xbc", DATA, .flags = 1 << 11 }), "\xc3\xbc=5", "or of UTF-8");
	is(one(&(struct zip_item){ .name = "a", DATA, .size = 4000000000U, .local_size = 4000000000U }), "a=4000000000",
	    "a size is only told");
}

TEST(lies)
{
	is(one(&(struct zip_item){ .name = "\xff", DATA, .flags = 1 << 11 }), "broken", "UTF-8 that is none");
	is(one(&(struct zip_item){ .name = "abc", DATA, .local_name = "xyz" }), "broken", "another name in front");
	is(one(&(struct zip_item){ .name = "a", DATA, .local_size = 6 }), "broken", "another size in front");
	is(one(&(struct zip_item){ .name = "a", DATA, .packed = 600 }), "broken", "more bytes than there are");

	struct zipmake z = { 0 };
	struct buf     b = { 0 };
	zip_file(&z, "a", "hello");
	zip_add(&z, &(struct zip_item){ .name = "a", DATA, .at_first = true });
	zip_end(&z, "", &b);
	is(seen(&b), "broken", "two entries of the same bytes");
	buf_clear(&b);
}

/* Every archive that was cut anywhere, or in which one byte is another: read without harm. */
TEST(damage)
{
	struct buf b = { 0 }, part = { 0 };
	size_t     whole = 0;

	zip_honest(&b, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b", "c", NULL);
	for (size_t n = 0; n < b.len; n++) {
		buf_clear(&part);
		buf_append(&part, b.data, n);
		whole += strcmp(seen(&part), "broken") != 0;
	}
	cmp_ok(whole, "==", 0, "a truncated archive is none, wherever it was cut");
	for (size_t i = 0; i < b.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.data[i] = (char)(b.data[i] ^ 1 << bit);
			whole += strcmp(seen(&b), "another error") == 0;
			b.data[i] = (char)(b.data[i] ^ 1 << bit);
		}
	cmp_ok(whole, "==", 0, "and every single bit may be wrong");
	buf_append(&b, "x", 1);
	is(seen(&b), "broken", "something behind the end");
	buf_clear(&part);
	buf_append(&part, "MZ", 2);
	buf_append(&part, b.data, b.len - 1);
	is(seen(&part), "broken", "something in front of it");
	buf_clear(&part);
	buf_clear(&b);
}

/* A second end in the comment: readers that find another one would see another archive. */
TEST(two_ends)
{
	struct zipmake z = { 0 };
	struct buf     b = { 0 };

	zip_file(&z, "a", "x");
	zip_end(&z, "PK\005\006aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &b);
	is(seen(&b), "broken", "an end within the comment");
	buf_clear(&b);
}

TEST(many)
{
	struct zipmake z = { 0 };
	struct buf     b = { 0 };
	struct zip_dir d;
	struct err     e;
	char           name[16];

	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		zip_file(&z, name, "");
	}
	zip_end(&z, "", &b);
	cmp_ok(zipdir_read(&d, (struct span){ b.data, b.len }, &e), "==", 0, "600 entries are an archive");
	cmp_ok(d.n, "==", LIM_ZIP_ENTRIES + 1, "of which one more is kept than there may be");
	zipdir_clear(&d);
	b.data[b.len - 12]++;
	b.data[b.len - 14]++;
	cmp_ok(zipdir_read(&d, (struct span){ b.data, b.len }, &e), "==", -1, "another number than told is refused");
	buf_clear(&b);
}
