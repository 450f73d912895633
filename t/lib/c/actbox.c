#include "actbox.h"

#include "base/log.h"
#include "tap.h"
#include "workers/gateway/langbot/json.h"

struct ws             act_ws;
struct actions_shared act_shared;

void
act_open(void)
{
	struct err e;

	log_init("test", LOG_ERROR);
	memset(&act_ws, 0, sizeof(act_ws));
	act_shared.max_rpc_file_bytes = 20971520;
	must(actions_open(&act_ws, &act_shared, &e) != -1, "%s", e.text);
}

void
act_close(void)
{
	fakews_gone(&act_ws);
}

void
act_say(const char *action, const char *data)
{
	struct buf text = { 0 };

	buf_printf(&text, "{\"seq_id\": 7, \"action\": \"%s\", \"data\": %s, \"context\": " CONTEXT "}", action, data);
	buf_append(&text, "", 1);
	fakews_text(&act_ws, text.data);
	buf_clear(&text);
}

const void *
act_asks(const char *action, const char *data, enum msg_type t)
{
	act_say(action, data);
	const struct fake_ask *a = fakews_asked(&act_ws);
	if (!ok(a != NULL && a->type == t, "%s asks %s", action, msg_name(t))) {
		diag("%s", a != NULL ? msg_name(a->type) : fakews_sent(&act_ws));
		BAIL_OUT("nothing to look at");
	}
	return a->msg.body;
}

const char *
act_message(const char *reply)
{
	static char    text[70000];
	msgpack_zone   zone;
	msgpack_object o;
	struct err     e;

	text[0] = '\0';
	if (reply == NULL)
		return "no reply";
	msgpack_zone_init(&zone, 512);
	json_parse(reply, strlen(reply), &zone, &o, &e);
	const msgpack_object *m = json_get(&o, "message");
	if (m != NULL && m->type == MSGPACK_OBJECT_STR && m->via.str.size < sizeof(text)) {
		memcpy(text, m->via.str.ptr, m->via.str.size);
		text[m->via.str.size] = '\0';
	}
	msgpack_zone_destroy(&zone);
	return text;
}

const char *
act_refusal(const char *action, const char *data)
{
	struct msg_done done;

	act_say(action, data);
	const struct fake_ask *a = fakews_asked(&act_ws);
	if (a != NULL && a->type == MSG_BOX_INVALID)
		fakews_answer(&act_ws, a, &done);
	else if (a != NULL) {
		diag("%s became %s", action, msg_name(a->type));
		return "no refusal";
	}
	return act_message(fakews_sent(&act_ws));
}

const char *
act_reply(const void *result)
{
	fakews_answer(&act_ws, fakews_asked(&act_ws), result);
	return fakews_sent(&act_ws);
}
