/*
 * Messages of anybody at LangBot's door, a line each: whatever they are, at most one reply comes of each, which is
 * JSON, and what the supervisor is asked is a message it takes.  It answers with defaults, or refuses.
 */
#include "base/log.h"
#include "fakews.h"
#include "fuzz.h"
#include "values.h"
#include "workers/gateway/langbot/actions.h"
#include "workers/gateway/langbot/json.h"

static struct ws ws;

static void
check_reply(const char *text)
{
	struct err     e;
	msgpack_zone   zone;
	msgpack_object o;

	msgpack_zone_init(&zone, 512);
	must(json_parse(text, strlen(text), &zone, &o, &e) == JSON_GOOD);
	must(json_get(&o, "seq_id") != NULL && json_get(&o, "code") != NULL && json_get(&o, "message") != NULL);
	must(json_get(&o, "data")->type == MSGPACK_OBJECT_MAP && json_is(json_get(&o, "chunk_status"), "continue"));
	msgpack_zone_destroy(&zone);
}

static void
answer(const struct fake_ask *a, unsigned how)
{
	struct values v = { 0 };

	if (how % 4 == 3)
		fakews_fail(&ws, a, E_STATE, "no");
	else
		fakews_answer(&ws, a, fill_body(&v, msg_def(a->type)->result, how % 2 ? FILL_LEAST : FILL_DEFAULT));
	values_clear(&v);
}

static void
say(const char *line, size_t n, unsigned how)
{
	ws.nsent = 0;
	fakews_textn(&ws, line, n);
	must(ws.nsent + ws.nasks <= 1);
	if (ws.nasks == 1) {
		answer(&ws.asks[0], how);
		must(ws.nsent == 1);
		fakews_forget(&ws);
	}
	if (ws.nsent == 1)
		check_reply(ws.sent.data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct actions_shared shared = { .max_rpc_file_bytes = 1000, .legacy_clients = n % 2 };
	const char           *text = (const char *)p, *end = text + n;
	struct err            e;
	unsigned              how = (unsigned)n;

	log_init("fuzz", LOG_ERROR);
	memset(&ws, 0, sizeof(ws));
	must(actions_open(&ws, &shared, &e) == 0);
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t      len = (size_t)((eol != NULL ? eol : end) - text);

		say(text, len, how++);
		text += len + 1;
	}
	fakews_gone(&ws);
	must(shared.upload_bytes == 0);
	return 0;
}
