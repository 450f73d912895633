00-strangers_EXTRA := workers/gateway/strangers $(NET)
