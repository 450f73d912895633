20-store-directories_EXTRA := t/lib/storebox t/lib/workbox proto/rmtree
