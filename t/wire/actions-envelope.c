/* The outside of a message: whose it is, what is answered, what is passed over, and how many may wait. */
#include "actbox.h"
#include "tap.h"

static struct msg_done done;

static const char *
told(const char *text)
{
	fakews_text(&act_ws, text);
	const struct fake_ask *a = fakews_asked(&act_ws);
	if (a != NULL)
		fakews_answer(&act_ws, a, &done);
	return fakews_sent(&act_ws);
}

static void
test_seq(void)
{
	static const char *const wishes[] = { "1", "null", "true", "1.0" };
	char                     text[120];

	is(told("{\"seq_id\": 48213, \"action\": \"__ping\", \"data\": {}}"),
	    "{\"seq_id\": 48213, \"code\": 0, \"message\": \"success\", \"data\": {}, \"chunk_status\": \"continue\"}",
	    "a ping, as the reference shows it");
	is(told("{\"data\":{},\"action\":\"__ping\",\"seq_id\":\"0042\"}"),
	    "{\"seq_id\": \"0042\", \"code\": 0, \"message\": \"success\", \"data\": {}, \"chunk_status\": "
	    "\"continue\"}",
	    "a seq_id that is a text comes back as it was");
	like(told("{\"seq_id\": 123456789012345678901234567890, \"action\": \"__ping\", \"data\": {}}"),
	    "^\\{\"seq_id\": 123456789012345678901234567890, \"code\": 0,", "and one of 100 bits");
	like(told("{\"seq_id\": true, \"action\": \"__ping\", \"data\": {}, \"more\": [1]}"),
	    "^\\{\"seq_id\": true, \"code\": 0,", "keys that are not known are passed over");
	for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++) {
		snprintf(text, sizeof(text),
		    "{\"seq_id\": 8, \"action\": \"__ping\", \"data\": {}, \"stream_flow_control\": %s}", wishes[i]);
		like(told(text), "^\\{\"seq_id\": 8, \"code\": 0,", "stream_flow_control %s is an ordinary ping",
		    wishes[i]);
	}
	is(told("{\"action\": \"__ping\", \"data\": {}}"),
	    "{\"seq_id\": -1, \"code\": 1, \"message\": \"ValidationError: 1 validation error for "
	    "ActionRequest\\nseq_id\\n"
	    "  Field required\", \"data\": {}, \"chunk_status\": "
	    "\"continue\"}",
	    "without one it is -1");
}

