60-door-slows-failures_EXTRA := t/lib/doorbox
