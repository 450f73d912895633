#include "relayws.h"

#include <stdio.h>
#include <string.h>

enum { HEADER = 2, LOW_WATER = 65536 };

/* ---- ws.h ---- */

void
ws_seat(struct ws *w, const struct ws_handler *ops, void *guest)
{
	w->ops = ops;
	w->guest = guest;
}

void
ws_send_text(struct ws *w, struct buf *text)
{
	if (w->finished || w->n == RELAYWS_TEXTS) {
		buf_clear(text);
		return;
	}
	if (w->full)
		w->queued += text->len + HEADER;
	if (w->queued > w->queued_top)
		w->queued_top = w->queued;
	w->texts[w->n++] = *text;
	*text = (struct buf){ 0 };
}

size_t
ws_queued(const struct ws *w)
{
	return w->queued;
}

void
ws_hold(struct ws *w)
{
	w->held = true;
}

void
ws_release(struct ws *w)
{
	w->held = false;
}

void
ws_finish(struct ws *w, unsigned code, const char *reason)
{
	w->finished = true;
	w->code = code;
	snprintf(w->reason, sizeof(w->reason), "%s", reason);
}

int
ws_ask(struct ws *w, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	if (w->broken)
		return err_set(e, E_SYS, "the channel is full");
	if (t == MSG_PROCESS_ATTACH) {
		w->attach = *(const struct msg_process_attach *)body;
		w->attaches += id == 1;
	} else if (t == MSG_OUTPUT_ACK) {
		w->acked = ((const struct msg_output_ack *)body)->offset;
		w->acks++;
	} else if (t == MSG_PROCESS_WRITE) {
		const struct msg_process_write *m = body;

		buf_append(&w->written, m->data.data, m->data.len);
		if (m->data.len > w->most_written)
			w->most_written = m->data.len;
		w->writes++;
		w->write = id;
	}
	return 0;
}

uint64_t
ws_conn(const struct ws *w)
{
	return 7;
}

/* ---- the test's side ---- */

int
relayws_open(struct ws *w, bool lines, uint64_t line_bytes, struct err *e)
{
	const struct relay_plan plan = {
		.session = "ws-1-s", .process = "mcp", .lines = lines, .line_bytes = line_bytes
	};

	return relay_open(w, &plan, e);
}

void
relayws_close(struct ws *w)
{
	if (w->ops != NULL)
		w->ops->on_gone(w->guest);
	for (size_t i = 0; i < w->n; i++)
		buf_clear(&w->texts[i]);
	buf_clear(&w->written);
	memset(w, 0, sizeof(*w));
}

/* Over the wire, as it is: encoded by the supervisor, decoded by the gateway. */
static void
deliver(struct ws *w, struct packet *p)
{
	struct msg m;
	struct err e;

	if (msg_decode(&m, p->bytes.data, p->bytes.len, p->fds, p->nfds, FROM_SUPERVISOR, &e) == 0)
		w->ops->on_msg(w->guest, &m);
	msg_clear(&m);
	p->nfds = 0; /* the message had them */
	packet_clear(p);
}

void
relayws_output(struct ws *w, uint64_t offset, const void *bytes, size_t n)
{
	struct msg_output o = { .call = 1, .stream = STREAM_STDOUT, .offset = offset, .data = blob_of(bytes, n) };
	struct packet     p = { 0 };
	struct err        e;

	if (msg_encode(&p, MSG_OUTPUT, 0, 0, &o, &e) == 0)
		deliver(w, &p);
}

void
relayws_ended(struct ws *w, int exit_code)
{
	struct msg_process_info info;
	struct packet           p = { 0 };
	struct err              e;

	msg_defaults(MSG_PROCESS_INFO, &info);
	info.session = "ws-1-s";
	info.process = "mcp";
	info.state = PROCESS_EXITED;
	info.exit_code = exit_code;
	if (msg_encode_reply(&p, MSG_PROCESS_INFO, 1, 0, &info, &e) == 0)
		deliver(w, &p);
}

void
relayws_fail(struct ws *w, uint64_t id, enum err_code code, const char *text)
{
	struct packet p = { 0 };
	struct err    why, e;

	err_set(&why, code, "%s", text);
	if (msg_encode_error(&p, id, 0, &why, &e) == 0)
		deliver(w, &p);
}

void
relayws_written(struct ws *w)
{
	struct packet p = { 0 };
	struct err    e;
	uint64_t      id = w->write;

	w->write = 0;
	if (msg_encode_reply(&p, MSG_DONE, id, 0, &(struct msg_done){}, &e) == 0)
		deliver(w, &p);
}

void
relayws_take(struct ws *w, size_t n)
{
	w->queued -= n == 0 || n > w->queued ? w->queued : n;
	if (w->queued <= LOW_WATER)
		w->ops->on_drained(w->guest);
}

void
relayws_text(struct ws *w, const char *text)
{
	w->ops->on_text(w->guest, text, strlen(text));
}
