/* What a connection says about its own actions: cancel one, acknowledge a stream. */
#include "langbot/action.h"
#include "langbot/coerce.h"

/* actions.c finds the request. */
enum outcome
read_cancel(struct job *j)
{
	const msgpack_object *o = json_get(j->data, "seq_id");
	wide                  seq;

	return o != NULL && strict_int(o, &seq) ? ASK
						: refuse(j, "ValueError", "Cancellation requires an integer seq_id");
}

/* No action here streams, so there is never a stream of that number. */
enum outcome
read_stream_ack(struct job *j)
{
	const msgpack_object *seq = json_get(j->data, "seq_id"), *index = json_get(j->data, "index");
	wide                  v;

	if (seq == NULL || index == NULL || !strict_int(seq, &v) || !strict_int(index, &v))
		return refuse(j, "ValueError", "Stream acknowledgement requires integer sequence and index");
	json_open(&j->answer, '{');
	json_key_bool(&j->answer, "accepted", false);
	json_close(&j->answer, '}');
	return GIVEN;
}

void
shape_cancelled(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_cancelled *r = result;

	json_open(b, '{');
	json_key_bool(b, "cancelled", r->cancelled);
	json_close(b, '}');
}
