/*
 * One WebSocket of LangBot's door after its handshake, and the handler behind it: the actions of /rpc/ws, or a
 * relay to a managed process.  The handler sees whole messages and the supervisor's answers; it never sees a socket.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/msg.h"

struct ws;

/* Close codes of RFC 6455. */
enum {
	WS_NORMAL = 1000,
	WS_GOING_AWAY = 1001,
	WS_PROTOCOL = 1002,
	WS_UNSUPPORTED = 1003,
	WS_BAD_TEXT = 1007,
	WS_POLICY = 1008,
	WS_TOO_BIG = 1009,
	WS_INTERNAL = 1011,
	WS_TRY_LATER = 1013,
};

struct ws_handler {
	/* One whole TEXT message, valid UTF-8, at most LIM_WS_MESSAGE; valid during the call. */
	void (*on_text)(void *handler, const char *text, size_t n);

	/* A BINARY message came; its bytes are not kept. */
	void (*on_binary)(void *handler);

	/* A reply, or a notice, of the supervisor for this connection; cleared after the call. */
	void (*on_msg)(void *handler, struct msg *);

	/* So much has been taken by the client's socket that ws_queued is under the low water again, or nothing is queued any more. */
	void (*on_drained)(void *handler);

	/* It is over: no call to the ws is allowed any more, the handler frees itself.  Called once, by the loop. */
	void (*on_gone)(void *handler);
};

/* From here on messages go to this handler. */
void ws_seat(struct ws *, const struct ws_handler *, void *handler);

/* One TEXT message, unfragmented; the buf is taken and empty after the call. */
void ws_send_text(struct ws *, struct buf *);

/* Bytes that the client's socket has not taken yet. */
size_t ws_queued(const struct ws *);

/*
 * The handler wants no message now, for its own reason, until released.  The client is still read for a while, so
 * that its pings are answered; when LIM_WS_BACKLOG bytes wait for the handler, no more.
 */
void ws_hold(struct ws *);
void ws_release(struct ws *);

/* Say goodbye; what is queued goes out first.  on_gone comes later. */
void ws_finish(struct ws *, unsigned code, const char *reason);

/*
 * A request (id: the handler's own choice, growing, not 0) or a notice (id 0) to the supervisor, in this connection's
 * name.  The answer comes by on_msg, untyped: msg_expect gives it its type.
 */
int ws_ask(struct ws *, enum msg_type, uint64_t id, const void *body, struct err *);

/* For the log. */
uint64_t ws_conn(const struct ws *);
