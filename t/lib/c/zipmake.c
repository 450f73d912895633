#include "zipmake.h"

#include <archive.h>
#include <archive_entry.h>

#include "tap.h"

static void
put(struct buf *b, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, v >>= 8)
		buf_append(b, &(char){ (char)(v & 0xff) }, 1);
}

static uint32_t
crc32_of(const char *p, size_t n)
{
	uint32_t c = ~0U;

	for (size_t i = 0; i < n; i++) {
		c ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320U : 0);
	}
	return ~c;
}

/* What both headers have: version, flags, method, time, crc, sizes, name's length. */
static void
put_common(struct buf *b, const struct zip_item *it, uint32_t size, size_t name_n)
{
	uint32_t packed = it->packed != 0 ? it->packed : (uint32_t)it->n;

	put(b, 20, 2);
	put(b, it->flags, 2);
	put(b, it->method, 2);
	put(b, 0, 4);
	put(b, crc32_of(it->data, it->n) + it->wrong_crc, 4);
	put(b, it->zip64 ? UINT32_MAX : packed, 4);
	put(b, it->zip64 ? UINT32_MAX : size, 4);
	put(b, name_n, 2);
	put(b, it->zip64 ? 20 : 0, 2);
}

static void
put_extra(struct buf *b, const struct zip_item *it, uint32_t size)
{
	if (!it->zip64)
		return;
	put(b, 1, 2);
	put(b, 16, 2);
	put(b, size, 8);
	put(b, it->packed != 0 ? it->packed : it->n, 8);
}

void
zip_add(struct zipmake *z, const struct zip_item *it)
{
	size_t      name_n = it->name_n != 0 ? it->name_n : strlen(it->name);
	uint32_t    size = it->size != 0 ? it->size : (uint32_t)it->n, offset = (uint32_t)z->local.len;
	const char *local_name = it->local_name != NULL ? it->local_name : it->name;

	if (!it->at_first) {
		put(&z->local, 0x04034b50, 4);
		put_common(&z->local, it, it->local_size != 0 ? it->local_size : size, name_n);
		buf_append(&z->local, local_name, name_n);
		put_extra(&z->local, it, size);
		buf_append(&z->local, it->data, it->n);
	}
	put(&z->central, 0x02014b50, 4);
	put(&z->central, 0x0314, 2);
	put_common(&z->central, it, size, name_n);
	put(&z->central, 0, 2 + 2 + 2);
	put(&z->central, (uint64_t)it->mode << 16, 4);
	put(&z->central, it->at_first ? 0 : offset, 4);
	buf_append(&z->central, it->name, name_n);
	put_extra(&z->central, it, size);
	z->n++;
}

void
zip_file(struct zipmake *z, const char *name, const char *data)
{
	zip_add(z, &(struct zip_item){ .name = name, .data = data, .n = strlen(data) });
}

void
zip_end(struct zipmake *z, const char *comment, struct buf *out)
{
	size_t at = z->local.len;

	buf_clear(out);
	buf_append(out, z->local.len > 0 ? z->local.data : "", at);
	buf_append(out, z->central.len > 0 ? z->central.data : "", z->central.len);
	put(out, 0x06054b50, 4);
	put(out, 0, 4);
	put(out, z->n, 2);
	put(out, z->n, 2);
	put(out, z->central.len, 4);
	put(out, at, 4);
	put(out, strlen(comment), 2);
	buf_append(out, comment, strlen(comment));
	buf_clear(&z->local);
	buf_clear(&z->central);
	z->n = 0;
}

static void
honest_file(struct archive *a, const char *name, const char *data)
{
	struct archive_entry *en = archive_entry_new();

	archive_entry_set_pathname(en, name);
	archive_entry_set_filetype(en, AE_IFREG);
	archive_entry_set_perm(en, 0644);
	archive_entry_set_size(en, (la_int64_t)strlen(data));
	must(archive_write_header(a, en) == ARCHIVE_OK && archive_write_data(a, data, strlen(data)) >= 0, "%s",
	    archive_error_string(a));
	archive_entry_free(en);
}

static la_ssize_t
collect(struct archive *a, void *arg, const void *p, size_t n)
{
	buf_append(arg, p, n);
	return (la_ssize_t)n;
}

void
zip_honest(struct buf *out, const char *name, ...)
{
	struct archive *a = archive_write_new();
	va_list         ap;

	buf_clear(out);
	archive_write_set_format_zip(a);
	archive_write_set_bytes_in_last_block(a, 1);
	archive_write_open(a, out, NULL, collect, NULL);
	va_start(ap, name);
	for (; name != NULL; name = va_arg(ap, const char *))
		honest_file(a, name, va_arg(ap, const char *));
	va_end(ap);
	archive_write_close(a);
	archive_write_free(a);
}
