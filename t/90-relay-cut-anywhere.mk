90-relay-cut-anywhere_EXTRA := workers/gateway/relay workers/gateway/framer workers/gateway/taken boxctl/client boxctl/interrupt
