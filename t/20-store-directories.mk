20-store-directories_EXTRA := t/lib/storebox proto/rmtree
