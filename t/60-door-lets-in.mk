60-door-lets-in_EXTRA := t/lib/doorbox
