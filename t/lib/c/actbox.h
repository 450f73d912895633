/* One connection of LangBot's actions between a test's two hands: its client, and the supervisor. */
#pragma once

#include "fakews.h"
#include "workers/gateway/langbot/actions.h"

#define CONTEXT "{\"instance_uuid\": \"inst-1\", \"workspace_uuid\": \"ws-1\", \"placement_generation\": 1}"

/* Around the data of a success, and the text of an error. */
#define SUCCESS(data) \
	"{\"seq_id\": 7, \"code\": 0, \"message\": \"success\", \"data\": " data ", \"chunk_status\": \"continue\"}"
#define FAILURE(text) \
	"{\"seq_id\": 7, \"code\": 1, \"message\": \"" text "\", \"data\": {}, \"chunk_status\": \"continue\"}"

extern struct ws             act_ws;
extern struct actions_shared act_shared;

void act_open(void);
void act_close(void);

/* The action with this data, and context: seq_id 7. */
void act_say(const char *action, const char *data);

/* It must become this request; its body. */
const void *act_asks(const char *action, const char *data, enum msg_type);

/* The text of its refusal, whether that was known at once or after BOX_INVALID.  Lives until the next call. */
const char *act_refusal(const char *action, const char *data);

/* The reply to the last request, when this is its result. */
const char *act_reply(const void *result);

/* The message of a reply. */
const char *act_message(const char *reply);
