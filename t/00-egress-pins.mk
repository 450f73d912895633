00-egress-pins_EXTRA := workers/egress/pins
