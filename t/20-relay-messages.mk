20-relay-messages_EXTRA := t/lib/relayws workers/gateway/relay workers/gateway/framer workers/gateway/taken
