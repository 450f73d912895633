00-egress-rules_EXTRA := workers/egress/rules
