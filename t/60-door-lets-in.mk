60-door-lets-in_EXTRA := t/lib/doorbox
60-door-relay_EXTRA := t/lib/doorbox
60-door-slows-failures_EXTRA := t/lib/doorbox
60-door-without-token_EXTRA := t/lib/doorbox
60-door-legacy_EXTRA := t/lib/doorbox
80-a-taken-over-gateway-gains-nothing_EXTRA := t/lib/doorbox
