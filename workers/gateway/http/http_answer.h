/*
 * HTTP answers, as bytes.  Each is the last of its connection, and says so, but for those to probes that
 * are to be kept and the 101.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/msg.h"

/* "404: Not Found" and the like; why NULL: what the status is called.  head: without the text itself. */
void http_answer_text(struct buf *, unsigned status, const char *why, bool head);

/* 401, for whatever reason: a stranger learns nothing from it. */
void http_answer_unauthorized(struct buf *, bool head);

/* {"error": {"code": "BoxSessionNotFoundError", "message": ".."}} */
void http_answer_error(struct buf *, unsigned status, const struct err *, bool head);

/* Probes.  keep: the connection stays for the next request. */
void http_answer_health(struct buf *, const struct msg_box_health_result *, bool head, bool keep);
void http_answer_ready(struct buf *, const struct msg_readiness *, bool head, bool keep);

/* 101 to a WebSocket key that is good; protocol: NULL for none. */
void http_answer_upgrade(struct buf *, const char *key, const char *protocol);

/* Is it the base64 of 16 bytes? */
bool http_key_is_good(const char *key);
