20-store-files_EXTRA := t/lib/storebox t/lib/workbox proto/rmtree
