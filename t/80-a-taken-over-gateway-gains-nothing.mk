80-a-taken-over-gateway-gains-nothing_EXTRA := t/lib/doorbox
