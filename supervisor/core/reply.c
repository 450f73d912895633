#include "core/reply.h"

#include "children/gateway.h"
#include "core/ask.h"

void
reply_send(struct boxd *h, enum msg_type t, uint64_t conn, uint64_t id, const void *body)
{
	if (conn == CONN_OWN)
		asks_answer(h->asks, &(struct msg){ .envelope = ENV_REPLY, .id = id, .type = t, .body = body });
	else
		gateway_reply(h->gateway, t, conn, id, body);
}

void
reply_fail(struct boxd *h, uint64_t conn, uint64_t id, const struct err *why)
{
	if (conn == CONN_OWN)
		asks_answer(h->asks, &(struct msg){ .envelope = ENV_REPLY, .id = id, .failed = true, .error = *why });
	else
		gateway_fail(h->gateway, conn, id, why);
}
