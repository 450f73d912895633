#include "langbot/envelope.h"

#include <string.h>

#include "base/bounds.h"
#include "base/log.h"
#include "langbot/coerce.h"
#include "langbot/models.h"
#include "python/pystr.h"

enum {
	ERROR_MOST = 4096,         /* characters behind the class */
	ERROR_HUGE = 64 * KIB * 4, /* the same of those that upstream does not cut: no person reads more */
	SEQ_MOST = 8 * KIB,        /* a seq_id is a number, or its digits: what is longer is none */
};

static const char TITLE[] = "ActionRequest";

/* ---- in ------------------------------------------------------------------------------ */

static void
read_seq(struct misfits *m, const struct envelope_in *in)
{
	const char *why;
	wide        v;

	if (in->seq == NULL)
		misfit(m, "seq_id", "Field required");
	else if ((why = coerce_int(in->seq, &v)) != NULL)
		misfit(m, "seq_id", "%s", why);
}

static void
read_action(struct misfits *m, const struct envelope_in *in)
{
	if (in->action->type != MSGPACK_OBJECT_STR)
		misfit(m, "action", "Input should be a valid string");
}

static void
read_data(struct misfits *m, const struct envelope_in *in)
{
	if (in->data == NULL)
		misfit(m, "data", "Field required");
	else if (in->data->type != MSGPACK_OBJECT_MAP)
		misfit(m, "data", "Input should be a valid dictionary");
}

/* A plugin's binding has more, and is stricter. */
static const struct model *
context_model(const msgpack_object *o)
{
	bool plugin = json_get(o, "runtime_revision") != NULL || json_get(o, "artifact_digest") != NULL;

	return plugin ? &model_binding : &model_context;
}

static void
read_context(struct misfits *m, struct envelope_in *in, const msgpack_object *map)
{
	const msgpack_object *o = json_get(map, "context");

	if (o == NULL || o->type == MSGPACK_OBJECT_NIL)
		return;
	const struct model *d = context_model(o);
	buf_printf(&m->at, "context.%s.", d->title);
	in->context.generation = 1;
	model_read(m, d, o, &in->context);
	if (m->nul)
		misfit(m, "", "Value error, must not have a NUL in it");
	m->at.len = 0;
}

/* Streams with acknowledgements; no action here streams, so the wish has no effect. */
static void
read_flow_control(struct misfits *m, const msgpack_object *map)
{
	const msgpack_object *o = json_get(map, "stream_flow_control");
	bool                  one;

	if (o == NULL || o->type == MSGPACK_OBJECT_NIL)
		return;
	if (o->type == MSGPACK_OBJECT_BOOLEAN)
		one = o->via.boolean;
	else if (o->type == MSGPACK_OBJECT_FLOAT64)
		one = o->via.f64 == 1;
	else
		one = o->type == MSGPACK_OBJECT_POSITIVE_INTEGER && o->via.u64 == 1;
	if (!one)
		misfit(m, "stream_flow_control", "Input should be 1");
}

static enum envelope_kind
refuse_misfits(struct envelope_in *in, struct misfits *m)
{
	enum envelope_kind k = ENVELOPE_ACTION;

	if (m->starved)
		buf_printf(&in->refusal, "BoxError: no memory for a message");
	else if (m->n > 0) {
		buf_printf(&in->refusal, "ValidationError: ");
		misfits_print(m, &in->refusal, TITLE);
	}
	if (in->refusal.len > 0)
		k = ENVELOPE_REFUSED;
	misfits_clear(m);
	return k;
}

static enum envelope_kind
ignore(struct err *e, const char *why)
{
	err_set(e, E_VALUE, "%s", why);
	return ENVELOPE_IGNORED;
}

enum envelope_kind
envelope_read(struct envelope_in *in, const char *text, size_t n, msgpack_zone *zone, struct err *e)
{
	struct misfits    m = { .zone = zone };
	msgpack_object   *map = msgpack_zone_malloc(zone, sizeof(*map));
	enum json_verdict v;

	*in = (struct envelope_in){ 0 };
	msg_defaults(MSG_CONTEXT, &in->context);
	if (map == NULL)
		return ignore(e, "no memory for a message");
	if ((v = json_parse(text, n, zone, map, e)) == JSON_BROKEN)
		return ENVELOPE_IGNORED;
	if (map->type != MSGPACK_OBJECT_MAP)
		return ignore(e, "not an object");
	in->seq = json_get(map, "seq_id");
	in->action = json_get(map, "action");
	in->data = json_get(map, "data");
	if (json_get(map, "code") != NULL)
		return ignore(e, "a reply, and nothing was asked");
	if (in->action == NULL)
		return ignore(e, "neither an action nor a reply");
	if (v == JSON_FAULTY) {
		buf_printf(&in->refusal, "%s: %s", err_class(e->code), e->text);
		return ENVELOPE_REFUSED;
	}
	read_seq(&m, in);
	read_action(&m, in);
	read_data(&m, in);
	read_context(&m, in, map);
	read_flow_control(&m, map);
	return refuse_misfits(in, &m);
}

/* ---- out ----------------------------------------------------------------------------- */

void
envelope_seq(struct buf *b, const msgpack_object *seq)
{
	if (seq != NULL)
		json_write(b, seq);
	if (seq == NULL || b->len > SEQ_MOST) {
		b->len = 0;
		buf_printf(b, "-1");
	}
}

void
envelope_success(struct buf *b, const struct buf *seq, const struct buf *data)
{
	static const char none[] = "{}";

	buf_printf(b, "{\"seq_id\": ");
	buf_append(b, seq->data, seq->len);
	buf_printf(b, ", \"code\": 0, \"message\": \"success\", \"data\": ");
	if (data->len > 0)
		buf_append(b, data->data, data->len);
	else
		buf_append(b, none, sizeof(none) - 1);
	buf_printf(b, ", \"chunk_status\": \"continue\"}");
	b->failed |= data->failed || seq->failed;
}

/* Two classes are not cut there, for upstream's handlers make their text themselves. */
static bool
is_cut(const char *text, size_t class)
{
	return !(class == strlen("BoxValidationError") && memcmp(text, "BoxValidationError", class) == 0) &&
	       !(class == strlen("BoxReadinessError") && memcmp(text, "BoxReadinessError", class) == 0);
}

static size_t
class_length(const char *text, size_t n)
{
	const char *colon = memmem(text, n, ": ", 2);

	return colon != NULL ? (size_t)(colon - text) : 0;
}

void
envelope_error(struct buf *b, const struct buf *seq, const char *text, size_t n)
{
	static const char notice[] = "... [protocol error truncated]";
	size_t class = class_length(text, n), begin = class > 0 ? class + 2 : 0;
	size_t     most = is_cut(text, class) ? ERROR_MOST : ERROR_HUGE;
	struct buf cut = { 0 };

	if (py_len(text + begin, n - begin) > most) {
		buf_append(&cut, text, begin + py_prefix(text + begin, n - begin, most));
		buf_append(&cut, notice, sizeof(notice) - 1);
		text = cut.data;
		n = cut.len;
	}
	buf_printf(b, "{\"seq_id\": ");
	buf_append(b, seq->data, seq->len);
	buf_printf(b, ", \"code\": 1, \"message\": ");
	if (!cut.failed)
		json_text(b, text, n);
	buf_printf(b, ", \"data\": {}, \"chunk_status\": \"continue\"}");
	b->failed |= cut.failed || seq->failed;
	buf_clear(&cut);
}
