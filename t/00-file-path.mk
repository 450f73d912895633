00-file-path_EXTRA := workers/files/path workers/files/fail
