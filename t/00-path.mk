00-path_EXTRA := workers/files/path workers/files/fail
