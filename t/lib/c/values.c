#include "values.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "wire/wire.h"

const char *const fill_names[FILL__COUNT] = { "defaults", "minima", "maxima" };

static void *
keep(struct values *v, size_t n)
{
	void *p = calloc(1, n ? n : 1);

	v->memory = realloc(v->memory, (v->nmemory + 1) * sizeof(void *));
	if (p == NULL || v->memory == NULL)
		abort();
	return v->memory[v->nmemory++] = p;
}

static int
keep_fd(struct values *v, int fd)
{
	v->fds = realloc(v->fds, (v->nfds + 1) * sizeof(int));
	if (fd == -1 || v->fds == NULL)
		abort();
	return v->fds[v->nfds++] = fd;
}

static const char *
text_of(struct values *v, size_t n)
{
	return memset(keep(v, n + 1), 'x', n);
}

static struct strs
strs_of(struct values *v, size_t n)
{
	struct strs s = { n, keep(v, (n + 1) * sizeof(char *)) };

	for (size_t i = 0; i < n; i++)
		s.v[i] = i % 2 ? "" : "\xff entry\n";
	return s;
}

static struct pairs
pairs_of(struct values *v, size_t n)
{
	struct pair *p = keep(v, n * sizeof(*p));

	for (size_t i = 0; i < n; i++) {
		char *name = keep(v, 24);

		snprintf(name, 24, "N%zu", i);
		p[i] = (struct pair){ name, i % 2 ? "" : "value" };
	}
	return (struct pairs){ n, p };
}

/* The largest payloads take no memory: a sparse file. */
static struct blob
blob_at(struct values *v, enum fill how, const struct field *f)
{
	size_t n = how == FILL_MOST ? f->most : (size_t)f->least;

	if (how != FILL_MOST)
		return blob_of(text_of(v, n), n);
	int fd = keep_fd(v, memfd_plain(n, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL));
	return (struct blob){ .len = n, .fd = fd };
}

static int
last_name(const struct field *f)
{
	int i = 0;

	while (f->names[i + 1] != NULL)
		i++;
	return i;
}

static void fill_at(struct values *, enum msg_type, enum fill, void *body);

static void
fill_list(struct values *v, const struct field *f, enum fill how, struct list *out)
{
	size_t size = msg_def(f->sub)->size;
	size_t n = how != FILL_MOST ? 0 : f->most < 3 ? f->most : 3;

	*out = (struct list){ n, keep(v, n * size) };
	for (size_t i = 0; i < n; i++)
		fill_at(v, f->sub, how, (char *)out->v + i * size);
}

static void
fill_field(struct values *v, const struct field *f, enum fill how, void *at)
{
	bool        most = how == FILL_MOST;
	size_t      n = most ? f->most : (size_t)f->least;
	struct list list;
	int         choice;

	switch (f->kind) {
	case K_U64:
		*(uint64_t *)at = most ? f->most : (uint64_t)f->least;
		break;
	case K_I64:
		*(int64_t *)at = most ? (int64_t)f->most : f->least;
		break;
	case K_F64:
		*(double *)at = most ? (double)f->most : (double)f->least;
		break;
	case K_BOOL:
		*(bool *)at = most;
		break;
	case K_STR:
		*(const char **)at = text_of(v, n);
		break;
	case K_BLOB:
		*(struct blob *)at = blob_at(v, how, f);
		break;
	case K_STRS:
		*(struct strs *)at = strs_of(v, n);
		break;
	case K_PAIRS:
		*(struct pairs *)at = pairs_of(v, n);
		break;
	case K_LAX:
		*(struct lax *)at = most ? lax_text(text_of(v, n)) : lax_number(-1);
		break;
	case K_FD:
		*(int *)at = keep_fd(v, memfd_plain(0, 0));
		break;
	case K_ENUM:
		choice = most ? last_name(f) : 0;
		memcpy(at, &choice, sizeof(choice));
		break;
	case K_OBJ:
		fill_at(v, f->sub, how, at);
		break;
	case K_LIST:
		fill_list(v, f, how, &list);
		memcpy(at, &list, sizeof(list));
		break;
	}
}

