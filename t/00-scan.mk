00-scan_EXTRA := workers/session/scan workers/session/scan_open
