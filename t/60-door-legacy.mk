60-door-legacy_EXTRA := t/lib/doorbox
