00-config_EXTRA := supervisor/config supervisor/listen
