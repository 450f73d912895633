/*
 * The bytes of a managed process.
 *
 * Out: init sends one stream from a position, and drops nothing from there on.  Two may want
 * it, from different positions: the search for what makes the process ready, and the client
 * that is attached.  The stream begins where the first of them is; each skips what
 * it has seen.  Without either, init keeps the last of it by itself.
 *
 * In: writes wait here, in order; one piece at a time is in init's hands.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "process/process.h"

static void
blob_skip(struct blob *b, uint64_t n)
{
	if (b->data != NULL)
		b->data = (const char *)b->data + n;
	b->offset += n;
	b->len -= (size_t)n;
}

/* ---- readiness -------------------------------------------------------------------------- */

/*
 * libc's matcher takes time and memory out of all proportion for repeat counts within repeat counts
 * and for back references; neither is needed to know a line.
 */
static bool
is_harmless(const char *pattern)
{
	for (const char *p = pattern; *p != '\0'; p++) {
		if (*p == '{')
			return false;
		if (*p == '\\' && p[1] >= '1' && p[1] <= '9')
			return false;
		if (*p == '\\' && p[1] != '\0')
			p++;
	}
	return true;
}

int
pattern_compile(regex_t *re, const char *pattern, struct err *e)
{
	char why[256];

	if (!is_harmless(pattern))
		return err_set(e, E_INVALID,
		    "spec.ready_pattern: repeat counts {n} and back references are not taken; write \\{ for a brace");
	int r = regcomp(re, pattern, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
	if (r == 0)
		return 0;
	regerror(r, re, why, sizeof(why));
	return err_set(e, E_INVALID, "spec.ready_pattern: %s", why);
}

void
process_await_ready(struct process *p)
{
	p->scanning = p->state == PROCESS_STARTING;
	p->scan_pos = p->record.stdout_offset;
	buf_clear(&p->line);
	p->skipped = false;
	if (p->scanning && p->attach == 0) /* else the stream runs already, and must not start again */
		process_follow(p);
}

static void
become_ready(struct process *p)
{
	struct packet about = { 0 };
	struct err    e;

	p->scanning = false;
	p->state = PROCESS_RUNNING;
	p->record.ready = true;
	buf_clear(&p->line);
	if (process_encode_record(p, &about, &e) == 0) {
		struct msg_remember m = { .exec = p->exec, .about = blob_of(about.bytes.data, about.bytes.len) };

		link_tell(p->worker->down, MSG_REMEMBER, 0, 0, &m);
	}
	packet_clear(&about);
	log_debug("session=%lu process=%s ready", p->worker->about.id, process_name(p));
}

/* A NUL in a line is a character like another. */
static bool
line_matches(struct process *p)
{
	if (buf_reserve(&p->line, 1) == -1)
		return false;
	for (size_t i = 0; i < p->line.len; i++)
		if (p->line.data[i] == '\0')
			p->line.data[i] = ' ';
	p->line.data[p->line.len] = '\0';
	return regexec(p->pattern, p->line.data, 0, NULL, 0) == 0;
}

/* Whole lines; of a very long one only its beginning. */
static bool
scan_lines(struct process *p, const char *bytes, size_t n)
{
	while (n > 0) {
		const char *newline = memchr(bytes, '\n', n);
		size_t      part = newline != NULL ? (size_t)(newline - bytes) : n;
		size_t      room = LIM_READY_LINE - p->line.len;

		if (!p->skipped)
			buf_append(&p->line, bytes, part < room ? part : room);
		bool whole = newline != NULL || p->line.len == LIM_READY_LINE;
		if (whole && !p->skipped && line_matches(p))
			return true;
		p->skipped = newline == NULL && (p->skipped || whole);
		if (whole)
			p->line.len = 0;
		part += newline != NULL;
		bytes += part;
		n -= part;
	}
	return false;
}

static void
scan(struct process *p, uint64_t offset, struct blob data)
{
	struct buf bytes = { 0 };
	struct err ignored;
	size_t     len = data.len;

	if (offset + len <= p->scan_pos)
		return;
	if (offset < p->scan_pos)
		blob_skip(&data, p->scan_pos - offset);
	p->scan_pos = offset + len;
	if (p->record.spec.ready == READY_WHEN_OUTPUT) {
		become_ready(p);
		return;
	}
	if (blob_read(&data, &bytes, &ignored) == 0 && scan_lines(p, bytes.data, bytes.len))
		become_ready(p);
	buf_clear(&bytes);
}

/* ---- the stream ---------------------------------------------------------------------------- */

/* Unless somebody wants it. */
void
process_unfollow(struct process *p)
{
	if (p->scanning || p->attach != 0)
		return;
	if (p->followed && p->exec != 0)
		link_tell(p->worker->down, MSG_DETACH, 0, 0, &(struct msg_detach){ .call = p->exec });
	p->followed = false;
}

/* Of what the client got before this offset it has not acknowledged so much; never more than its window. */
static uint64_t
unread_before(const struct process *p, uint64_t offset)
{
	uint64_t n = offset > p->attach_acked ? offset - p->attach_acked : 0;

	return n < p->window ? n : p->window;
}

/* Begin it where the first is that wants it; what is before that, and before what its client owes, counts as acknowledged. */
void
process_follow(struct process *p)
{
	struct worker    *w = p->worker;
	struct msg_follow ask = { .exec = p->exec, .offset = UINT64_MAX, .window = OWN_WINDOW };
	struct err        e;

	if (p->exec == 0)
		return;
	if (!p->scanning && p->attach == 0) {
		process_unfollow(p);
		return;
	}
	if (p->scanning)
		ask.offset = p->scan_pos;
	if (p->attach != 0) {
		ask.window = p->window;
		ask.offset = p->attach_pos < ask.offset ? p->attach_pos : ask.offset;
		ask.unread = unread_before(p, ask.offset);
	}
	p->followed = true;
	p->follow = process_ask(w, p, ASK_FOLLOW, 0, MSG_FOLLOW, &ask, &e);
	if (p->follow == 0 && p->attach != 0)
		process_drop_reader(p, &e);
}

void
process_followed(struct process *p, uint64_t ask, const struct msg *m)
{
	struct err e;

	if (ask != p->follow)
		return; /* another has been asked for since */
	p->follow = 0;
	if (m->failed || msg_expect((struct msg *)m, MSG_FOLLOWED, &e) == -1) {
		process_drop_reader(p, m->failed ? &m->error : &e);
		return;
	}
	const struct msg_followed *f = m->body;
	if (p->attach != 0 && p->attach_pos <= p->read_to && f->from > p->read_to)
		log_warn("session=%lu process=%s dropped=%lu bytes of output that nobody had read", p->worker->about.id,
		    process_name(p), f->from - p->read_to);
	if (p->attach_pos < f->from)
		p->attach_pos = f->from;
	if (p->attach_pos > f->end)
		p->attach_pos = f->end;
	if (p->scan_pos < f->from)
		p->scan_pos = f->from;
	process_end_reader(p);
}

static void
acknowledge(struct process *p, uint64_t offset, bool unread)
{
	struct msg_output_ack a = { .call = p->exec, .stream = STREAM_STDOUT, .offset = offset, .unread = unread };

	if (p->exec != 0)
		link_tell(p->worker->down, MSG_OUTPUT_ACK, 0, 0, &a);
}

void
process_read(struct process *p, uint64_t offset)
{
	if (offset > p->attach_acked)
		p->attach_acked = offset;
	if (offset > p->read_to)
		p->read_to = offset;
	acknowledge(p, offset, false);
}

uint64_t
process_goes_on_at(const struct process *p, uint64_t again)
{
	return p->read_to > again ? p->read_to - again : 0;
}

static void
pass_on(struct process *p, uint64_t offset, struct blob data)
{
	uint64_t   end = offset + data.len;
	struct err e = { 0 };

	if (end <= p->attach_pos) { /* read again for readiness alone: the client does not acknowledge it */
		acknowledge(p, end, true);
		return;
	}
	if (offset < p->attach_pos) {
		blob_skip(&data, p->attach_pos - offset);
		offset = p->attach_pos;
	}
	struct msg_output o = { .call = p->attach, .stream = STREAM_STDOUT, .offset = offset, .data = data };
	p->attach_pos = end;
	if (link_send(p->worker->up, MSG_OUTPUT, 0, 0, &o, &e) == -1)
		process_drop_reader(p, &e);
}

bool
processes_output(struct worker *w, const struct msg_output *o)
{
	struct process *p;

	if (w->processes == NULL)
		return false;
	TAILQ_FOREACH (p, &w->processes->all, next)
		if (p->exec == o->call || p->before == o->call)
			break;
	if (p == NULL)
		return false;
	if (p->follow != 0 || o->stream != STREAM_STDOUT)
		return true;
	if (p->scanning)
		scan(p, o->offset, o->data);
	if (p->attach != 0)
		pass_on(p, o->offset, o->data);
	else
		acknowledge(p, o->offset + o->data.len, true);
	if (p->attach == 0 && !p->scanning)
		process_follow(p);
	process_end_reader(p);
	return true;
}

/* ---- whoever is attached -------------------------------------------------------------------- */

void
process_attach(struct process *p, uint64_t request, uint64_t offset, uint64_t acked, uint64_t window)
{
	struct err why;

	if (p->attach != 0) {
		err_set(&why, E_STATE, "somebody else attached to process %s", process_name(p));
		link_tell_failure(p->worker->up, p->attach, 0, &why);
	}
	p->attach = request;
	p->attach_pos = offset;
	p->attach_acked = acked;
	p->window = window;
	process_follow(p);
	process_end_reader(p);
}

void
process_drop_reader(struct process *p, const struct err *why)
{
	if (p->attach == 0)
		return;
	link_tell_failure(p->worker->up, p->attach, 0, why);
	p->attach = 0;
	process_follow(p);
}

void
process_end_reader(struct process *p)
{
	uint64_t request = p->attach;

	if (request == 0 || process_is_live(p) || p->follow != 0)
		return;
	if (p->exec != 0 && p->attach_pos < p->total)
		return;
	p->attach = 0;
	process_follow(p);
	process_tell(p, request, 0);
}

/* ---- input --------------------------------------------------------------------------------- */

static void
input_done(struct process *p, struct input *in, const struct err *why)
{
	struct msg_done done;

	if (why != NULL)
		link_tell_failure(p->worker->up, in->request, 0, why);
	else
		link_tell_reply(p->worker->up, MSG_DONE, in->request, 0, &done);
	assert(p->input_count > 0 && p->input_bytes >= in->bytes.len);
	p->input_bytes -= in->bytes.len;
	p->input_count--;
	TAILQ_REMOVE(&p->inputs, in, next);
	buf_clear(&in->bytes);
	free(in);
}

void
process_fail_inputs(struct process *p, const struct err *why)
{
	while (!TAILQ_EMPTY(&p->inputs))
		input_done(p, TAILQ_FIRST(&p->inputs), why);
}

/* The next piece of the first write, if there is one and none is on its way. */
static void
feed_next(struct process *p)
{
	struct input   *in = TAILQ_FIRST(&p->inputs);
	struct msg_feed feed = { .exec = p->exec };
	struct err      e;

	if (in == NULL || in->on_way)
		return;
	size_t n = in->bytes.len - in->at;
	if (n > LIM_FEED)
		n = LIM_FEED;
	feed.data = blob_of(in->bytes.data + in->at, n);
	feed.eof = in->eof && in->at + n == in->bytes.len;
	if (process_ask(p->worker, p, ASK_FEED, in->request, MSG_FEED, &feed, &e) == 0)
		process_fail_inputs(p, &e);
	else {
		in->asked = in->at + n;
		in->on_way = true;
	}
}

void
process_fed(struct process *p, uint64_t request, const struct msg *m)
{
	struct input *in = TAILQ_FIRST(&p->inputs);
	struct err    why;

	if (in == NULL || in->request != request)
		return; /* it was failed meanwhile, when the process ended */
	if (m->failed) {
		err_set(&why, m->error.code, "process %s: %s", process_name(p), m->error.text);
		process_fail_inputs(p, &why);
		return;
	}
	in->at = in->asked;
	in->on_way = false;
	if (in->at == in->bytes.len)
		input_done(p, in, NULL);
	feed_next(p);
}

int
process_input(struct process *p, uint64_t request, const struct msg_process_write *m, struct err *e)
{
	if (p->state != PROCESS_STARTING && p->state != PROCESS_RUNNING)
		return err_set(e, E_NOTRUNNING, "process %s is not running: %s", process_name(p),
		    msg_enum_name(MSG_PROCESS_INFO, "state", (int)p->state));
	if (p->input_bytes + m->data.len > LIM_WRITE || p->input_count == LIM_WRITES)
		return err_set(e, E_BUSY, "process %s does not read: %zu bytes wait for its standard input",
		    process_name(p), p->input_bytes);
	struct input *in = calloc(1, sizeof(*in));
	if (in == NULL || blob_read(&m->data, &in->bytes, e) == -1) {
		if (in != NULL)
			buf_clear(&in->bytes);
		free(in);
		return err_set(e, E_SYS, "no memory for standard input");
	}
	in->request = request;
	in->eof = m->eof;
	p->input_bytes += in->bytes.len;
	p->input_count++;
	TAILQ_INSERT_TAIL(&p->inputs, in, next);
	feed_next(p);
	return 0;
}
