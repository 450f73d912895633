/* Sessions, their commands' results and their processes, as LangBot's client wants them: keys in its order. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "langbot/action.h"
#include "python/pystr.h"
#include "python/outtext.h"

enum {
	ROOM = LIM_WS_MESSAGE - 64 * KIB, /* of a reply, for the two streams of a result */
	PREVIEW = 4000,                   /* characters of a process's standard error */
};

void
shape_time(struct buf *b, const char *key, uint64_t us, const char *zone)
{
	time_t    sec = (time_t)(us / 1000000);
	struct tm utc = { 0 };
	char      text[64] = "";

	gmtime_r(&sec, &utc);
	size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	if (us % 1000000 != 0)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ".%06u", (unsigned)(us % 1000000));
	snprintf(text + n, sizeof(text) - n, "%s", zone);
	json_key_str(b, key, text);
}

static void
text_or_null(struct buf *b, const char *key, const char *v)
{
	json_key(b, key);
	if (*v != '\0')
		json_str(b, v);
	else
		json_nil(b);
}

/* ---- results --------------------------------------------------------------------- */

/* A character of ASCII, as JSON has it. */
static size_t
cost(char c)
{
	if (c != '\0' && strchr("\b\t\n\f\r\"\\", c) != NULL)
		return 2;
	return c < 0x20 || c == 0x7f ? strlen("\\u0000") : 1;
}

/* The bytes of it that fit, in whole characters; *room is what they leave. */
static size_t
fit(const struct buf *b, size_t *room)
{
	size_t   n = 0;
	uint32_t c;

	while (n < b->len) {
		int    bytes = utf8_next(b->data + n, b->len - n, &c);
		size_t need = c < 0x80 ? cost((char)c) : bytes > 0 ? (size_t)bytes : strlen("\xef\xbf\xbd");

		if (need > *room)
			break;
		*room -= need;
		n += (size_t)abs(bytes);
	}
	return n;
}

/* The output of one stream: characters, without blanks around them, and a notice when there was more. */
static void
put_stream(struct buf *out, struct buf *bytes, size_t most, uint64_t total)
{
	total = total > bytes->len ? total : bytes->len;
	outtext_clean(out, bytes->data, bytes->len < most ? bytes->len : most, total);
	out->failed |= bytes->failed;
	buf_clear(bytes);
}

/*
 * Both streams may be as long as a whole message, or become so when they are escaped.  A reply that is too long would be
 * lost, so they are cut: standard error has a half, and what it leaves is standard output's too.
 */
static void
put_streams(struct buf *out, struct buf *err, const struct msg_box_result *r)
{
	struct buf bytes[2] = { 0 };
	struct err e;

	if (blob_read(&r->stdout, &bytes[0], &e) == -1 || blob_read(&r->stderr, &bytes[1], &e) == -1)
		out->failed = true;
	size_t left = ROOM / 2;
	size_t stderr_most = fit(&bytes[1], &left);
	left += ROOM / 2;
	size_t stdout_most = fit(&bytes[0], &left);
	put_stream(out, &bytes[0], stdout_most, r->stdout_bytes);
	put_stream(err, &bytes[1], stderr_most, r->stderr_bytes);
}

static void
key_text(struct buf *b, const char *key, struct buf *text)
{
	json_key(b, key);
	json_text(b, text->data != NULL ? text->data : "", text->len);
	b->failed |= text->failed;
	buf_clear(text);
}

void
shape_result(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_result *r = result;
	struct buf                   out = { 0 }, err = { 0 };

	put_streams(&out, &err, r);
	if (*r->notice != '\0')
		buf_printf(&err, "%s%s", err.len > 0 ? "\n" : "", r->notice);
	json_open(b, '{');
	json_key_str(b, "session_id", r->session_id);
	json_key_str(b, "backend_name", r->backend);
	json_key_str(b, "status", r->timed_out ? "timed_out" : "completed");
	json_key(b, "exit_code");
	if (r->timed_out)
		json_nil(b);
	else
		json_i64(b, r->exit_code);
	key_text(b, "stdout", &out);
	key_text(b, "stderr", &err);
	json_key_u64(b, "duration_ms", r->duration_ms);
	json_close(b, '}');
}

/* ---- processes --------------------------------------------------------------------- */