static void
fill_at(struct values *v, enum msg_type t, enum fill how, void *body)
{
	msg_defaults(t, body);
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (how != FILL_DEFAULT || msg_needs(f))
			fill_field(v, f, how, (char *)body + f->offset);
}

void *
fill_body(struct values *v, enum msg_type t, enum fill how)
{
	void *body = keep(v, msg_def(t)->size);

	fill_at(v, t, how, body);
	return body;
}

void
values_clear(struct values *v)
{
	while (v->nmemory > 0)
		free(v->memory[--v->nmemory]);
	while (v->nfds > 0)
		close(v->fds[--v->nfds]);
	free(v->memory);
	free(v->fds);
	*v = (struct values){ 0 };
}

static bool
blob_same(const struct blob *a, const struct blob *b)
{
	struct buf x = { 0 }, y = { 0 };
	struct err e;
	bool       absent_a = a->data == NULL && a->len == 0, absent_b = b->data == NULL && b->len == 0;

	/* the same sparse file needs no reading */
	if (absent_a != absent_b || a->len != b->len)
		return false;
	if (a->data == NULL && b->data == NULL && a->len > 0)
		return same_file(a->fd, b->fd) && a->offset == b->offset;
	bool same = absent_a || (blob_read(a, &x, &e) == 0 && blob_read(b, &y, &e) == 0 && x.len == y.len &&
				    (x.len == 0 || memcmp(x.data, y.data, x.len) == 0));
	buf_clear(&x);
	buf_clear(&y);
	return same;
}

static bool
strs_same(const struct strs *a, const struct strs *b)
{
	if (a->n != b->n || a->v == NULL || b->v == NULL || a->v[a->n] != NULL || b->v[b->n] != NULL)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool
pairs_same(const struct pairs *a, const struct pairs *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, b->v[i].name) != 0 || strcmp(a->v[i].value, b->v[i].value) != 0)
			return false;
	return true;
}

static bool
lax_same(const struct lax *a, const struct lax *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case LAX_BOOL:
		return a->boolean == b->boolean;
	case LAX_INT:
		return a->number == b->number;
	case LAX_FLOAT:
		return a->real == b->real;
	case LAX_STR:
		return strcmp(a->text, b->text) == 0;
	case LAX_NONE:
		break;
	}
	return true;
}

static bool
list_same(const struct field *f, const void *a, const void *b)
{
	size_t      size = msg_def(f->sub)->size;
	struct list x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	if (x.n != y.n)
		return false;
	for (size_t i = 0; i < x.n; i++)
		if (body_differs(f->sub, (char *)x.v + i * size, (char *)y.v + i * size) != NULL)
			return false;
	return true;
}

static bool
field_same(const struct field *f, const void *a, const void *b)
{
	int x, y;

	switch (f->kind) {
	case K_U64:
	case K_I64:
	case K_F64:
		return memcmp(a, b, 8) == 0;
	case K_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case K_STR:
		return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
	case K_BLOB:
		return blob_same(a, b);
	case K_STRS:
		return strs_same(a, b);
	case K_PAIRS:
		return pairs_same(a, b);
	case K_LAX:
		return lax_same(a, b);
	case K_FD:
		x = *(const int *)a, y = *(const int *)b;
		return (x == -1 && y == -1) || same_file(x, y);
	case K_ENUM:
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return x == y;
	case K_OBJ:
		return body_differs(f->sub, a, b) == NULL;
	case K_LIST:
		return list_same(f, a, b);
	}
	return false;
}

const char *
body_differs(enum msg_type t, const void *a, const void *b)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (!field_same(f, (const char *)a + f->offset, (const char *)b + f->offset))
			return f->name;
	return NULL;
}
