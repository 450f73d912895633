00-egress-tracked_EXTRA := workers/egress/tracked
