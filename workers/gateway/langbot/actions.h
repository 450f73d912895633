/*
 * LangBot's actions: one JSON object per message in, one out.  What the gateway can judge it judges here; the rest
 * becomes a request to the supervisor and its answer JSON again.
 */
#pragma once

#include "http/ws.h"

/* What all of them share; owned by the gateway, changed by http_limits. */
struct actions_shared {
	uint64_t max_rpc_file_bytes;
	bool     legacy_clients;
	size_t   upload_bytes; /* held by all uploads of all connections */
};

/* Seats itself; frees itself when the ws is gone. */
int actions_open(struct ws *, struct actions_shared *, struct err *);
