/*
 * yajl tells what it reads.  Only what a manifest can have is kept: everything else is remembered as wrong, and told
 * after the whole text was read, in the order in which upstream looks at it.  As in Python, the last of two equal keys
 * counts.
 */
#include "manifest.h"

#include <assert.h>
#include <search.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/buf.h"
#include "base/utf8.h"

#define ALGORITHM "sha256-tree-v1"

/* Containers, from the outside in, in which something is expected. */
enum { OUTSIDE, IN_MANIFEST, IN_FILES, IN_FILE };

enum what { ABSENT, TEXT, WHOLE, BOOLEAN, LIST, OTHER };

struct value {
	enum what what;
	char     *text; /* owned; TEXT */
	size_t    n;
	uint64_t  number; /* WHOLE; UINT64_MAX stands for all that is larger */
	bool      negative;
	bool      yes; /* BOOLEAN */
};

enum { ALGORITHM_KEY, FILES_KEY, TOTAL_KEY, TOP_KEYS };
enum { PATH_KEY, SIZE_KEY, SHA256_KEY, EXECUTABLE_KEY, FILE_KEYS };

static const char *const top_keys[TOP_KEYS] = { "algorithm", "files", "total_bytes" };
static const char *const file_keys[FILE_KEYS] = { "path", "size", "sha256", "executable" };

struct listed {
	bool         misshapen; /* not an object, or with a key of its own */
	struct value v[FILE_KEYS];
};

struct reader {
	size_t         depth;    /* containers we are in */
	bool           in_files; /* the second of them is the list of files */
	bool           in_file;  /* the third is one of its objects */
	int            key;      /* of the innermost that we know; -1: unknown */
	bool           misshapen;
	struct value   top[TOP_KEYS];
	struct listed *files; /* owned */
	size_t         n;     /* those that are too many are counted, and not kept */
	bool           starved;
};

/* ---- values ------------------------------------------------------------------------------ */

static void
value_clear(struct value *v)
{
	free(v->text);
	*v = (struct value){ 0 };
}

static void
files_clear(struct reader *r)
{
	for (size_t i = 0; i < r->n && i < LIM_ARTIFACT_FILES; i++)
		for (int k = 0; k < FILE_KEYS; k++)
			value_clear(&r->files[i].v[k]);
	r->n = 0;
}

static struct listed *
last_file(struct reader *r)
{
	return r->n > 0 && r->n <= LIM_ARTIFACT_FILES ? &r->files[r->n - 1] : NULL;
}

/* One more in the list of files. */
static void
file_add(struct reader *r, bool is_object)
{
	r->n++;
	if (last_file(r) != NULL)
		*last_file(r) = (struct listed){ .misshapen = !is_object };
}

/* Where a value goes that begins now; NULL: nobody wants it. */
static struct value *
place_of(struct reader *r)
{
	if (r->depth == IN_MANIFEST && r->key >= 0)
		return &r->top[r->key];
	if (r->depth == IN_FILE && r->in_file && r->key >= 0 && last_file(r) != NULL)
		return &last_file(r)->v[r->key];
	return NULL;
}

static int
put(struct reader *r, struct value v)
{
	struct value *at = place_of(r);

	if (r->depth == OUTSIDE)
		r->misshapen = true;
	else if (r->depth == IN_FILES && r->in_files)
		file_add(r, false);
	if (at == NULL)
		return 1;
	if (at == &r->top[FILES_KEY])
		files_clear(r);
	value_clear(at);
	*at = v;
	return 1;
}

/* ---- what yajl tells ---------------------------------------------------------------------- */

static int
on_null(void *arg)
{
	return put(arg, (struct value){ .what = OTHER });
}

static int
on_boolean(void *arg, int yes)
{
	return put(arg, (struct value){ .what = BOOLEAN, .yes = yes });
}

static int
on_number(void *arg, const char *p, size_t n)
{
	struct value v = { .what = WHOLE };
	bool         minus = n > 0 && *p == '-';

	for (size_t i = minus; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return put(arg, (struct value){ .what = OTHER }); /* a fraction, or an exponent */
		v.number = v.number > UINT64_MAX / 10 - 1 ? UINT64_MAX : v.number * 10 + (uint64_t)(p[i] - '0');
	}
	v.negative = minus && v.number > 0;
	return put(arg, v);
}

