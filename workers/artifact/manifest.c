/*
 * Checked in upstream's order, so that of several faults the same one is reported.  As in Python,
 * the last of two equal keys counts; a number with a fraction or an exponent is not whole.
 */
#include "manifest.h"

#include <assert.h>
#include <search.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/jsontext.h"

#define ALGORITHM "sha256-tree-v1"

static const char *const top_keys[] = { "algorithm", "files", "total_bytes", NULL };
static const char *const file_keys[] = { "path", "size", "sha256", "executable", NULL };

static int
refuse(struct err *e, const char *what)
{
	return err_set(e, E_ARTIFACT, "Artifact manifest %s", what);
}

static int
starve(struct err *e)
{
	return err_set(e, E_SYS, "no memory for a manifest");
}

/* ---- what must hold ------------------------------------------------------------------------ */

/* An object with these keys and no other. */
static bool
has_keys(const json_t *v, const char *const *keys)
{
	size_t n = 0;

	while (keys[n] != NULL)
		if (json_object_get(v, keys[n++]) == NULL)
			return false;
	return json_object_size(v) == n;
}

static bool
is_safe_path(const json_t *v)
{
	const char *p = json_string_value(v);

	if (p == NULL || strlen(p) != json_string_length(v) || strchr(p, '\\') != NULL)
		return false;
	for (;;) {
		size_t n = strcspn(p, "/");

		if (n == 0 || (n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[n] == '\0')
			return true;
		p += n + 1;
	}
}

static bool
is_sha256(const json_t *v)
{
	const char *p = json_string_value(v);

	return json_string_length(v) == SHA256_DIGITS && strspn(p, "0123456789abcdef") == SHA256_DIGITS;
}

static bool
is_size(const json_t *v)
{
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
keep(void *path)
{
}

/* Paths of files before it are in seen. */
static int
read_file(struct manifest_file *f, const json_t *v, void **seen, struct err *e)
{
	const json_t *path = json_object_get(v, "path"), *size = json_object_get(v, "size"),
		     *sha256 = json_object_get(v, "sha256"), *executable = json_object_get(v, "executable");

	if (!has_keys(v, file_keys))
		return refuse(e, "contains an invalid file entry");
	if (!is_safe_path(path) || tfind(json_string_value(path), seen, by_path) != NULL)
		return refuse(e, "contains an unsafe path");
	if ((f->path = strdup(json_string_value(path))) == NULL || tsearch(f->path, seen, by_path) == NULL)
		return starve(e);
	if (!is_size(size))
		return refuse(e, "contains an invalid file size");
	if (!is_sha256(sha256))
		return refuse(e, "contains an invalid file digest");
	if (!json_is_boolean(executable))
		return refuse(e, "contains an invalid file mode");
	f->size = (uint64_t)json_integer_value(size);
	memcpy(f->sha256, json_string_value(sha256), sizeof(f->sha256));
	f->executable = json_is_true(executable);
	return 0;
}

/* Directories of both as far as they are the same. */
static size_t
common_dirs(const char *a, const char *b)
{
	size_t common = 0;

	for (size_t i = 0; a[i] == b[i] && a[i] != '\0'; i++)
		if (a[i] == '/')
			common = i + 1;
	return common;
}

size_t
manifest_new_dirs(const char *before, const char *path)
{
	size_t n = 0;

	for (const char *p = path + common_dirs(before, path); (p = strchr(p, '/')) != NULL; p++)
		n++;
	return n;
}

static int
read_files(struct manifest *m, const json_t *files, struct err *e)
{
	size_t n = json_array_size(files);
	void  *seen = NULL;
	int    result = 0;

	if ((m->v = calloc(n + 1, sizeof(*m->v))) == NULL)
		return starve(e);
	while (result == 0 && m->n < n) {
		struct manifest_file *f = &m->v[m->n];

		if ((result = read_file(f, json_array_get(files, m->n++), &seen, e)) == 0) {
			assert(f->path != NULL); /* it is safe, so it is there */
			m->bytes += f->size > LIM_ARTIFACT_BYTES ? LIM_ARTIFACT_BYTES + 1 : f->size;
			m->dirs += manifest_new_dirs(m->n > 1 ? f[-1].path : "", f->path);
		}
	}
	tdestroy(seen, keep);
	return result;
}

static int
read_tree(struct manifest *m, const json_t *top, struct err *e)
{
	const json_t *files = json_object_get(top, "files"), *total = json_object_get(top, "total_bytes"),
		     *algorithm = json_object_get(top, "algorithm");

	if (!has_keys(top, top_keys))
		return refuse(e, "has an invalid shape");
	if (json_string_length(algorithm) != strlen(ALGORITHM) || strcmp(json_string_value(algorithm), ALGORITHM) != 0)
		return refuse(e, "uses an unsupported algorithm");
	if (!json_is_array(files) || json_array_size(files) > LIM_ARTIFACT_FILES)
		return refuse(e, "contains too many files");
	if (read_files(m, files, e) == -1)
		return -1;
	if (!is_size(total) || (uint64_t)json_integer_value(total) != m->bytes || m->bytes > LIM_ARTIFACT_BYTES)
		return refuse(e, "contains an invalid total size");
	return m->dirs > LIM_ARTIFACT_DIRS ? refuse(e, "contains too many directories") : 0;
}

/* ---- the digest ------------------------------------------------------------------------------ */

/* As json.dumps has it with ensure_ascii off. */
static void
put_text(struct buf *b, const char *p)
{
	static const char names[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";

	assert(p != NULL); /* check() has seen every key */
	buf_append(b, "\"", 1);
	for (; *p != '\0'; p++) {
		const char *name = strchr(names, *p);

		if (name != NULL)
			buf_printf(b, "\\%c", letters[name - names]);
		else if ((unsigned char)*p < 0x20)
			buf_printf(b, "\\u%04x", (unsigned char)*p);
		else
			buf_append(b, p, 1);
	}
	buf_append(b, "\"", 1);
}

static int
make_digest(struct manifest *m, struct err *e)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	struct buf    b = { 0 };

	buf_printf(&b, "{\"algorithm\":\"" ALGORITHM "\",\"files\":[");
	for (size_t i = 0; i < m->n; i++) {
		buf_printf(
		    &b, "%s{\"executable\":%s,\"path\":", i > 0 ? "," : "", m->v[i].executable ? "true" : "false");
		put_text(&b, m->v[i].path);
		buf_printf(&b, ",\"sha256\":\"%s\",\"size\":%lu}", m->v[i].sha256, m->v[i].size);
	}
	buf_printf(&b, "],\"total_bytes\":%lu}", m->bytes);
	if (!b.failed)
		crypto_hash_sha256(hash, (const unsigned char *)b.data, b.len);
	bool failed = b.failed;
	buf_clear(&b);
	if (failed)
		return err_set(e, E_SYS, "no memory for a manifest");
	memcpy(m->digest, "sha256:", 7);
	sodium_bin2hex(m->digest + 7, sizeof(m->digest) - 7, hash, sizeof(hash));
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int
manifest_read(struct manifest *m, const char *text, size_t n, struct err *e)
{
	enum jsontext_fault fault;

	*m = (struct manifest){ 0 };
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	json_t *top = jsontext_load(text, n, 0, JSON_PARSER_MAX_DEPTH, &fault, e);
	if (fault == JSONTEXT_STARVED)
		return starve(e);
	if (fault == JSONTEXT_MANY)
		return refuse(e, "contains too many files");
	if (top == NULL)
		return refuse(e, "is invalid JSON");
	int result = read_tree(m, top, e) == -1 || make_digest(m, e) == -1 ? -1 : 0;
	json_decref(top);
	return result;
}

void
manifest_clear(struct manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	*m = (struct manifest){ 0 };
}
