#include "wire/msg.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

/* Tables, not code. */
/* clang-format off */

#define ENUM(n)       static const char *const names_##n[] = {
#define V(P, E, wire) [P##_##E] = (wire),
#define ENUM_END      NULL };
#include "messages/messages.def"

enum { MAY = false, NEED = true };

#define STRUCT(N, n)                static const struct field fields_##n[] = {
#define REQUEST(N, n, from, R, doc) static const struct field fields_##n[] = {
#define NOTICE(N, n, from, doc)     static const struct field fields_##n[] = {
#define F(m, K, f, need, lo, hi, dflt, doc) \
	{ #f, K_##K, need, offsetof(struct msg_##m, f), lo, hi, dflt, NULL, MSG_NONE, doc },
#define FE(m, e, f, need, dflt, doc) \
	{ #f, K_ENUM, need, offsetof(struct msg_##m, f), 0, 0, dflt, names_##e, MSG_NONE, doc },
#define FO(m, S, s, f, doc) \
	{ #f, K_OBJ, MAY, offsetof(struct msg_##m, f), 0, 0, 0, NULL, MSG_##S, doc },
#define FL(m, S, s, f, most, doc) \
	{ #f, K_LIST, MAY, offsetof(struct msg_##m, f), 0, most, 0, NULL, MSG_##S, doc },
#define END { .name = NULL } };
#include "messages/messages.def"

static const struct msg_def defs[MSG__COUNT] = {
	[MSG_NONE] = { .name = "none", .envelope = ENV_STRUCT, .fields = fields_done },
#define STRUCT(N, n) \
	[MSG_##N] = { #n, ENV_STRUCT, 0, MSG_NONE, sizeof(struct msg_##n), fields_##n, "" },
#define REQUEST(N, n, who, R, doc) \
	[MSG_##N] = { #n, ENV_REQUEST, who, MSG_##R, sizeof(struct msg_##n), fields_##n, doc },
#define NOTICE(N, n, who, doc) \
	[MSG_##N] = { #n, ENV_NOTICE, who, MSG_NONE, sizeof(struct msg_##n), fields_##n, doc },
#include "messages/messages.def"
};

struct method {
	const char   *name;
	enum msg_type type;
};

/* Sorted by name: the GNUmakefile makes this list from messages.def. */
static const struct method methods[] = {
#define NAME(n, N) { #n, MSG_##N },
#include "wire/names.def"
};

/* clang-format on */

const struct msg_def *
msg_def(enum msg_type t)
{
	return &defs[t < MSG__COUNT ? t : MSG_NONE];
}

const char *
msg_name(enum msg_type t)
{
	return msg_def(t)->name;
}

bool
msg_needs(const struct field *f)
{
	if (f->kind != K_OBJ)
		return f->needed;
	for (const struct field *in = msg_def(f->sub)->fields; in->name != NULL; in++)
		if (msg_needs(in))
			return true;
	return false;
}

struct bytes {
	const char *at;
	size_t      n;
};

static int
compare_method(const void *key, const void *method)
{
	const struct bytes *wanted = key;
	const char         *name = ((const struct method *)method)->name;
	size_t              n = strlen(name);
	int                 r = memcmp(wanted->at, name, wanted->n < n ? wanted->n : n);

	return r != 0 ? r : (wanted->n > n) - (wanted->n < n);
}

enum msg_type
msg_by_name(const char *name, size_t n)
{
	const struct method *found = bsearch(&(struct bytes){ n > 0 ? name : "", n }, methods,
	    sizeof(methods) / sizeof(*methods), sizeof(*methods), compare_method);

	return found == NULL ? MSG_NONE : found->type;
}

const struct field *
msg_field(enum msg_type t, const char *name)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

const char *
msg_enum_name(enum msg_type t, const char *field, int value)
{
	const struct field *f = msg_field(t, field);

	for (int i = 0; f != NULL && f->kind == K_ENUM && f->names[i] != NULL; i++)
		if (i == value)
			return f->names[i];
	return "?";
}

static const char *no_strings[] = { NULL }; /* never written: an absent list ends in NULL too */

void
msg_defaults(enum msg_type t, void *body)
{
	memset(body, 0, defs[t].size);
	for (const struct field *f = defs[t].fields; f->name != NULL; f++) {
		char *at = (char *)body + f->offset;

		switch (f->kind) {
		case K_U64:
		case K_I64:
			memcpy(at, &f->dflt, sizeof(f->dflt));
			break;
		case K_F64:
			*(double *)at = (double)f->dflt;
			break;
		case K_BOOL:
			*(bool *)at = f->dflt != 0;
			break;
		case K_STR:
			*(const char **)at = "";
			break;
		case K_BLOB:
			((struct blob *)at)->fd = -1;
			break;
		case K_FD:
			*(int *)at = -1;
			break;
		case K_ENUM: {
			int v = (int)f->dflt;
			memcpy(at, &v, sizeof(v));
			break;
		}
		case K_OBJ:
			msg_defaults(f->sub, at);
			break;
		case K_STRS:
			((struct strs *)at)->v = no_strings;
			break;
		case K_PAIRS:
		case K_LAX:
		case K_LIST:
			break;
		}
	}
}

void
packet_clear(struct packet *p)
{
	buf_clear(&p->bytes);
	while (p->nfds > 0)
		fd_close(&p->fds[--p->nfds]);
}
