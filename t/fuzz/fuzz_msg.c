/*
 * Any bytes and up to eight descriptors to the decoder, as if from each peer.
 * What it takes must be readable to its last byte, and must survive being encoded
 * and decoded again.  The first byte says how many descriptors, and which.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/memfd.h"
#include "fuzz.h"
#include "wire/msg.h"
#include "wire/wire.h"

static volatile size_t eaten;

static void eat(enum msg_type, const void *body);

static void
eat_blob(const struct field *f, const struct blob *b)
{
	struct buf out = { 0 };
	struct err e;

	must(b->len <= f->most);
	if (b->data == NULL && b->len == 0)
		return;
	must(blob_read(b, &out, &e) == 0 && out.len == b->len);
	buf_clear(&out);
}

static void
eat_strs(const struct strs *s)
{
	for (size_t i = 0; i < s->n; i++)
		eaten += strlen(s->v[i]);
	must(s->v[s->n] == NULL);
}

static void
eat_list(const struct field *f, const void *at)
{
	struct list l;

	memcpy(&l, at, sizeof(l));
	must(l.n <= f->most);
	for (size_t i = 0; i < l.n; i++)
		eat(f->sub, (const char *)l.v + i * msg_def(f->sub)->size);
}

static void
eat_field(const struct field *f, const void *at)
{
	const struct pairs *p = at;
	double              d;
	int                 v;

	switch (f->kind) {
	case K_U64:
		must(*(const uint64_t *)at <= f->most);
		break;
	case K_I64:
		must(*(const int64_t *)at >= f->least);
		break;
	case K_F64:
		d = *(const double *)at;
		must(d >= (double)f->least && d <= (double)f->most);
		break;
	case K_BOOL:
		eaten += *(const bool *)at;
		break;
	case K_STR:
		must(strlen(*(const char *const *)at) <= f->most);
		break;
	case K_LAX:
		if (((const struct lax *)at)->kind == LAX_STR)
			must(strlen(((const struct lax *)at)->text) <= f->most);
		break;
	case K_BLOB:
		eat_blob(f, at);
		break;
	case K_STRS:
		eat_strs(at);
		break;
	case K_PAIRS:
		for (size_t i = 0; i < p->n; i++)
			eaten += strlen(p->v[i].name) + strlen(p->v[i].value);
		break;
	case K_FD:
		v = *(const int *)at;
		must(v == -1 || fcntl(v, F_GETFD) != -1);
		break;
	case K_ENUM:
		memcpy(&v, at, sizeof(v));
		must(v >= 0);
		for (int i = 0; i <= v; i++)
			must(f->names[i] != NULL);
		break;
	case K_OBJ:
		eat(f->sub, at);
		break;
	case K_LIST:
		eat_list(f, at);
		break;
	}
}

static void
eat(enum msg_type t, const void *body)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		eat_field(f, (const char *)body + f->offset);
}

static void
again(const struct msg *m, unsigned from)
{
	bool          reply = m->envelope == ENV_REPLY;
	struct packet p = { 0 };
	struct msg    second;
	struct err    e;

	must((reply ? msg_encode_reply : msg_encode)(&p, m->type, m->id, m->conn, m->body, &e) == 0);
	must(msg_decode(&second, p.bytes.data, p.bytes.len, p.fds, p.nfds, from, &e) == 0);
	p.nfds = 0; /* the decoder has taken them */
	must(!reply || msg_expect(&second, m->type, &e) == 0);
	must(second.type == m->type && second.id == m->id && second.conn == m->conn);
	msg_clear(&second);
	packet_clear(&p);
}

/* Bit i of what: descriptor i is a sealed file, or not. */
static size_t
open_some(unsigned what, int *fds)
{
	static int sealed = -1, plain = -1;
	struct err e;
	size_t     n = what % (LIM_PACKET_FDS + 1);

	if (sealed == -1) {
		sealed = memfd_of("payload", "0123456789abcdef", 16, &e);
		plain = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	for (size_t i = 0; i < n; i++)
		must((fds[i] = fcntl(what & 0x80 && i % 2 ? plain : sealed, F_DUPFD_CLOEXEC, 0)) != -1);
	return n;
}

static void
decode_as(const uint8_t *p, size_t n, unsigned what, unsigned from)
{
	int        fds[LIM_PACKET_FDS];
	struct err e = { 0 };
	struct msg m;
	size_t     nfds = open_some(what, fds);

	if (msg_decode(&m, p, n, fds, nfds, from, &e) == -1) {
		must(e.code != E_NONE && e.text[0] != '\0' && m.body == NULL);
	} else if (m.envelope != ENV_REPLY) {
		must(msg_def(m.type)->from & from);
		eat(m.type, m.body);
		again(&m, from);
	} else if (!m.failed) {
		for (enum msg_type t = MSG_NONE + 1; t < MSG__COUNT; t++) {
			if (msg_expect(&m, t, &e) == -1)
				continue;
			eat(t, m.body);
			again(&m, from);
		}
	}
	msg_clear(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n < 1)
		return 0;
	/* exactly the bytes, so that a look behind them is seen */
	uint8_t *copy = malloc(n);
	memcpy(copy, p + 1, n - 1);
	for (unsigned from = FROM_CLIENT; from <= FROM_FILE; from <<= 1)
		decode_as(copy, n - 1, p[0], from);
	decode_as(copy, n - 1, p[0], FROM_CLIENT | FROM_GATEWAY);
	free(copy);
	return 0;
}
