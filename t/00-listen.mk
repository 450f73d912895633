00-listen_EXTRA := supervisor/listen