static void
test_ignored(void)
{
	static const char *const texts[] = { "{bad", "", "[]", "5", "null", "\"x\"", "{}",
		"{\"seq_id\": 5, \"data\": {}}", "{\"code\":0,\"action\":\"__ping\",\"seq_id\":3}",
		"{\"seq_id\": 3, \"code\": null, \"action\": \"box_exec\"}",
		"{\"seq_id\": 3, \"action\": \"__ping\", \"data\": {}",
		"{\"seq_id\": 3, \"action\": \"__ping\", \"data\": {}}}" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ok(told(texts[i]) == NULL && fakews_asked(&act_ws) == NULL && act_ws.finished == 0, "%s: no answer",
		    texts[i]);
	like(told("{\"seq_id\": 6, \"action\": \"__ping\", \"data\": {}}"), "\"seq_id\": 6, \"code\": 0",
	    "and life goes on");
}

static void
test_invalid(void)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "{\"seq_id\": 5, \"action\": \"__ping\"}",
		    "^ValidationError: 1 validation error for ActionRequest\ndata\n  Field req" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": []}",
		    "\ndata\n  Input should be a valid dictionary$" },
		{ "{\"seq_id\": 5, \"action\": 7, \"data\": {}}", "\naction\n  Input should be a valid string$" },
		{ "{\"seq_id\": \"x\", \"action\": 7}",
		    "^ValidationError: 3 validation errors for ActionRequest\nseq_id\n" },
		{ "{\"seq_id\": 5, \"action\": \"box_exec\", \"data\": {}, \"context\": 5}",
		    "\ncontext.ActionContext\n  Input should be a valid dictionary" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": \" \", "
		  "\"workspace_uuid\": \"w\"}}",
		    "\ncontext.ActionContext.instance_uuid\n  Value error, must not be empty" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": \"i\"}}",
		    "\ncontext.ActionContext.workspace_uuid\n  Field required" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": \"i\", "
		  "\"workspace_uuid\": \"w\", \"x\": 1}}",
		    "\ncontext.ActionContext.x\n  Extra inputs are not permitted$" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": \"i\", "
		  "\"workspace_uuid\": \"w\", "
		  "\"placement_generation\": 0}}",
		    "Value error, placement_generation must be greater than or equal to 1" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": \"i\", "
		  "\"workspace_uuid\": \"w\", "
		  "\"runtime_revision\": 1}}",
		    "context.InstallationBinding.installation_uuid\n  Field required" },
		{ "{\"seq_id\": 5, \"action\": \"box_status\", \"data\": {}, \"context\": {\"instance_uuid\": "
		  "\"i\\u0000\", \"workspace_uuid\": \"w\"}}",
		    "must not have a NUL in it" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": {}, \"stream_flow_control\": 2}",
		    "^ValidationError: 1 validation error for ActionRequest\nstream_flow_control\n  Input should be "
		    "1$" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": {}, \"stream_flow_control\": \"1\"}",
		    "\nstream_flow_control\n  Input should be 1$" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": {}, \"stream_flow_control\": false}",
		    "\nstream_flow_control\n  Input should be 1$" },
		{ "{\"seq_id\": 5, \"action\": \"__heartbeat\", \"data\": {}}",
		    "^ValueError: Action __heartbeat not found$" },
		{ "{\"seq_id\": 5, \"action\": \"\", \"data\": {}}", "^ValueError: Action  not found$" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": {\"a\": 1, \"a\": 2}}",
		    "^ValueError: JSON has the key 'a' twice$" },
		{ "{\"seq_id\": 5, \"action\": \"__ping\", \"data\": {\"a\": NaN}}",
		    "^ValueError: JSON has no NaN and no Infinity$" },
		{ "{\"action\": \"__ping\", \"data\": {\"a\": \"\\ud800\"}, \"seq_id\": 5}",
		    "^ValueError: JSON has half a surrogate pair$" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *reply = told(rows[i].text);

		like(act_message(reply), rows[i].why, "%.70s", rows[i].text);
		ok(reply != NULL && strstr(reply, "\"code\": 1") != NULL, "is an error");
	}
}

static void
test_context(void)
{
	static const struct {
		const char *text;
		uint64_t    generation;
	} rows[] = {
		{ "{\"instance_uuid\": \" i \", \"workspace_uuid\": \"w\\u3000\", \"placement_generation\": \"2\"}",
		    2 },
		{ "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"placement_generation\": 2.0}", 2 },
		{ "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"placement_generation\": true}", 1 },
		{ "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\"}", 1 },
		{ "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"installation_uuid\": null}", 1 },
		{ "{\"instance_uuid\": \"i\", \"workspace_uuid\": \"w\", \"installation_uuid\": \"x\", "
		  "\"runtime_revision\": 3, "
		  "\"artifact_digest\": \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}",
		    1 },
	};
	char text[600];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text),
		    "{\"seq_id\": 7, \"action\": \"box_get_sessions\", \"data\": {}, \"context\": %s}", rows[i].text);
		fakews_text(&act_ws, text);
		const struct fake_ask     *a = fakews_asked(&act_ws);
		const struct msg_box_list *b = a != NULL ? a->msg.body : NULL;
		ok(b != NULL && b->context.generation == rows[i].generation && strcmp(b->context.instance, "i") == 0 &&
			strcmp(b->context.workspace, "w") == 0,
		    "context %zu", i);
	}
	fakews_text(&act_ws, "{\"seq_id\": 7, \"action\": \"box_get_sessions\", \"data\": {}, \"context\": null}");
	const struct msg_box_list *b = fakews_asked(&act_ws)->msg.body;
	ok(b->context.generation == 0 && *b->context.instance == '\0', "without one the supervisor decides");
}