static int
on_string(void *arg, const unsigned char *p, size_t n)
{
	struct reader *r = arg;
	struct value   v = { .what = TEXT, .n = n };

	if (place_of(r) == NULL)
		return put(r, (struct value){ .what = OTHER });
	if ((v.text = malloc(n + 1)) == NULL) {
		r->starved = true;
		return 0;
	}
	memcpy(v.text, p, n);
	v.text[n] = '\0';
	return put(r, v);
}

static int
on_open_map(void *arg)
{
	struct reader *r = arg;

	if (r->depth == IN_FILES && r->in_files)
		file_add(r, true);
	else if (r->depth != OUTSIDE)
		put(r, (struct value){ .what = OTHER });
	r->in_file |= r->depth == IN_FILES && r->in_files;
	r->depth++;
	r->key = -1;
	return 1;
}

static int
on_key(void *arg, const unsigned char *p, size_t n)
{
	struct reader     *r = arg;
	bool               top = r->depth == IN_MANIFEST, file = r->depth == IN_FILE && r->in_file;
	const char *const *keys = top ? top_keys : file_keys;
	int                count = top ? TOP_KEYS : file ? FILE_KEYS : 0;

	r->key = -1;
	for (int i = 0; i < count; i++)
		if (strlen(keys[i]) == n && memcmp(keys[i], p, n) == 0)
			r->key = i;
	if (top && r->key == -1)
		r->misshapen = true;
	if (file && r->key == -1 && last_file(r) != NULL)
		last_file(r)->misshapen = true;
	return 1;
}

static int
on_open_array(void *arg)
{
	struct reader *r = arg;
	bool           files = r->depth == IN_MANIFEST && r->key == FILES_KEY;

	put(r, (struct value){ .what = LIST });
	r->in_files |= files;
	r->depth++;
	r->key = -1;
	return 1;
}

static int
on_close(void *arg)
{
	struct reader *r = arg;

	r->depth--;
	if (r->depth < IN_FILE)
		r->in_file = false;
	if (r->depth < IN_FILES)
		r->in_files = false;
	r->key = -1;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_open_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_close,
	.yajl_start_array = on_open_array,
	.yajl_end_array = on_close,
};

static int
parse(struct reader *r, const char *text, size_t n, struct err *e)
{
	yajl_handle y = yajl_alloc(&callbacks, NULL, r);

	if (y == NULL)
		return err_set(e, E_SYS, "no memory for a manifest");
	bool good = yajl_parse(y, (const unsigned char *)text, n) == yajl_status_ok &&
		    yajl_complete_parse(y) == yajl_status_ok;
	yajl_free(y);
	if (r->starved)
		return err_set(e, E_SYS, "no memory for a manifest");
	return good ? 0 : err_set(e, E_ARTIFACT, "Artifact manifest is invalid JSON");
}

/* ---- what must hold ------------------------------------------------------------------------ */

static int
refuse(struct err *e, const char *what)
{
	return err_set(e, E_ARTIFACT, "Artifact manifest %s", what);
}

