00-restart_EXTRA := proto/restart