/* Its own connection: what waits there is not taken away by the others. */
static void
test_budget(void)
{
	char        text[120];
	const char *status = "{\"seq_id\": %d, \"action\": \"box_status\", \"data\": {}, \"context\": " CONTEXT "}";

	for (int i = 0; i < 128; i++) {
		snprintf(text, sizeof(text), "{\"seq_id\": %d, \"action\": \"box_shutdown\", \"data\": {}}", i);
		fakews_textn(&act_ws, text, strlen(text));
	}
	ok(act_ws.nasks == 128 && act_ws.nsent == 0, "128 actions wait");
	char full[300];
	snprintf(full, sizeof(full), status, 500);
	fakews_textn(&act_ws, full, strlen(full));
	is(fakews_sent(&act_ws),
	    "{\"seq_id\": 500, \"code\": 1, \"message\": \"Runtime connection is busy (max 128 concurrent actions)\", "
	    "\"data\": {}, \"chunk_status\": \"continue\"}",
	    "the next is told so");
	snprintf(text, sizeof(text), "{\"seq_id\": 501, \"action\": \"__ping\", \"data\": {}}");
	fakews_textn(&act_ws, text, strlen(text));
	ok(act_ws.nsent == 0 && act_ws.nasks == 129, "a ping is asked all the same");
	fakews_answer(&act_ws, &act_ws.asks[128], &done);
	like(fakews_sent(&act_ws), "\"seq_id\": 501, \"code\": 0", "and answered");
	fakews_answer(&act_ws, &act_ws.asks[64], &done);
	like(fakews_sent(&act_ws), "\"seq_id\": 64, \"code\": 0", "answers come in any order");
	fakews_answer(&act_ws, &act_ws.asks[64], &done);
	ok(fakews_sent(&act_ws) == NULL, "and once");
	fakews_textn(&act_ws, full, strlen(full));
	ok(act_ws.nsent == 0, "one may go again");
}

static void
say(int seq, const char *action, const char *data)
{
	char text[300];

	snprintf(text, sizeof(text), "{\"seq_id\": %d, \"action\": \"%s\", \"data\": %s, \"context\": " CONTEXT "}",
	    seq, action, data);
	fakews_textn(&act_ws, text, strlen(text));
}

static uint64_t
target(const struct fake_ask *a)
{
	return a->type == MSG_BOX_CANCEL ? ((const struct msg_box_cancel *)a->msg.body)->call : UINT64_MAX;
}

static void
test_cancel(void)
{
	struct msg_box_cancelled yes = { .cancelled = true }, no = { .cancelled = false };
	struct msg_box_sessions  none = { 0 };

	say(1, "box_get_sessions", "{}");
	say(2, "box_get_sessions", "{}");
	say(3, "__cancel_action", "{\"seq_id\": 1}");
	ok(act_ws.nasks == 3 && target(&act_ws.asks[2]) == act_ws.asks[0].id,
	    "a cancel names the request of that seq_id");
	fakews_answer(&act_ws, &act_ws.asks[2], &yes);
	is(fakews_sent(&act_ws),
	    "{\"seq_id\": 3, \"code\": 0, \"message\": \"success\", \"data\": {\"cancelled\": true}, \"chunk_status\": "
	    "\"continue\"}",
	    "and is answered");
	fakews_answer(&act_ws, &act_ws.asks[0], &none);
	ok(fakews_sent(&act_ws) == NULL, "what was cancelled gets no reply");
	say(4, "__cancel_action", "{\"seq_id\": 1}");
	cmp_ok(target(&act_ws.asks[3]), "==", 0, "it is unknown from then on");
	fakews_answer(&act_ws, &act_ws.asks[3], &no);
	like(fakews_sent(&act_ws), "\\{\"cancelled\": false\\}", "false");
	say(2, "__cancel_action", "{\"seq_id\": 2}");
	cmp_ok(target(&act_ws.asks[4]), "==", 0, "a cancel of its own seq_id finds nothing");
	say(5, "__cancel_action", "{\"seq_id\": 2}");
	fakews_answer(&act_ws, &act_ws.asks[5], &no);
	fakews_sent(&act_ws);
	fakews_answer(&act_ws, &act_ws.asks[1], &none);
	like(fakews_sent(&act_ws), "\"seq_id\": 2, \"code\": 0", "what was not cancelled is answered");
}