static void
put_strs(struct buf *b, const char *key, const struct strs *s, size_t from)
{
	json_key(b, key);
	json_open(b, '[');
	for (size_t i = from; i < s->n; i++) {
		json_item(b);
		json_str(b, s->v[i]);
	}
	json_close(b, ']');
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The last of it, in whole characters. */
static void
put_preview(struct buf *b, const struct blob *kept)
{
	struct buf bytes = { 0 }, text = { 0 };
	struct err e;

	if (blob_read(kept, &bytes, &e) == -1)
		b->failed = true;
	utf8_append(&text, bytes.data, bytes.len);
	size_t      n = text.len, whole;
	const char *p = n > 0 ? py_strip(text.data, &n) : "";
	if ((whole = py_len(p, n)) > PREVIEW) {
		size_t skip = py_prefix(p, n, whole - PREVIEW);

		p += skip;
		n -= skip;
	}
	json_key(b, "stderr_preview");
	json_text(b, p, n);
	b->failed |= bytes.failed || text.failed;
	buf_clear(&bytes);
	buf_clear(&text);
}

static void
put_process(struct buf *b, const struct msg_box_process *p)
{
	const struct msg_process_info *i = &p->info;
	bool                           ended = i->state == PROCESS_EXITED || i->state == PROCESS_FAILED;

	if (i->env_keys.n > 1) /* the order is promised to LangBot; whoever told them may have another */
		qsort(i->env_keys.v, i->env_keys.n, sizeof(*i->env_keys.v), by_name);
	json_open(b, '{');
	json_key_str(b, "session_id", p->session_id);
	json_key_str(b, "process_id", i->process);
	json_key_str(b, "status", ended ? "exited" : "running");
	json_key_str(b, "command", i->argv.n > 0 ? i->argv.v[0] : "");
	put_strs(b, "args", &i->argv, 1);
	json_key_str(b, "cwd", i->workdir);
	put_strs(b, "env_keys", &i->env_keys, 0);
	json_key_bool(b, "attached", i->attached);
	shape_time(b, "started_at", i->started_ms * 1000, "Z");
	if (ended)
		shape_time(b, "exited_at", i->exited_ms * 1000, "Z");
	else
		text_or_null(b, "exited_at", "");
	json_key(b, "exit_code");
	if (ended)
		json_i64(b, p->exit_code);
	else
		json_nil(b);
	put_preview(b, &i->stderr_preview);
	json_close(b, '}');
}

void
shape_process(struct buf *b, const struct asked *asked, const void *result)
{
	put_process(b, result);
}

/* ---- sessions ------------------------------------------------------------------------ */

static void
put_limits(struct buf *b, const struct msg_spec *s)
{
	json_key_bool(b, "persistent", s->persistent);
	json_key(b, "cpus");
	json_f64(b, s->cpus);
	json_key_u64(b, "memory_mb", s->memory_mb);
	json_key_u64(b, "pids_limit", s->pids_limit);
	json_key_bool(b, "read_only_rootfs", s->read_only_rootfs);
	json_key_u64(b, "workspace_quota_mb", s->workspace_quota_mb);
}

/* With none of them both keys are absent: clients test for that. */
static void
put_processes(struct buf *b, const struct msg_box_session *s)
{
	if (s->processes.n == 0)
		return;
	json_key(b, "managed_processes");
	json_open(b, '{');
	for (size_t i = 0; i < s->processes.n; i++) {
		json_key(b, s->processes.v[i].info.process);
		put_process(b, &s->processes.v[i]);
	}
	json_close(b, '}');
	for (size_t i = 0; i < s->processes.n; i++)
		if (strcmp(s->processes.v[i].info.process, "default") == 0) {
			json_key(b, "managed_process");
			put_process(b, &s->processes.v[i]);
			return;
		}
}

static void
put_session(struct buf *b, const struct msg_box_session *s)
{
	json_open(b, '{');
	json_key_str(b, "session_id", s->session_id);
	json_key_str(b, "backend_name", s->backend);
	json_key_str(b, "backend_session_id", s->backend_session_id);
	json_key_str(b, "image", s->spec.image);
	json_key_str(b, "network", msg_enum_name(MSG_SPEC, "network", s->spec.network));
	text_or_null(b, "host_path", s->spec.host_path);
	json_key_str(b, "host_path_mode", msg_enum_name(MSG_SPEC, "host_path_mode", s->spec.host_path_mode));
	json_key_str(b, "mount_path", s->spec.mount_path);
	put_limits(b, &s->spec);
	shape_time(b, "created_at", s->created_us, "Z");
	shape_time(b, "last_used_at", s->last_used_us, "Z");
	if (*s->notice != '\0')
		json_key_str(b, "notice", s->notice);
	json_key_str(b, "status", s->running ? "running" : "idle"); /* one that is closing is not told */
	put_processes(b, s);
	json_close(b, '}');
}

void
shape_session(struct buf *b, const struct asked *asked, const void *result)
{
	put_session(b, result);
}

void
shape_sessions(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_box_sessions *r = result;

	json_open(b, '{');
	json_key(b, "sessions");
	json_open(b, '[');
	for (size_t i = 0; i < r->sessions.n; i++) {
		json_item(b);
		put_session(b, &r->sessions.v[i]);
	}
	json_close(b, ']');
	json_close(b, '}');
}
