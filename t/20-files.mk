20-files_EXTRA := t/lib/filebox t/lib/workbox
