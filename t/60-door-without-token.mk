60-door-without-token_EXTRA := t/lib/doorbox
