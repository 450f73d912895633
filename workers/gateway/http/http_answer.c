#include "http/http_answer.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/utf8.h"

static const char TEXT[] = "text/plain; charset=utf-8", JSON[] = "application/json; charset=utf-8";

static const char *
status_text(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 413:
		return "Payload Too Large";
	case 421:
		return "Misdirected Request";
	case 426:
		return "Upgrade Required";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

/* Its last line: what becomes of the connection. */
static void
put_fate(struct buf *b, bool keep)
{
	if (keep)
		buf_printf(b, "Connection: keep-alive\r\nKeep-Alive: timeout=%.0f\r\n\r\n", LIM_HTTP_IDLE_SEC);
	else
		buf_printf(b, "Connection: close\r\n\r\n");
}

static void
answer_put(struct buf *b, unsigned status, const char *type, const char *body, size_t n, bool head, bool keep)
{
	buf_printf(b,
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Server: boxd\r\n"
	    "%s%s",
	    status, status_text(status), type, n, status == 405 ? "Allow: GET, HEAD\r\n" : "",
	    status == 426 ? "Sec-WebSocket-Version: 13\r\n" : "");
	put_fate(b, keep);
	if (!head)
		buf_append(b, body, n);
}

void
http_answer_text(struct buf *b, unsigned status, const char *why, bool head)
{
	char text[512];
	int  n = snprintf(text, sizeof(text), "%u: %s", status, why != NULL ? why : status_text(status));

	answer_put(b, status, TEXT, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1, head, false);
}

void
http_answer_unauthorized(struct buf *b, bool head)
{
	static const char text[] = "Unauthorized";

	answer_put(b, 401, TEXT, text, strlen(text), head, false);
}

/* ---- JSON ------------------------------------------------------------------------ */

/* NULL without memory. */
static json_t *
json_of(const char *s)
{
	struct buf valid = { 0 };

	utf8_append(&valid, s, strlen(s));
	json_t *v = json_stringn_nocheck(valid.len > 0 ? valid.data : "", valid.len);
	buf_clear(&valid);
	return v;
}

/* Takes v; NULL when there was no memory for it. */
static void
answer_json(struct buf *b, unsigned status, json_t *v, bool head, bool keep)
{
	char *text = v != NULL ? json_dumps(v, JSON_COMPACT) : NULL;

	if (text != NULL)
		answer_put(b, status, JSON, text, strlen(text), head, keep);
	else
		http_answer_text(b, 503, "no memory", head);
	free(text);
	json_decref(v);
}

void
http_answer_error(struct buf *b, unsigned status, const struct err *e, bool head)
{
	json_t *v = json_pack("{s{ssso}}", "error", "code", err_class(e->code), "message", json_of(e->text));

	answer_json(b, status, v, head, false);
}

/* The keys are upstream's; those that only its Python has are empty. */
void
http_answer_health(struct buf *b, const struct msg_box_health_result *r, bool head, bool keep)
{
	json_t *v = json_pack("{sbs{s{}s{}sIsIsIsIsIsI}}", "live", true, "resources", "event_loop", "blocking_executor",
	    "sessions", (json_int_t)r->sessions, "managed_processes", (json_int_t)r->managed_processes,
	    "completed_processes", (json_int_t)r->completed_processes, "creating_session_tasks",
	    (json_int_t)r->starting, "closing_session_tasks", (json_int_t)r->closing, "background_tasks",
	    (json_int_t)r->running);

	answer_json(b, 200, v, head, keep);
}

static json_t *
checks_of(const struct msg_check *v, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, v[i].name, json_boolean(v[i].passed));
	return o;
}

static json_t *
backend_of(const struct msg_readiness *r)
{
	json_t *o = json_pack(
	    "{sosb}", "name", *r->backend != '\0' ? json_of(r->backend) : json_null(), "available", r->available);

	if (r->enforced)
		json_object_set_new(o, "details", checks_of(r->details.v, r->details.n));
	return o;
}

void
http_answer_ready(struct buf *b, const struct msg_readiness *r, bool head, bool keep)
{
	json_t *v = json_pack("{sbsssoso}", "ready", r->ready, "mode", r->enforced ? "grant_enforced" : "standard",
	    "backend", backend_of(r), "checks", checks_of(r->checks.v, r->checks.n));

	if (r->enforced)
		json_object_set_new(v, "unsafe_soft_storage_limits", json_boolean(r->unsafe_soft_storage_limits));
	if (*r->error != '\0')
		json_object_set_new(v, "error", json_of(r->error));
	if (!r->enforced)
		json_object_set_new(v, "resources", json_object());
	answer_json(b, r->ready ? 200 : 503, v, head, keep);
}

/* ---- the handshake of RFC 6455 ------------------------------------------------------ */

enum { KEY_LEN = 24 }; /* 16 bytes in base64 */

bool
http_key_is_good(const char *key)
{
	unsigned char bytes[KEY_LEN];

	return strlen(key) == KEY_LEN && strcmp(key + KEY_LEN - 2, "==") == 0 && key[KEY_LEN - 3] != '=' &&
	       EVP_DecodeBlock(bytes, (const unsigned char *)key, KEY_LEN) == KEY_LEN / 4 * 3;
}

void
http_answer_upgrade(struct buf *b, const char *key, const char *protocol)
{
	unsigned char digest[SHA_DIGEST_LENGTH], accept[4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1];
	char          both[KEY_LEN + 40];
	int           n = snprintf(both, sizeof(both), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);

	SHA1((const unsigned char *)both, (size_t)n, digest);
	EVP_EncodeBlock(accept, digest, sizeof(digest));
	buf_printf(b,
	    "HTTP/1.1 101 Switching Protocols\r\n"
	    "Upgrade: websocket\r\n"
	    "Connection: Upgrade\r\n"
	    "Sec-WebSocket-Accept: %s\r\n",
	    accept);
	if (protocol != NULL)
		buf_printf(b, "Sec-WebSocket-Protocol: %s\r\n", protocol);
	buf_append(b, "\r\n", 2);
}
