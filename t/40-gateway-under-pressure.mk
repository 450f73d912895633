40-gateway-under-pressure_EXTRA := t/lib/gatebox
