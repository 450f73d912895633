60-door-relay_EXTRA := t/lib/doorbox