static void
test_control_refusals(void)
{
	static const char *const seqs[] = { "{}", "{\"seq_id\": true}", "{\"seq_id\": \"1\"}", "{\"seq_id\": 1.0}",
		"{\"seq_id\": null}" };
	static const char *const acks[] = { "{}", "{\"seq_id\": 1}", "{\"index\": 1}",
		"{\"seq_id\": 1, \"index\": true}", "{\"seq_id\": \"1\", \"index\": 1}" };

	for (size_t i = 0; i < sizeof(seqs) / sizeof(*seqs); i++)
		is(act_refusal("__cancel_action", seqs[i]), "ValueError: Cancellation requires an integer seq_id",
		    "cancel %s", seqs[i]);
	for (size_t i = 0; i < sizeof(acks) / sizeof(*acks); i++)
		is(act_refusal("__stream_ack", acks[i]),
		    "ValueError: Stream acknowledgement requires integer sequence and index", "ack %s", acks[i]);
	act_say("__stream_ack", "{\"seq_id\": 1, \"index\": 4}");
	fakews_answer(&act_ws, fakews_asked(&act_ws), &done);
	is(fakews_sent(&act_ws), SUCCESS("{\"accepted\": false}"), "there is no stream to acknowledge");
}

static void
test_control_budget(void)
{
	for (int i = 0; i < 128; i++)
		say(i, "box_get_sessions", "{}");
	for (int i = 0; i < 4; i++)
		say(200 + i, "__cancel_action", "{\"seq_id\": 5}");
	ok(act_ws.nasks == 132 && act_ws.nsent == 0, "4 cancels are asked beside 128 actions");
	say(300, "__cancel_action", "{\"seq_id\": 5}");
	like(fakews_sent(&act_ws),
	    "\"seq_id\": 300, \"code\": 1, \"message\": \"Runtime connection is busy \\(max 4 concurrent actions\\)\"",
	    "a fifth is told so");
	for (int i = 0; i < 128; i++)
		say(400 + i, "__stream_ack", "{\"seq_id\": 1, \"index\": 1}");
	ok(act_ws.nasks == 260 && act_ws.nsent == 0, "and 128 acknowledgements");
	say(600, "__stream_ack", "{\"seq_id\": 1, \"index\": 1}");
	like(fakews_sent(&act_ws), "busy \\(max 128 concurrent", "no more");
}

static void
test_pings(void)
{
	static const char ping[] = "{\"seq_id\": 1, \"action\": \"__ping\", \"data\": {}}";

	for (int i = 0; i < 1024; i++)
		fakews_textn(&act_ws, ping, sizeof(ping) - 1);
	ok(act_ws.holds == 1, "who pings a thousand times without waiting is not read");
	for (int i = 0; i < 600; i++)
		fakews_answer(&act_ws, &act_ws.asks[i], &done);
	ok(act_ws.holds == 0, "until most are answered");
}

static void
test_errors(void)
{
	act_say("box_status", "{}");
	fakews_fail(&act_ws, fakews_asked(&act_ws), E_DENIED, "Stale Box placement generation");
	is(fakews_sent(&act_ws), FAILURE("PermissionError: Stale Box placement generation"),
	    "an error of the supervisor");
	act_say("box_status", "{}");
	fakews_fail(&act_ws, fakews_asked(&act_ws), E_CAPACITY, "\"\xff\"\n");
	is(fakews_sent(&act_ws), FAILURE("BoxCapacityExceededError: \\\"\xef\xbf\xbd\\\"\\n"), "is always UTF-8");
	act_ws.refuse = true;
	act_say("box_status", "{}");
	is(fakews_sent(&act_ws), FAILURE("BoxError: boxd does not keep up"), "what cannot be asked is told");
	act_ws.refuse = false;

	char *data = malloc(6000);
	strcpy(data, "{\"session_id\": \"");
	memset(data + strlen(data), 'x', 5000);
	strcpy(data + 16 + 5000 - 1, "\"}");
	const char *text = act_refusal("box_get_session", data);
	cmp_ok(strlen(text), "==", 4151, "the text of an id of 5000 characters has 4151");
	like(text, "^BoxSessionNotFoundError: session xxx.*x\\.\\.\\. \\[protocol error truncated\\]$", "and says so");
	free(data);
}

static void
test_binary(void)
{
	act_ws.ops->on_binary(act_ws.guest);
	cmp_ok(act_ws.finished, "==", WS_NORMAL, "a BINARY message ends the connection");
}

static void
alone(void (*test)(void))
{
	act_open();
	test();
	act_close();
}

int
main(void)
{
	alone(test_seq);
	alone(test_ignored);
	alone(test_invalid);
	alone(test_context);
	alone(test_budget);
	alone(test_cancel);
	alone(test_control_refusals);
	alone(test_control_budget);
	alone(test_pings);
	alone(test_errors);
	alone(test_binary);
	done_testing();
}
