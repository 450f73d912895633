#include "langbot/envelope.h"

#include <assert.h>
#include <string.h>

#include "base/bounds.h"
#include "base/log.h"
#include "langbot/coerce.h"
#include "langbot/models.h"
#include "python/pystr.h"

enum {
	ERROR_MOST = 4096,         /* characters behind the class */
	ERROR_HUGE = 64 * KIB * 4, /* the same for classes that upstream does not cut: no person reads more */
	SEQ_MOST = 8 * KIB,        /* bytes of a seq_id: it is a number, or its digits */
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

/* A plugin's binding has more fields, and stricter ones. */
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

/* Whether streams are acknowledged.  No action here streams, so the value is only checked. */
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

	if (m->starved) {
		in->class = "BoxError";
		buf_printf(&in->refusal, "no memory for a message");
	} else if (m->n > 0) {
		in->class = "ValidationError";
		misfits_print(m, &in->refusal, TITLE);
	}
	if (in->class != NULL)
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
		in->class = err_class(e->code);
		buf_printf(&in->refusal, "%s", e->text);
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
	assert(b->len == 0);
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

/* Upstream does not cut these two classes: its handlers make their text themselves. */
static bool
is_cut(const char *class)
{
	return class == NULL || (strcmp(class, "BoxValidationError") != 0 && strcmp(class, "BoxReadinessError") != 0);
}

static void
print_error(struct buf *b, const char *class, const char *text, size_t n)
{
	static const char notice[] = "... [protocol error truncated]";
	size_t            most = is_cut(class) ? ERROR_MOST : ERROR_HUGE;
	bool              long_text = py_len(text, n) > most;

	if (class != NULL)
		buf_printf(b, "%s: ", class);
	buf_append(b, text, long_text ? py_prefix(text, n, most) : n);
	if (long_text)
		buf_append(b, notice, sizeof(notice) - 1);
}

void
envelope_error(struct buf *b, const struct buf *seq, const char *class, const char *text, size_t n)
{
	struct buf message = { 0 };

	print_error(&message, class, text, n);
	buf_printf(b, "{\"seq_id\": ");
	buf_append(b, seq->data, seq->len);
	buf_printf(b, ", \"code\": 1, \"message\": ");
	if (!message.failed)
		json_text(b, message.data, message.len);
	buf_printf(b, ", \"data\": {}, \"chunk_status\": \"continue\"}");
	b->failed |= message.failed || seq->failed;
	buf_clear(&message);
}