static bool
is_safe_path(const struct value *v)
{
	const char *p = v->text;

	if (v->what != TEXT || strlen(p) != v->n || strchr(p, '\\') != NULL)
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
is_sha256(const struct value *v)
{
	return v->what == TEXT && v->n == SHA256_DIGITS && strspn(v->text, "0123456789abcdef") == SHA256_DIGITS;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
keep(void *path)
{
	(void)path;
}

static int
check_file(const struct listed *f, void **seen, struct err *e)
{
	const struct value *v = f->v;
	bool                whole = !f->misshapen;

	for (int k = 0; k < FILE_KEYS; k++)
		whole &= v[k].what != ABSENT;
	if (!whole)
		return refuse(e, "contains an invalid file entry");
	if (!is_safe_path(&v[PATH_KEY]) || tfind(v[PATH_KEY].text, seen, by_path) != NULL)
		return refuse(e, "contains an unsafe path");
	if (tsearch(v[PATH_KEY].text, seen, by_path) == NULL)
		return err_set(e, E_SYS, "no memory for a manifest");
	if (v[SIZE_KEY].what != WHOLE || v[SIZE_KEY].negative)
		return refuse(e, "contains an invalid file size");
	if (!is_sha256(&v[SHA256_KEY]))
		return refuse(e, "contains an invalid file digest");
	if (v[EXECUTABLE_KEY].what != BOOLEAN)
		return refuse(e, "contains an invalid file mode");
	return 0;
}

static int
check_files(const struct reader *r, struct err *e)
{
	void *seen = NULL;
	int   result = 0;

	for (size_t i = 0; result == 0 && i < r->n; i++)
		result = check_file(&r->files[i], &seen, e);
	tdestroy(seen, keep);
	return result;
}

static int
check_total(const struct reader *r, struct err *e)
{
	const struct value *total = &r->top[TOTAL_KEY];
	uint64_t            sum = 0;

	for (size_t i = 0; i < r->n; i++) {
		uint64_t size = r->files[i].v[SIZE_KEY].number;

		sum = size > LIM_ARTIFACT_BYTES ? UINT64_MAX / 2 : sum + size;
	}
	if (total->what != WHOLE || total->negative || total->number != sum || sum > LIM_ARTIFACT_BYTES)
		return refuse(e, "contains an invalid total size");
	return 0;
}

static int
check(const struct reader *r, struct err *e)
{
	const struct value *algorithm = &r->top[ALGORITHM_KEY];
	bool                whole = !r->misshapen;

	for (int k = 0; k < TOP_KEYS; k++)
		whole &= r->top[k].what != ABSENT;
	if (!whole)
		return refuse(e, "has an invalid shape");
	if (algorithm->what != TEXT || algorithm->n != strlen(ALGORITHM) || strcmp(algorithm->text, ALGORITHM) != 0)
		return refuse(e, "uses an unsupported algorithm");
	if (r->top[FILES_KEY].what != LIST || r->n > LIM_ARTIFACT_FILES)
		return refuse(e, "contains too many files");
	return check_files(r, e) == -1 || check_total(r, e) == -1 ? -1 : 0;
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

/* Paths move from the reader to the manifest. */
static int
take(struct manifest *m, struct reader *r, struct err *e)
{
	if ((m->v = calloc(r->n + 1, sizeof(*m->v))) == NULL)
		return err_set(e, E_SYS, "no memory for a manifest");
	for (; m->n < r->n; m->n++) {
		struct manifest_file *f = &m->v[m->n];
		struct value         *v = r->files[m->n].v;

		f->path = v[PATH_KEY].text;
		v[PATH_KEY].text = NULL;
		f->size = v[SIZE_KEY].number;
		memcpy(f->sha256, v[SHA256_KEY].text, sizeof(f->sha256));
		f->executable = v[EXECUTABLE_KEY].yes;
		m->bytes += f->size;
		m->dirs += manifest_new_dirs(m->n > 0 ? f[-1].path : "", f->path);
	}
	if (m->dirs > LIM_ARTIFACT_DIRS)
		return refuse(e, "contains too many directories");
	return make_digest(m, e);
}

int
manifest_read(struct manifest *m, const char *text, size_t n, struct err *e)
{
	struct reader r = { .key = -1, .files = calloc(LIM_ARTIFACT_FILES, sizeof(*r.files)) };
	int           result;

	*m = (struct manifest){ 0 };
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	if (r.files == NULL)
		result = err_set(e, E_SYS, "no memory for a manifest");
	else if (!utf8_is_valid(text, n))
		result = refuse(e, "is invalid JSON");
	else
		result = parse(&r, text, n, e) == -1 || check(&r, e) == -1 || take(m, &r, e) == -1 ? -1 : 0;
	files_clear(&r);
	for (int k = 0; k < TOP_KEYS; k++)
		value_clear(&r.top[k]);
	free(r.files);
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
