00-door-slow_EXTRA := supervisor/door_slow supervisor/listen
