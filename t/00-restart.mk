00-restart_EXTRA := supervisor/restart
