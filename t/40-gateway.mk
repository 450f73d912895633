40-gateway_EXTRA := t/lib/gatebox
