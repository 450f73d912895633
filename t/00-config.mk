00-config_EXTRA := supervisor/config supervisor/profile supervisor/template supervisor/listen
