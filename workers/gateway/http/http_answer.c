#include "http/http_answer.h"

#include <http_parser.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "base/bounds.h"
#include "base/utf8.h"

static const char TEXT[] = "text/plain; charset=utf-8", JSON[] = "application/json; charset=utf-8";

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
answer(struct buf *b, unsigned status, const char *type, const char *body, size_t n, bool head, bool keep)
{
	buf_printf(b,
	    "HTTP/1.1 %u %s\r\n"
	    "Content-Type: %s\r\n"
	    "Content-Length: %zu\r\n"
	    "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Server: boxd\r\n"
	    "%s%s",
	    status, http_status_str((enum http_status)status), type, n, status == 405 ? "Allow: GET, HEAD\r\n" : "",
	    status == 426 ? "Sec-WebSocket-Version: 13\r\n" : "");
	put_fate(b, keep);
	if (!head)
		buf_append(b, body, n);
}

void
http_answer_text(struct buf *b, unsigned status, const char *why, bool head)
{
	char text[512];
	int  n = snprintf(
	     text, sizeof(text), "%u: %s", status, why != NULL ? why : http_status_str((enum http_status)status));

	answer(b, status, TEXT, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1, head, false);
}

void
http_answer_unauthorized(struct buf *b, bool head)
{
	static const char text[] = "Unauthorized";

	answer(b, 401, TEXT, text, strlen(text), head, false);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
put_str(yajl_gen g, const char *s)
{
	struct buf valid = { 0 };

	utf8_append(&valid, s, strlen(s));
	yajl_gen_string(g, (const unsigned char *)(valid.len > 0 ? valid.data : ""), valid.len);
	buf_clear(&valid);
}

static void
put_key_str(yajl_gen g, const char *key, const char *s)
{
	put_str(g, key);
	put_str(g, s);
}

static void
put_key_bool(yajl_gen g, const char *key, bool is)
{
	put_str(g, key);
	yajl_gen_bool(g, is);
}

static void
put_key_u64(yajl_gen g, const char *key, uint64_t n)
{
	put_str(g, key);
	yajl_gen_integer(g, (long long)n);
}

static void
put_key_empty(yajl_gen g, const char *key)
{
	put_str(g, key);
	yajl_gen_map_open(g);
	yajl_gen_map_close(g);
}

/* Takes g; NULL when there was no memory for it. */
static void
answer_json(struct buf *b, unsigned status, yajl_gen g, bool head, bool keep)
{
	const unsigned char *text;
	size_t               n;

	if (g != NULL && yajl_gen_get_buf(g, &text, &n) == yajl_gen_status_ok)
		answer(b, status, JSON, (const char *)text, n, head, keep);
	else
		http_answer_text(b, 503, "no memory", head);
	if (g != NULL)
		yajl_gen_free(g);
}

void
http_answer_error(struct buf *b, unsigned status, const struct err *e, bool head)
{
	yajl_gen g = yajl_gen_alloc(NULL);

	if (g != NULL) {
		yajl_gen_map_open(g);
		put_str(g, "error");
		yajl_gen_map_open(g);
		put_key_str(g, "code", err_class(e->code));
		put_key_str(g, "message", e->text);
		yajl_gen_map_close(g);
		yajl_gen_map_close(g);
	}
	answer_json(b, status, g, head, false);
}

/* The keys are upstream's; those that only its Python has are empty. */
void
http_answer_health(struct buf *b, const struct msg_box_health_result *r, bool head, bool keep)
{
	yajl_gen g = yajl_gen_alloc(NULL);

	if (g != NULL) {
		yajl_gen_map_open(g);
		put_key_bool(g, "live", true);
		put_str(g, "resources");
		yajl_gen_map_open(g);
		put_key_empty(g, "event_loop");
		put_key_empty(g, "blocking_executor");
		put_key_u64(g, "sessions", r->sessions);
		put_key_u64(g, "managed_processes", r->managed_processes);
		put_key_u64(g, "completed_processes", r->completed_processes);
		put_key_u64(g, "creating_session_tasks", r->starting);
		put_key_u64(g, "closing_session_tasks", r->closing);
		put_key_u64(g, "background_tasks", r->running);
		yajl_gen_map_close(g);
		yajl_gen_map_close(g);
	}
	answer_json(b, 200, g, head, keep);
}

static void
put_checks(yajl_gen g, const char *key, const struct msg_check *v, size_t n)
{
	put_str(g, key);
	yajl_gen_map_open(g);
	for (size_t i = 0; i < n; i++)
		put_key_bool(g, v[i].name, v[i].passed);
	yajl_gen_map_close(g);
}

static void
put_backend(yajl_gen g, const struct msg_readiness *r)
{
	put_str(g, "backend");
	yajl_gen_map_open(g);
	put_str(g, "name");
	if (*r->backend != '\0')
		put_str(g, r->backend);
	else
		yajl_gen_null(g);
	put_key_bool(g, "available", r->available);
	if (r->enforced)
		put_checks(g, "details", r->details.v, r->details.n);
	yajl_gen_map_close(g);
}

void
http_answer_ready(struct buf *b, const struct msg_readiness *r, bool head, bool keep)
{
	yajl_gen g = yajl_gen_alloc(NULL);

	if (g != NULL) {
		yajl_gen_map_open(g);
		put_key_bool(g, "ready", r->ready);
		put_key_str(g, "mode", r->enforced ? "grant_enforced" : "standard");
		put_backend(g, r);
		put_checks(g, "checks", r->checks.v, r->checks.n);
		if (r->enforced)
			put_key_bool(g, "unsafe_soft_storage_limits", r->unsafe_soft_storage_limits);
		if (*r->error != '\0')
			put_key_str(g, "error", r->error);
		if (!r->enforced)
			put_key_empty(g, "resources");
		yajl_gen_map_close(g);
	}
	answer_json(b, r->ready ? 200 : 503, g, head, keep);
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
