/*
 * HTTP of a gateway between a test's two hands, on top of gatebox: clients that speak HTTP and WebSocket
 * byte by byte, and what the supervisor is asked about them.  The guests behind its WebSockets are echogate's.
 */
#pragma once

#include "gatebox.h"

/* A sanitizer keeps what was freed: memory tells nothing then. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

extern uint16_t web_port;

/* A plan with LangBot's door, for one to change before web_start. */
void web_plan(struct msg_gateway_start *);

/* Directories, a gateway, and that it is ready; and its end, which must be good. */
void web_start(struct msg_gateway_start *);
void web_stop(void);

/* A client of LangBot's door, known to the supervisor; and one that nobody has heard of yet. */
struct client web_open(void);
int           web_dial(void);

/* Its words, as printf has them. */
void web_say(struct client *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* All that comes until the end of the stream: the last one's, as a string. */
const char *web_hear(struct client *);

/* A new client that says this and hears that; closed after it. */
const char *web_ask(const char *words);

/* The same, where a supervisor's answer is needed: HTTP_AUTH is refused with this. */
const char *web_ask_refused(const char *words, enum err_code, const char *text);

/* ---- WebSocket ---- */

#define WEB_KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define WEB_UPGRADE                                                        \
	"Host: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " WEB_KEY "\r\n"  \
	"X-LangBot-Instance-Id: inst-1\r\n"

enum { OP_MORE = 0, OP_TEXT = 1, OP_BINARY = 2, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10, OP_FIN = 0x80 };

/* Upgraded: to /rpc/ws, or with a path of one's own. */
struct client web_socket(void);
struct client web_socket_at(const char *path);

/* The 101 to an upgrade that was asked for, taken from the stream: it lives until the next. */
const char *web_upgraded(struct client *);

/* One masked frame: first is OP_FIN and an opcode. */
void web_frame(struct client *, unsigned first, const void *bytes, size_t n);
void web_text(struct client *, const char *text);

/* The next frame; -1 at the end of the stream, else its first byte. */
struct frame {
	int         first;
	const char *bytes; /* until the next */
	size_t      n;
};

struct frame web_next(struct client *);

/* The next frame is this text. */
bool web_hears(struct client *, const char *text);

/* "1009 too big": a close frame that is the next; "" when it is not. */
const char *web_close_code(struct client *);

/* It has nothing more to say: the stream ends.  Our side too, and the supervisor has been told. */
bool web_ends(struct client *);
