/*
 * A file's chunks come one after the other, each once, and all name the same number of chunks.  A chunk out of order
 * changes nothing; one that makes the file too long ends the upload.
 */
#include "langbot/uploads.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/memfd.h"
#include "langbot/coerce.h"
#include "langbot/json.h"
#include "python/pystr.h"

enum { KEY_MOST = 255 };

struct upload {
	TAILQ_ENTRY(upload) next;
	char     key[KEY_MOST + 1];
	int      fd; /* owned */
	uint64_t size;
	uint64_t chunks, amount; /* that have come, and all */
};

struct chunk {
	const char           *key;
	size_t                key_len;
	const msgpack_object *base64;
	wide                  index, amount;
	bool                  has_length; /* the client said how long the file is */
	wide                  length;
	unsigned char         bytes[LIM_UPLOAD_CHUNK + 3]; /* the padding is decoded too */
	size_t                n;
	const char *class; /* of the refusal, static */
	struct buf *why;   /* borrowed: its text */
};

void
uploads_init(struct uploads *u, size_t *total, uint64_t most)
{
	*u = (struct uploads){ .total = total, .most = most < LIM_UPLOAD ? most : LIM_UPLOAD };
	TAILQ_INIT(&u->all);
}

static void
forget(struct uploads *u, struct upload *f)
{
	assert(u->n > 0 && *u->total >= LIM_UPLOAD_COST + f->size);
	TAILQ_REMOVE(&u->all, f, next);
	u->n--;
	*u->total -= LIM_UPLOAD_COST + f->size;
	fd_close(&f->fd);
	free(f);
}

void
uploads_clear(struct uploads *u)
{
	struct upload *f;

	while ((f = TAILQ_FIRST(&u->all)) != NULL)
		forget(u, f);
}

static struct upload *
find(struct uploads *u, const char *key, size_t n)
{
	struct upload *f;

	TAILQ_FOREACH (f, &u->all, next)
		if (strlen(f->key) == n && memcmp(f->key, key, n) == 0)
			return f;
	return NULL;
}

/* ---- what a chunk says ------------------------------------------------------------ */

static int
refuse(struct chunk *c, const char *class, const char *text)
{
	c->class = class;
	buf_printf(c->why, "%s", text);
	return -1;
}

