20-relay-frames_EXTRA := workers/gateway/framer
