00-listen_EXTRA := supervisor/listen
00-token_EXTRA := supervisor/token proto/tokenfile proto/newfile
00-door-slow_EXTRA := supervisor/door_slow supervisor/listen