static bool
is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_key(const char *p, size_t n)
{
	if (n == 0 || n > KEY_MOST || !is_alnum(p[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((!is_alnum(p[i]) && p[i] != '.' && p[i] != '_' && p[i] != '-') ||
		    (p[i] == '.' && i + 1 < n && p[i + 1] == '.'))
			return false;
	return true;
}

static int
read_key(struct chunk *c, const msgpack_object *data)
{
	const msgpack_object *o = json_get(data, "file_key");

	if (o == NULL)
		return refuse(c, "KeyError", "'file_key'");
	if (o->type != MSGPACK_OBJECT_STR || !is_key(o->via.str.ptr, o->via.str.size))
		return refuse(c, "ValueError", "Invalid file transfer key");
	c->key = o->via.str.ptr;
	c->key_len = o->via.str.size;
	return 0;
}

static int
read_place(struct chunk *c, const msgpack_object *data)
{
	static const char *const names[] = { "chunk_base64", "chunk_index", "chunk_amount" };
	const msgpack_object    *given[3];

	for (int i = 0; i < 3; i++)
		if ((given[i] = json_get(data, names[i])) == NULL) {
			buf_printf(c->why, "'%s'", names[i]);
			c->class = "KeyError";
			return -1;
		}
	c->base64 = given[0];
	if (c->base64->type != MSGPACK_OBJECT_STR ||
	    py_len(c->base64->via.str.ptr, c->base64->via.str.size) > (LIM_UPLOAD_CHUNK + 2) / 3 * 4)
		return refuse(c, "ValueError", "File transfer chunk exceeds the protocol limit");
	if (!strict_int(given[1], &c->index) || !strict_int(given[2], &c->amount) || c->amount <= 0 || c->index < 0 ||
	    c->index >= c->amount)
		return refuse(c, "ValueError", "Invalid file chunk position");
	const msgpack_object *length = json_get(data, "file_length");
	c->has_length = length != NULL && strict_int(length, &c->length);
	return 0;
}

/* Strict, as Python's validate=True: OpenSSL alone would skip blanks. */
static int
read_bytes(struct chunk *c)
{
	static const char         alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const msgpack_object_str *s = &c->base64->via.str;
	size_t                    n = s->size, padding = 0;

	while (padding < 2 && padding < n && s->ptr[n - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < n - padding; i++)
		if (memchr(alphabet, s->ptr[i], sizeof(alphabet) - 1) == NULL)
			return refuse(c, "Error", "Only base64 data is allowed");
	if (n % 4 != 0)
		return refuse(c, "Error", "Incorrect padding");
	c->n = n / 4 * 3 - padding;
	if (c->n > LIM_UPLOAD_CHUNK)
		return refuse(c, "ValueError", "File transfer chunk exceeds the protocol limit");
	return EVP_DecodeBlock(c->bytes, (const unsigned char *)s->ptr, (int)n) >= 0
		   ? 0
		   : refuse(c, "Error", "Only base64 data is allowed");
}

/* ---- the file --------------------------------------------------------------------- */

static struct upload *
begin(struct uploads *u, struct chunk *c)
{
	struct upload *f;
	struct err     e;

	if (u->n >= LIM_UPLOADS || *u->total + LIM_UPLOAD_COST > LIM_UPLOADS_BYTES) {
		refuse(c, "ValueError", "Active file transfer capacity reached");
		return NULL;
	}
	if ((f = calloc(1, sizeof(*f))) == NULL || (f->fd = memfd_new("upload", &e)) == -1) {
		free(f);
		refuse(c, "BoxError", "no memory for an upload");
		return NULL;
	}
	assert(c->key_len <= KEY_MOST); /* is_key has seen to it */
	memcpy(f->key, c->key, c->key_len);
	f->amount = (uint64_t)c->amount;
	TAILQ_INSERT_TAIL(&u->all, f, next);
	u->n++;
	*u->total += LIM_UPLOAD_COST;
	return f;
}

/* The file that this chunk is the next of. */
static struct upload *
place(struct uploads *u, struct chunk *c)
{
	struct upload *f = find(u, c->key, c->key_len);

	if (f == NULL && c->index == 0)
		return begin(u, c);
	if (f != NULL && f->chunks == (uint64_t)c->index && f->amount == (uint64_t)c->amount)
		return f;
	refuse(c, "ValueError", "Invalid file transfer capability");
	return NULL;
}

static int
check_size(const struct uploads *u, const struct upload *f, struct chunk *c)
{
	if (f->size + c->n > u->most || (c->has_length && c->length > (wide)u->most))
		return refuse(c, "ValueError", "File transfer exceeds the configured size limit");
	if (*u->total + c->n > LIM_UPLOADS_BYTES)
		return refuse(c, "ValueError", "Active file transfer capacity reached");
	if (c->has_length && c->index == c->amount - 1 && c->length != (wide)(f->size + c->n))
		return refuse(c, "ValueError", "File transfer is not as long as its file_length");
	return 0;
}

static int
append(struct uploads *u, struct upload *f, struct chunk *c)
{
	if (check_size(u, f, c) == -1)
		return -1;
	if (c->n > 0 && write(f->fd, c->bytes, c->n) != (ssize_t)c->n)
		return refuse(c, "BoxError", "no memory for an upload");
	assert(f->chunks < f->amount);
	f->size += c->n;
	*u->total += c->n;
	f->chunks++;
	return 0;
}

int
uploads_chunk(struct uploads *u, const msgpack_object *data, const char **class, struct buf *why)
{
	struct chunk   c = { .why = why };
	struct upload *f = NULL;

	if (read_place(&c, data) == 0 && read_bytes(&c) == 0 && read_key(&c, data) == 0)
		f = place(u, &c);
	if (f != NULL && append(u, f, &c) == 0)
		return 0;
	if (f != NULL)
		forget(u, f);
	*class = c.class;
	return -1;
}

int
uploads_take(struct uploads *u, const char *key, size_t n, uint64_t *size, struct buf *why)
{
	struct upload *f = find(u, key, n);
	int            fd = -1;
	struct err     e;

	if (f == NULL) {
		buf_printf(why, "[Errno 2] No such file or directory: '");
		buf_append(why, key, n < KEY_MOST ? n : KEY_MOST);
		buf_printf(why, "'");
	} else if (f->chunks != f->amount)
		buf_printf(why, "Uploaded file is not whole: %lu of %lu chunks came", f->chunks, f->amount);
	else if (memfd_seal(f->fd, &e) == -1)
		buf_printf(why, "%s", e.text);
	else {
		*size = f->size;
		fd = fd_take(&f->fd);
	}
	if (f != NULL)
		forget(u, f);
	return fd;
}
