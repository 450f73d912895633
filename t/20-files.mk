20-files_EXTRA := t/lib/filebox
